/*
 * Tells before a program runs whether its profile, or its log, can be written afterwards.
 */
#ifndef HP_TOOLS_WRITABLE_H
#define HP_TOOLS_WRITABLE_H

#include <stdbool.h>

/* How the library writes a file: writer_open() of src/trace, or hp_trust_append() of src/base. */
enum writable_way {
	WRITABLE_REPLACE, /* a file next to it, renamed at the end */
	WRITABLE_APPEND,
};

/*
 * Tries whether a file of the name `pattern` (with %p %h %t %r, as in HOTPIN_OUT) could be written,
 * as far as that can be told: a folder that a mark names is not known yet.  Leaves no file behind,
 * and neither opens nor writes what exists.  Returns 0 or a negative errno: -EISDIR a folder is in
 * its place, -ENAMETOOLONG the name is too long for the library, -ENOENT it is empty or the folder
 * is missing, or what the file system says.
 */
int writable_try(const char *pattern, enum writable_way way);

#endif
