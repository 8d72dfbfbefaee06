/*
 * Tells what other users can change: the folders of a path, a library before it is loaded.
 *
 * In a folder that others can write, like /tmp, they may place a symbolic link, a pipe or a hard
 * link.  A symbolic link on the way is followed only if root or the user has placed it.
 *
 * The program may close a descriptor that it did not open, and open a file of its own at the same
 * number.  So a writer remembers which file its descriptor names.
 */
#ifndef HP_BASE_TRUST_H
#define HP_BASE_TRUST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct hp_file {
	int fd;
	dev_t device;
	ino_t inode;
};

/* A name in an open folder. */
struct hp_place {
	int folder;              /* opened with O_PATH; the caller closes it */
	char name[NAME_MAX + 1]; /* "": the path ends with a slash */
	bool is_shared;          /* other users can place files in the folder */
	bool is_proc;            /* the name is a link of /proc, which only the kernel can follow */
};

/*
 * Opens the folder of the file `path`, which need not exist.  If `follow`, and the file is a
 * symbolic link, the place is that of its target.  Returns 0, -EACCES if another user may have
 * placed a link on the way, or another -errno.
 */
int hp_trust_find(const char *path, bool follow, struct hp_place *ret);

/* True if only root or the user can have placed this file there, under no second name. */
bool hp_trust_placed(const struct hp_place *place, const struct stat *file);

/*
 * Checks a library before it is loaded.  The first `prefix` bytes of its absolute path are a
 * folder, before a slash, that the user or the program chose.  From there on, all folders and the
 * file must belong to root, the user, or the owner of that folder, and nobody else may be able to
 * change them.  Folders before it may belong to anyone, but what is placed in a shared one must be
 * root's or the user's.  Returns 0, -EPERM if others can change the library, or another -errno.
 */
int hp_trust_library(const char *path, size_t prefix);

/*
 * Gives an open file a descriptor above those of the standard streams, because the program may have
 * closed one of these.  Returns the descriptor or -errno; then the file is closed.
 */
int hp_trust_number(int fd);

/* Remembers the file of the descriptor.  Returns 0 or -errno. */
int hp_trust_remember(int fd, struct hp_file *ret);

/* True if the descriptor still names that file. */
bool hp_trust_names(const struct hp_file *file);

#endif
