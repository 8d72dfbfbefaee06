/*
 * Is a file that is about to be written to the one that the user means, and no other user's trap?
 *
 * In a folder where others may put names (/tmp) a path can lead anywhere: by a symlink, a pipe, a
 * hard link.  There no symlink is followed, and what exists must be the user's own.
 */
#ifndef HP_BASE_TRUST_H
#define HP_BASE_TRUST_H

#include <stdbool.h>

/*
 * Looks at all folders that `path` names.  -EACCES where one is a symlink that somebody else has
 * put into a folder shared with others; else 0, and whether the last of them is such a folder.
 */
int hp_trust_path(const char *path, bool *ret_shared);

/*
 * Of a file that was opened in a shared folder: 0 where it is the user's own, not one under a
 * second name; root's where it is no regular file.  Else -EACCES.
 */
int hp_trust_opened(int fd);

/*
 * Opens for appending what is at `path` already (`create`: or a new file of 0666), without waiting
 * for a pipe's reader.  Returns the descriptor or -errno.
 */
int hp_trust_append(const char *path, bool create);

#endif
