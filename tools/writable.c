/*
 * writable.c - tests whether a file could be written, by writing a temporary file next to it.
 *
 * Only a successful write proves that the file system accepts data.  The free space of statvfs() is
 * 0 on some that do, and is not 0 if a quota is exhausted.
 */
#include "writable.h"
#include "base/parse.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* A whole page: a smaller file may fit into its inode. */
#define BYTES 4096

/* %% stands for a percent sign. */
static bool has_mark(const char *pattern, size_t length)
{
	for (size_t i = 0; i + 1 < length; i++) {
		if (pattern[i] != '%')
			continue;
		if (strchr("phtr", pattern[i + 1]) != NULL)
			return true;
		i++;
	}
	return false;
}

/* The values are as long as real ones; the pid is real, as `hotpin run` becomes the program. */
static int expand(const char *pattern, char *ret, size_t room)
{
	struct utsname names = { 0 };
	struct hp_path_facts facts = { .pid = (long)getpid(),
				       .host = names.nodename,
				       .time = "20000101-000000",
				       .rank = "0" };

	uname(&names);
	return hp_path_expand(pattern, &facts, ret, room);
}

static int write_some(int file)
{
	static const char nothing[BYTES];
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

	/* Beyond the file size limit (ulimit -f), the write must fail, not end the process. */
	sigaction(SIGXFSZ, &ignore, &before);
	ssize_t done = write(file, nothing, sizeof(nothing));
	int error = errno;
	sigaction(SIGXFSZ, &before, NULL);
	if (done < 0)
		return -error;
	return done == (ssize_t)sizeof(nothing) ? 0 : -ENOSPC;
}

/* The name is as long as that of the library's temporary file: .NAME.hotpin-XXXX. */
static int try_meanwhile(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	char adjacent[2 * PATH_MAX];
	int length = snprintf(adjacent, sizeof(adjacent), "%.*s.%s.hotp-XXXXXX", (int)(name - path),
			      path, name);

	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	int file = mkostemp(adjacent, O_CLOEXEC);
	if (file < 0)
		return -errno;
	unlink(adjacent);
	int error = write_some(file);
	if (close(file) < 0 && error == 0)
		error = -errno;
	return error;
}

/* True for a mount point, as in a container: a file cannot be renamed over it (EBUSY). */
static bool is_mounted(const char *path)
{
#ifdef STATX_ATTR_MOUNT_ROOT
	struct statx status;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0 &&
	       (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#else
	(void)path;
	return false;
#endif
}

/* True if only others may rename over the file: its owner or the folder's, as in /tmp. */
static bool is_anothers(const char *path, const struct stat *file)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	struct stat status;

	snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
		 slash != NULL ? path : ".");
	return stat(folder, &status) == 0 && (status.st_mode & S_ISVTX) != 0 && geteuid() != 0 &&
	       file->st_uid != geteuid() && status.st_uid != geteuid();
}

/* Checks an existing file without opening it: the reader of a pipe would notice. */
static int try_existing(const char *path, enum writable_way way, bool *ret_enough)
{
	struct stat status, link;

	*ret_enough = true;
	if (stat(path, &status) < 0) {
		/* A dangling link in /dev, like /dev/stdout, must not be replaced. */
		if (errno == ENOENT && strncmp(path, "/dev/", 5) == 0 && lstat(path, &link) == 0)
			return -ENOENT;
		*ret_enough = false;
		return errno == ENOENT ? 0 : -errno;
	}
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (S_ISSOCK(status.st_mode))
		return -ENXIO;
	if (access(path, W_OK) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || way == WRITABLE_APPEND || strncmp(path, "/dev/", 5) == 0)
		return 0;
	*ret_enough = false;
	if (is_mounted(path))
		return -EBUSY;
	return is_anothers(path, &status) ? -EPERM : 0;
}

int writable_try(const char *pattern, enum writable_way way)
{
	const char *slash = strrchr(pattern, '/');
	char path[PATH_MAX];
	bool shared, enough;

	if (pattern[0] == '\0')
		return -ENOENT;
	if (slash != NULL && has_mark(pattern, (size_t)(slash - pattern)))
		return 0;
	int error = expand(pattern, path, sizeof(path));
	if (error == 0)
		error = hp_trust_path(path, &shared);
	if (error < 0)
		return error;
	if (path[strlen(path) - 1] == '/')
		return -EISDIR;
	if (!has_mark(pattern, strlen(pattern)) &&
	    ((error = try_existing(path, way, &enough)) < 0 || enough))
		return error;
	return try_meanwhile(path);
}

int writable_stream(const char *pattern)
{
	struct stat file, stream;
	char path[PATH_MAX];

	if (expand(pattern, path, sizeof(path)) < 0 || stat(path, &file) < 0)
		return -1;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fstat(fd, &stream) == 0 && stream.st_dev == file.st_dev &&
		    stream.st_ino == file.st_ino && (!S_ISCHR(stream.st_mode) || isatty(fd)))
			return fd;
	}
	return -1;
}
