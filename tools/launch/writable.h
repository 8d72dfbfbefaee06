/*
 * Tells before a program runs whether its profile can be written afterwards.
 */
#ifndef HP_TOOLS_LAUNCH_WRITABLE_H
#define HP_TOOLS_LAUNCH_WRITABLE_H

#include <stdbool.h>

/*
 * Tests whether a file named `pattern` (with %p %h %t %r, as in HOTPIN_OUT) could be written.  A
 * folder whose name contains a mark cannot be tested yet.  Leaves no file behind, and neither opens
 * nor writes existing files.  Returns 0 or a negative errno.  -EISDIR: a folder has that name.
 * -ENAMETOOLONG: the name is too long for the library.  -ENOENT: the name is empty or the folder is
 * missing.  Otherwise the error of the file system.
 */
int writable_try(const char *pattern);

/*
 * Returns STDOUT_FILENO or STDERR_FILENO if a file named `pattern` is that stream of this process,
 * as /dev/stdout is, or the file that the shell opened for `> FILE`.  Otherwise returns -1, also
 * for devices that drop what is written, such as /dev/null.
 */
int writable_stream(const char *pattern);

#endif
