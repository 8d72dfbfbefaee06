/*
 * Finds the libhotpin.so that belongs to this hotpin.
 */
#ifndef HP_TOOLS_LAUNCH_LIBRARY_H
#define HP_TOOLS_LAUNCH_LIBRARY_H

#include <stddef.h>

/*
 * Writes the path of the library to `ret`: `given` if the user named one (else NULL), otherwise the
 * one next to hotpin's own binary, in the build tree or installed.  Returns 0, or -ENOENT, -EPERM
 * (other users can change it), -ENOEXEC (not hotpin's library for this machine) or -EINVAL
 * (LD_PRELOAD cannot hold its path) after a message.
 */
int library_find(const char *given, char *ret, size_t room);

#endif
