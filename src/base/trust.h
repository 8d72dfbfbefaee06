/*
 * Opens files for writing safely, in folders of other users and in a program that closes files.
 *
 * In a folder like /tmp another user may place a symbolic link, a pipe or a hard link.  These
 * functions follow no symbolic link there, and require an existing file to be the user's own.
 *
 * The program may close a descriptor that it did not open, and open a file of its own at the same
 * number.  So a writer remembers which file its descriptor names.
 */
#ifndef HP_BASE_TRUST_H
#define HP_BASE_TRUST_H

#include <stdbool.h>
#include <sys/types.h>

struct hp_file {
	int fd;
	dev_t device;
	ino_t inode;
};

/*
 * Checks all folders that `path` names.  Returns -EACCES if one is a symbolic link that another
 * user has placed in a shared folder; else 0, and whether the last folder is shared.
 */
int hp_trust_path(const char *path, bool *ret_shared);

/*
 * Opens the file at `path` for appending, without waiting for a pipe's reader.  If `create`, a
 * missing file is created with mode 0666.  Returns hp_trust_number() of it, or -errno.
 */
int hp_trust_append(const char *path, bool create);

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
