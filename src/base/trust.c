/*
 * trust.c - walks along a path, from one open folder to the next.
 *
 * A check by name would be worthless: another user could replace a part of the path between the
 * check and the use.  The rules are those of fs.protected_symlinks and fs.protected_hardlinks
 * (Linux, Documentation/admin-guide/sysctl/fs.rst), which may be off, for all folders that other
 * users can write.
 */
#define _GNU_SOURCE
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PATH_MOST  4096
#define LINKS_MOST 40 /* as in the kernel */

struct walk {
	int fd; /* of the folder, O_PATH */
	struct stat folder;
	bool is_open;  /* users besides its owner can write the folder */
	bool is_own;   /* its owner is trusted */
	bool is_safe;  /* nobody who is not trusted can replace a part of the way */
	bool believes; /* all owners are trusted, as the user chose the path */
};

static bool is_ours(const struct stat *file)
{
	return file->st_uid == 0 || file->st_uid == geteuid();
}

/* True if users besides the owner can write the file or folder. */
static bool is_open(int fd, const struct stat *file)
{
	char path[40];

	if ((file->st_mode & S_IWOTH) != 0)
		return true;
	if ((file->st_mode & S_IWGRP) == 0)
		return false;
	/*
	 * By convention, the group of a user alone has the user's number.  If there is an access
	 * control list, these bits are not the group's.
	 */
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	return file->st_gid != file->st_uid ||
	       getxattr(path, "system.posix_acl_access", NULL, 0) >= 0 ||
	       (errno != ENODATA && errno != EOPNOTSUPP);
}

static bool is_shared(const struct walk *walk)
{
	return walk->is_open || !walk->is_own;
}

/* True if the owner of a file in the folder is trusted. */
static bool is_own(const struct walk *walk, const struct stat *file)
{
	return is_ours(file) || (!is_shared(walk) && file->st_uid == walk->folder.st_uid);
}

/* True if only trusted users can have placed the file in a folder that may be shared. */
static bool is_placed(bool shared, const struct stat *file)
{
	return !shared || (is_ours(file) && (S_ISDIR(file->st_mode) || file->st_nlink <= 1));
}

/* Notes that the way leads over the file, which other users must not be able to replace. */
static void pass(struct walk *walk, const struct stat *file)
{
	if (walk->is_open)
		walk->is_safe &= is_ours(file) && (walk->folder.st_mode & S_ISVTX) != 0;
}

static int enter(struct walk *walk, int next, const struct stat *folder)
{
	if (!S_ISDIR(folder->st_mode))
		return -ENOTDIR;
	pass(walk, folder);
	walk->is_own = walk->believes || is_own(walk, folder);
	walk->is_safe &= walk->is_own;
	walk->is_open = is_open(next, folder);
	walk->folder = *folder;
	close(walk->fd);
	walk->fd = next;
	return 0;
}

/* Goes to the root folder or to the current one. */
static int begin(struct walk *walk, const char *path)
{
	struct stat folder;
	int next = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (next < 0 || fstat(next, &folder) < 0)
		return -errno;
	walk->is_open = false;
	walk->is_own = path[0] == '/' || is_ours(&folder);
	walk->folder = folder;
	return enter(walk, next, &folder);
}

/* Replaces the beginning of `left`, up to `rest`, by the target of the open link. */
static int expand(char left[PATH_MOST], const char *rest, int link)
{
	char target[PATH_MOST];
	ssize_t length = readlinkat(link, "", target, sizeof(target));

	if (length < 0)
		return -errno;
	if ((size_t)length + strlen(rest) >= PATH_MOST)
		return -ENAMETOOLONG;
	memmove(left + length, rest, strlen(rest) + 1);
	memcpy(left, target, (size_t)length);
	return 0;
}

