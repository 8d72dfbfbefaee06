/*
 * writable.c - a file next to the one that is asked for, with some bytes in it, removed at once.
 *
 * Only a file that has been written shows that a file system takes one: free space as statvfs()
 * has it is 0 on some that do, and not 0 where a quota is used up.
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

/* At least a page: a smaller file may fit into its inode. */
#define BYTES 4096

/* %% is no mark. */
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

/* The time has its length, the process is this one: `hotpin run` becomes the program. */
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

	/* At a limit of the file size (ulimit -f) a write is to fail, not to end us. */
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

/* A file that is mounted by itself, as into a container, cannot be renamed over (EBUSY). */
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

/* In a folder like /tmp only the owner of a file, or of the folder, may rename over it. */
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

/* What exists is asked about, not opened: the reader of a pipe would see it come and go. */
static int try_existing(const char *path, enum writable_way way, bool *ret_enough)
{
	struct stat status, link;

	*ret_enough = true;
	if (stat(path, &status) < 0) {
		/* A link in /dev stays one: /dev/stdout, where there is none. */
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
