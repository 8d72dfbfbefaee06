/*
 * Reads files of profiles.
 */
#ifndef HP_TOOLS_PROFILE_PROFILE_OPEN_H
#define HP_TOOLS_PROFILE_PROFILE_OPEN_H

#include "profile/profile.h"

/* A full timeline takes 30 MB, and up to four times as much in memory. */
#define PROFILE_MIB_MOST 256

/*
 * Reads the profile in the file at `path`; the string must outlive the profile.  Any file is safe
 * to read; errors go to stderr with its name.  Returns 0 or a negative errno.
 */
int profile_open(const char *path, struct profile *ret);

/*
 * Returns the content of an open file of `all` bytes (0: not known); the caller frees it.  NULL:
 * *ret_error is the errno.
 */
char *profile_read_all(int file, size_t all, size_t *ret_length, int *ret_error);

/* Opens `count` files.  NULL, after a message: a file cannot be opened. */
struct profile *profile_open_all(char *const *paths, size_t count);

#endif