static bool is_in_proc(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/*
 * Opens a part of the path.  The kernel itself follows links of /proc, unless `is_last`; *ret_link:
 * another link, which can be followed.  Returns a descriptor or -errno.
 */
static int open_part(struct walk *walk, const char *name, bool is_last, struct stat *ret,
		     bool *ret_link)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int part = -1, error = 0;

	/* Without O_DIRECTORY, the kernel would not mount a file system of autofs. */
	if (!is_last)
		part = openat(walk->fd, name, flags | O_DIRECTORY);
	if (part < 0 && (is_last || errno == ENOTDIR))
		part = openat(walk->fd, name, flags);
	if (part < 0 || fstat(part, ret) < 0)
		error = -errno;
	*ret_link = error == 0 && S_ISLNK(ret->st_mode);
	if (*ret_link) {
		pass(walk, ret);
		error = is_placed(is_shared(walk), ret) ? 0 : -EACCES;
	}
	if (*ret_link && error == 0 && is_in_proc(walk->fd)) {
		*ret_link = false;
		if (!is_last) {
			close(part);
			part = openat(walk->fd, name, O_PATH | O_CLOEXEC);
			error = part < 0 || fstat(part, ret) < 0 ? -errno : 0;
		}
	}
	if (error < 0 && part >= 0)
		close(part);
	return error < 0 ? error : part;
}

/*
 * Walks along `bytes` of the path, to the folder of its last part, whose name is written to `ret`.
 * Returns 0 or -errno.
 */
static int walk_along(struct walk *walk, const char *path, size_t bytes, bool follow,
		      struct hp_place *ret)
{
	char left[PATH_MOST], *at = left;
	bool is_link, is_last;
	struct stat status;
	unsigned links = 0;
	int error = path[0] == '/' ? begin(walk, path) : 0;

	if (bytes >= sizeof(left))
		return -ENAMETOOLONG;
	memcpy(left, path, bytes);
	left[bytes] = '\0';
	for (; error == 0; at = is_link ? left : at + strlen(ret->name)) {
		at += strspn(at, "/");
		size_t length = strcspn(at, "/");
		if (length > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(ret->name, at, length);
		ret->name[length] = '\0';
		is_last = at[length] == '\0';
		if (is_last && (!follow || length == 0))
			return 0;
		int part = open_part(walk, ret->name, is_last, &status, &is_link);
		if (part < 0)
			return is_last && part == -ENOENT ? 0 : part;
		ret->is_proc = S_ISLNK(status.st_mode) && !is_link;
		if (is_link)
			error = ++links > LINKS_MOST ? -ELOOP : expand(left, at + length, part);
		if (is_link && error == 0 && left[0] == '/')
			error = begin(walk, left);
		if (!is_link && !is_last)
			error = enter(walk, part, &status);
		if (is_link || is_last || error < 0)
			close(part);
		if (!is_link && is_last)
			return error;
	}
	return error;
}

int hp_trust_find(const char *path, bool follow, struct hp_place *ret)
{
	struct walk walk = { .fd = -1 };
	int error = path[0] == '\0' ? -ENOENT : path[0] != '/' ? begin(&walk, ".") : 0;

	ret->is_proc = false;
	if (error == 0)
		error = walk_along(&walk, path, strlen(path), follow, ret);
	ret->folder = walk.fd;
	ret->is_shared = is_shared(&walk);
	if (error < 0 && walk.fd >= 0)
		close(walk.fd);
	return error;
}

bool hp_trust_placed(const struct hp_place *place, const struct stat *file)
{
	return is_placed(place->is_shared, file);
}

int hp_trust_library(const char *path, size_t prefix)
{
	struct walk walk = { .fd = -1, .is_safe = true, .believes = true };
	struct hp_place place;
	struct stat file;
	const char *below = path + prefix + 1;
	int error = walk_along(&walk, path, prefix + 1, true, &place), fd = -1;

	walk.believes = false;
	if (error == 0)
		error = walk_along(&walk, below, strlen(below), true, &place);
	if (error == 0)
		fd = openat(walk.fd, place.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (error == 0 && (fd < 0 || fstat(fd, &file) < 0))
		error = -errno;
	/* A library also loads others from its folder. */
	if (error == 0 &&
	    (!walk.is_safe || walk.is_open || !is_own(&walk, &file) || is_open(fd, &file)))
		error = -EPERM;
	if (fd >= 0)
		close(fd);
	if (walk.fd >= 0)
		close(walk.fd);
	return error;
}

int hp_trust_number(int fd)
{
	if (fd > STDERR_FILENO)
		return fd;
	int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int error = higher < 0 ? -errno : 0;
	close(fd);
	return error < 0 ? error : higher;
}

int hp_trust_remember(int fd, struct hp_file *ret)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	*ret = (struct hp_file){ fd, status.st_dev, status.st_ino };
	return 0;
}

bool hp_trust_names(const struct hp_file *file)
{
	struct stat status;

	return fstat(file->fd, &status) == 0 && status.st_dev == file->device &&
	       status.st_ino == file->inode;
}
