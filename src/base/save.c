/*
 * save.c - creates a file under a name that nobody can guess, then renames it.
 *
 * All names are looked up in a folder that is open, and no link is followed there.  What the folder
 * holds may change at any time, so a file is checked after it is opened.
 */
#define _GNU_SOURCE
#include "base/save.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEMPORARIES_MOST 8

static uint64_t random_bits(void)
{
	const long no_wait = 1; /* GRND_NONBLOCK */
	uint64_t bits;

	if (syscall(SYS_getrandom, &bits, sizeof(bits), no_wait) != (long)sizeof(bits))
		bits = hp_now_ns() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)getpid();
	return bits;
}

static int open_temporary(struct hp_save *save, mode_t mode)
{
	for (unsigned attempt = 0; attempt < TEMPORARIES_MOST; attempt++) {
		snprintf(save->temporary, sizeof(save->temporary), ".hotpin-%016llx",
			 (unsigned long long)random_bits());
		int fd = openat(save->folder.fd, save->temporary,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd < 0 && errno == EEXIST)
			continue;
		fd = fd < 0 ? -errno : hp_trust_number(fd);
		if (fd == -EMFILE)
			unlinkat(save->folder.fd, save->temporary, 0);
		return fd;
	}
	return -EEXIST;
}

/* Opens a file that exists, and that no other user can have placed there. */
static int open_existing(const struct hp_place *place, bool waits)
{
	int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;
	struct stat status;

	if (place->name[0] == '\0')
		return -EISDIR;
	flags |= (waits ? 0 : O_NONBLOCK) | (place->is_proc ? 0 : O_NOFOLLOW);
	/* A pipe of another user could delay opening. */
	if (fstatat(place->folder, place->name, &status, place->is_proc ? 0 : AT_SYMLINK_NOFOLLOW) <
	    0)
		return -errno;
	if (!hp_trust_placed(place, &status))
		return -EACCES;
	int fd = openat(place->folder, place->name, flags);
	if (fd < 0)
		return errno == ELOOP ? -EACCES : -errno;
	int error = fstat(fd, &status) < 0 || !hp_trust_placed(place, &status) ? -EACCES : 0;
	if (error == 0 && fcntl(fd, F_SETFL, O_APPEND) < 0)
		error = -errno;
	if (error == 0)
		return hp_trust_number(fd);
	close(fd);
	return error;
}

/* True if the place has a pipe, a device or a folder: anything that must not be replaced. */
static bool is_no_file(const struct hp_place *place)
{
	struct stat status;

	return place->is_proc || place->name[0] == '\0' ||
	       (fstatat(place->folder, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode));
}

int hp_save_open(struct hp_save *save, const char *path, mode_t mode, unsigned flags)
{
	struct hp_place place;
	int fd, error = hp_trust_find(path, true, &place);
	bool direct = error == 0 && is_no_file(&place);

	/* A link to a file, or of another user, is replaced. */
	if (!direct && (flags & HP_SAVE_FOLLOWS) == 0) {
		if (error == 0)
			close(place.folder);
		error = hp_trust_find(path, false, &place);
	}
	if (error < 0)
		return error;
	save->folder.fd = -1;
	memcpy(save->name, place.name, sizeof(save->name));
	if (direct) {
		fd = open_existing(&place, (flags & HP_SAVE_WAITS) != 0);
		close(place.folder);
	} else {
		fd = hp_trust_number(place.folder);
		if (fd < 0 || (error = hp_trust_remember(fd, &save->folder)) < 0)
			return fd < 0 ? fd : error;
		fd = open_temporary(save, mode);
		if (fd < 0)
			close(save->folder.fd);
	}
	return fd < 0 ? fd : hp_trust_remember(fd, &save->file);
}

int hp_save_close(struct hp_save *save, int error)
{
	/* If the program has closed the descriptor, the number is the program's. */
	int closed = !hp_trust_names(&save->file) ? -EBADF : close(save->file.fd) < 0 ? -errno : 0;

	error = error < 0 ? error : closed;
	if (save->folder.fd < 0)
		return error;
	/* If the program has closed the folder's, too, the temporary file stays. */
	if (!hp_trust_names(&save->folder))
		return error < 0 ? error : -EBADF;
	int folder = save->folder.fd;
	if (error == 0 && renameat(folder, save->temporary, folder, save->name) < 0)
		error = -errno;
	if (error < 0)
		unlinkat(folder, save->temporary, 0);
	close(folder);
	return error;
}

int hp_save_append(const char *path)
{
	struct hp_place place;
	int error = hp_trust_find(path, true, &place);

	if (error < 0)
		return error;
	int fd = openat(place.folder, place.name,
			O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd >= 0)
		fd = hp_trust_number(fd);
	else
		fd = errno == EEXIST ? open_existing(&place, false) : -errno;
	close(place.folder);
	return fd;
}
