/*
 * writable.c - tests whether a file could be written, by writing a temporary file next to it.
 *
 * Only a successful write proves that the file system accepts data.  The free space of statvfs() is
 * 0 on some that do, and is not 0 if a quota is exhausted.
 */
#include "launch/writable.h"
#include "base/parse.h"
#include "base/save.h"

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

/* Writes a temporary file where the library would create its own. */
static int try_new(const char *path)
{
	struct hp_save save;
	int error = hp_save_open(&save, path, S_IRUSR | S_IWUSR, 0);

	if (error < 0)
		return error;
	if (save.folder.fd >= 0)
		error = write_some(save.file.fd);
	error = hp_save_close(&save, error < 0 ? error : -ECANCELED);
	return error == -ECANCELED ? 0 : error;
}

/* True for a mount point, as in a container: a file cannot be renamed over it (EBUSY). */
static bool is_mounted(const struct hp_place *place)
{
#ifdef STATX_ATTR_MOUNT_ROOT
	struct statx status;

	return statx(place->folder, place->name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0 &&
	       (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#else
	(void)place;
	return false;
#endif
}

/* True if only others may rename over the file: its owner or the folder's, as in /tmp. */
static bool is_anothers(const struct hp_place *place)
{
	struct stat folder, file;

	return fstat(place->folder, &folder) == 0 && (folder.st_mode & S_ISVTX) != 0 &&
	       fstatat(place->folder, place->name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
	       geteuid() != 0 && file.st_uid != geteuid() && folder.st_uid != geteuid();
}

/* Checks what exists under that name, without opening it: the reader of a pipe would notice. */
static int look_at(const struct hp_place *place, bool *ret_enough)
{
	struct stat status;

	*ret_enough = true;
	if (fstatat(place->folder, place->name, &status, place->is_proc ? 0 : AT_SYMLINK_NOFOLLOW) <
	    0) {
		/* The library does not create a stream like /dev/stdout that is closed. */
		*ret_enough = place->is_proc;
		return errno == ENOENT && !place->is_proc ? 0 : -errno;
	}
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (S_ISSOCK(status.st_mode))
		return -ENXIO;
	if (faccessat(place->folder, place->name, W_OK, 0) < 0)
		return -errno;
	*ret_enough = !S_ISREG(status.st_mode) || place->is_proc;
	return *ret_enough && !hp_trust_placed(place, &status) ? -EACCES : 0;
}

static int try_existing(const char *path, bool *ret_enough)
{
	struct hp_place place;
	int error = hp_trust_find(path, true, &place);

	*ret_enough = false;
	if (error == 0) {
		error = look_at(&place, ret_enough);
		close(place.folder);
		if (error < 0 || *ret_enough)
			return error;
	}
	/* The library replaces a link to a file, or of another user. */
	error = hp_trust_find(path, false, &place);
	if (error < 0)
		return error;
	error = is_mounted(&place) ? -EBUSY : is_anothers(&place) ? -EPERM : 0;
	close(place.folder);
	return error;
}

int writable_try(const char *pattern)
{
	const char *slash = strrchr(pattern, '/');
	char path[PATH_MAX];
	bool enough;

	if (pattern[0] == '\0')
		return -ENOENT;
	if (slash != NULL && has_mark(pattern, (size_t)(slash - pattern)))
		return 0;
	int error = expand(pattern, path, sizeof(path));
	if (error < 0)
		return error;
	if (path[strlen(path) - 1] == '/')
		return -EISDIR;
	if (!has_mark(pattern, strlen(pattern)) &&
	    ((error = try_existing(path, &enough)) < 0 || enough))
		return error;
	return try_new(path);
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
