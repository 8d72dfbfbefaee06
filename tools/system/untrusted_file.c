/*
 * untrusted_file.c - opens files that a profile names.
 *
 * Opening a device or a pipe acts on it, and a path below an automount may mount a file system of
 * another host.  So each part of the path is first opened with O_PATH, which does neither, and
 * symbolic links are followed here.
 */
#include "system/untrusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MOST 40 /* as in the kernel, path_resolution(7) */

static int link_of(int fd, char *ret, size_t room)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, ret, room - 1);
	if (length < 0)
		return -errno;
	ret[length] = '\0';
	return 0;
}

/* True if a file system is mounted at `name` in the folder of an automounter. */
static bool is_mounted(int folder, const char *name)
{
	char path[PATH_MAX];
	struct mntent *entry;
	bool found = false;

	if (link_of(folder, path, sizeof(path) - NAME_MAX - 1) < 0)
		return false;
	strcat(strcat(path, "/"), name);
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	while (mounts != NULL && !found && (entry = getmntent(mounts)) != NULL)
		found = strcmp(entry->mnt_dir, path) == 0 && strcmp(entry->mnt_type, "autofs") != 0;
	if (mounts != NULL)
		endmntent(mounts);
	return found;
}

/* Returns an O_PATH descriptor of an entry of the folder, or a negative errno. */
static int enter(int folder, const char *name, struct stat *ret)
{
	struct statfs system;

	if (fstatfs(folder, &system) < 0)
		return -errno;
	if (system.f_type == AUTOFS_SUPER_MAGIC && strcmp(name, ".") != 0 &&
	    strcmp(name, "..") != 0 && !is_mounted(folder, name))
		return -EREMOTE;
	int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, ret) == 0)
		return fd < 0 ? -errno : fd;
	int error = -errno;
	close(fd);
	return error;
}

/* Writes the target of a symbolic link and the rest of the path; `rest` may lie in `ret`. */
static int prepend_link(int fd, const char *rest, char ret[PATH_MAX])
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(fd, "", target, sizeof(target));
	size_t bytes = strlen(rest) + 1;

	if (length < 0)
		return -errno;
	if ((size_t)length + 1 + bytes > PATH_MAX)
		return -ENAMETOOLONG;
	memmove(ret + length + 1, rest, bytes);
	memcpy(ret, target, (size_t)length);
	ret[length] = '/';
	return 0;
}

static int start_of(const char *path)
{
	int fd = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Takes the first name of a path; returns the rest of the path, or NULL if the name was cut. */
static const char *take_name(const char *path, char name[NAME_MAX + 1])
{
	size_t length = strcspn(path, "/");

	snprintf(name, NAME_MAX + 1, "%.*s", (int)length, path);
	return length > NAME_MAX ? NULL : path + length + strspn(path + length, "/");
}

/* Writes the path of an entry of the folder; "" if it is not known. */
static void name_entry(int folder, const char *name, char ret[PATH_MAX])
{
	char path[PATH_MAX];

	if (link_of(folder, path, sizeof(path)) < 0 ||
	    snprintf(ret, PATH_MAX, "%s/%s", strcmp(path, "/") == 0 ? "" : path, name) >= PATH_MAX)
		ret[0] = '\0';
}

/*
 * Returns an O_PATH descriptor of what the path leads to, or a negative errno; `ret->path` is then
 * the path of the entry that could not be entered.
 */
static int walk(const char *path, struct untrusted_file *ret)
{
	char buffer[PATH_MAX], name[NAME_MAX + 1];
	int links = 0, at = start_of(path);

	ret->is_reachable = true;
	const char *rest = path + strspn(path, "/");
	while (at >= 0 && rest[0] != '\0') {
		rest = take_name(rest, name);
		int next = rest != NULL ? enter(at, name, &ret->status) : -ENAMETOOLONG;
		if (next >= 0 && S_ISDIR(ret->status.st_mode))
			ret->is_reachable &= (ret->status.st_mode & S_IXOTH) != 0;
		if (next >= 0 && S_ISLNK(ret->status.st_mode)) {
			int error =
				links++ < LINKS_MOST ? prepend_link(next, rest, buffer) : -ELOOP;

			close(next);
			rest = buffer + strspn(buffer, "/");
			if (error == 0 && buffer[0] != '/')
				continue;
			next = error < 0 ? error : start_of("/");
		}
		if (next < 0)
			name_entry(at, name, ret->path);
		close(at);
		at = next;
	}
	return at;
}

/*
 * Opens the file that was looked at for reading, and returns it or -errno.  O_NONBLOCK: a lease
 * must not delay this.
 */
static int open_looked_at(int fd, const char *path, const struct stat *status)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	char link[32];
	struct stat now;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	int file = open(link, flags);
	/* Without /proc, the path must still lead to the same file. */
	if (file < 0 && errno == ENOENT)
		file = open(path, flags);
	if (file < 0)
		return -errno;
	if (fstat(file, &now) == 0 && now.st_dev == status->st_dev && now.st_ino == status->st_ino)
		return file;
	close(file);
	return -EAGAIN;
}

int untrusted_file_open(const char *path, struct untrusted_file *ret)
{
	ret->path[0] = '\0';
	int fd = path[0] != '\0' ? walk(path, ret) : -ENOENT;
	if (fd < 0)
		return fd;
	/* The path may be a folder without a name, like "/". */
	bool is_file = fstat(fd, &ret->status) == 0 && S_ISREG(ret->status.st_mode);
	if (link_of(fd, ret->path, sizeof(ret->path)) < 0)
		ret->path[0] = '\0';
	ret->fd = is_file ? open_looked_at(fd, path, &ret->status) : -EINVAL;
	close(fd);
	return ret->fd < 0 ? ret->fd : 0;
}

bool untrusted_file_is_readable(const struct untrusted_file *file)
{
	return geteuid() != 0 || file->status.st_uid == 0 ||
	       (file->is_reachable && (file->status.st_mode & S_IROTH) != 0);
}

bool untrusted_file_is_safe(const struct untrusted_file *file)
{
	uid_t owner = file->status.st_uid;

	return (owner == 0 || owner == geteuid()) && (file->status.st_mode & S_IWOTH) == 0;
}
