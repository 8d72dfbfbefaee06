/*
 * What does a small file of the kernel's say?
 *
 * Inside host/ only.  By bare system calls, so that it may be asked under a lock and inside
 * malloc(): open() and read() of libc are points where a thread with a pending cancellation would
 * vanish with the lock in its hand.
 */
#ifndef HP_HOST_PROCFILE_H
#define HP_HOST_PROCFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads the first room - 1 bytes, as text, of the file whose name is the pieces, up to a NULL,
 * joined.  False: there is none.
 */
bool procfile_read(char *buffer, size_t room, const char *const *pieces);

/* The number that `text` starts with; UINT64_MAX for "max" and for anything too large. */
uint64_t procfile_number(const char *text);

/*
 * What stands behind `name` at the start of a line, blanks and a colon skipped; NULL: no such
 * line.
 */
const char *procfile_field(const char *text, const char *name);

/*
 * The "some avg10" of the file of pressure (PSI) that the pieces, up to a NULL, name: in
 * hundredths of a percent.  0: there is none.
 */
unsigned procfile_stall(const char *const *pieces);

#endif
