/*
 * Files whose paths come from a profile, or from another file that the user did not write.
 */
#ifndef HP_TOOLS_SYSTEM_UNTRUSTED_FILE_H
#define HP_TOOLS_SYSTEM_UNTRUSTED_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct untrusted_file {
	int fd; /* for reading */
	struct stat status;
	char path[PATH_MAX]; /* without symbolic links, as far as it leads; "" if there is no /proc
			      */
	bool is_reachable;   /* every user may search the folders on the way */
};

/*
 * Opens the regular file at `path` for reading.  Any path is safe: no device, pipe or socket is
 * opened, and no file system is mounted.  Returns 0 or a negative errno; -EINVAL: it is no regular
 * file, -EREMOTE: it would have to be mounted.  `path` is written in any case.  The caller closes
 * `fd`.
 */
int untrusted_file_open(const char *path, struct untrusted_file *ret);

/* True if the user may read the file without the privileges of root. */
bool untrusted_file_is_readable(const struct untrusted_file *file);

/* True if the user or root owns the file, and not everybody may write it. */
bool untrusted_file_is_safe(const struct untrusted_file *file);

#endif
