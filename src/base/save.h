/*
 * Opens every file that hotpin writes, also in folders and in a program of other users.
 *
 * A file is written under a temporary name in its folder, and renamed when complete.  So no reader
 * sees an incomplete file, and an existing link or file is replaced, not written.  A pipe or a
 * device is written directly.
 */
#ifndef HP_BASE_SAVE_H
#define HP_BASE_SAVE_H

#include "base/trust.h"

struct hp_save {
	struct hp_file file;
	struct hp_file folder; /* fd -1: `file` has its final name */
	char name[NAME_MAX + 1], temporary[32];
};

enum {
	HP_SAVE_WAITS = 1,   /* opens a pipe when it has a reader; else -ENXIO if it has none */
	HP_SAVE_FOLLOWS = 2, /* a link stays, and the file that it names is replaced */
};

/*
 * Opens the file `path` for writing.  A new file gets `mode`, less the umask.  Returns 0 or -errno,
 * -EACCES also for a pipe, a device or a link that another user may have placed.
 */
int hp_save_open(struct hp_save *save, const char *path, mode_t mode, unsigned flags);

/*
 * Closes the file and gives it its final name; if `error`, removes it instead.  Returns `error`, or
 * else 0 or -errno.  Safe in a signal handler.
 */
int hp_save_close(struct hp_save *save, int error);

/*
 * Opens the file `path` for appending; a missing one is created with mode 0666, less the umask.
 * Does not wait for the reader of a pipe.  Returns a descriptor or -errno.
 */
int hp_save_append(const char *path);

#endif
