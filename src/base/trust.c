/*
 * trust.c - the rules of fs.protected_symlinks, _fifos, _regular and _hardlinks (Linux,
 * Documentation/admin-guide/sysctl/fs.rst).  Some machines have these off, and root is exempt.
 */
#define _GNU_SOURCE
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MOST 4096

static bool is_shared(const struct stat *folder)
{
	return (folder->st_mode & (S_ISVTX | S_IWOTH)) != 0;
}

int hp_trust_path(const char *path, bool *ret_shared)
{
	char part[PATH_MOST];
	struct stat folder, next;
	size_t length = strlen(path);

	*ret_shared = false;
	if (length >= sizeof(part))
		return -ENAMETOOLONG;
	if (stat(path[0] == '/' ? "/" : ".", &folder) < 0)
		return -errno;
	for (size_t i = 1; i < length; i++) {
		if (path[i] != '/' || path[i - 1] == '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (lstat(part, &next) < 0)
			return -errno;
		if (S_ISLNK(next.st_mode) && is_shared(&folder) && next.st_uid != geteuid() &&
		    next.st_uid != folder.st_uid)
			return -EACCES;
		if (stat(part, &folder) < 0)
			return -errno;
	}
	*ret_shared = is_shared(&folder);
	return 0;
}

/*
 * A file that was opened in a shared folder must be the user's own, without a second name; a pipe
 * or device may also be root's.  Returns 0 or -EACCES.
 */
static int check_opened(int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (S_ISREG(status.st_mode))
		return status.st_uid == geteuid() && status.st_nlink <= 1 ? 0 : -EACCES;
	return status.st_uid == geteuid() || status.st_uid == 0 ? 0 : -EACCES;
}

int hp_trust_append(const char *path, bool create)
{
	/* O_NONBLOCK: a pipe without a reader must not delay the program. */
	int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	bool shared;
	int error = hp_trust_path(path, &shared);

	if (error < 0)
		return error;
	if (shared)
		flags |= O_NOFOLLOW;
	int fd = open(path, flags | (create ? O_CREAT : 0), 0666);
	if (fd < 0)
		return errno == ELOOP && shared ? -EACCES : -errno;
	error = shared ? check_opened(fd) : 0;
	if (error == 0 && fcntl(fd, F_SETFL, O_APPEND) < 0)
		error = -errno;
	if (error == 0)
		return hp_trust_number(fd);
	close(fd);
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
