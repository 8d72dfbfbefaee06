/*
 * Opens files for writing safely in folders that other users can write to.
 *
 * In such a folder (/tmp) another user may place a symbolic link, a pipe or a hard link.  These
 * functions follow no symbolic link there, and require an existing file to be the user's own.
 */
#ifndef HP_BASE_TRUST_H
#define HP_BASE_TRUST_H

#include <stdbool.h>

/*
 * Checks all folders that `path` names.  Returns -EACCES if one is a symbolic link that another
 * user has placed in a shared folder; else 0, and whether the last folder is shared.
 */
int hp_trust_path(const char *path, bool *ret_shared);

/*
 * Opens the file at `path` for appending, without waiting for a pipe's reader.  If `create`, a
 * missing file is created with mode 0666.  Returns the descriptor or -errno.
 */
int hp_trust_append(const char *path, bool create);

#endif
