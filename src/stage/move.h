/*
 * Moves bytes between staging memory and the program's memory.
 *
 * In the program's own thread a fault raises the signal that the driver's memcpy() would raise.  A
 * copy worker checks first, so it finds inaccessible memory (a hole in a mapping, a file mapping
 * past the file's end) without a signal.  Takes no lock, allocates nothing.  errno changes; the
 * owner of the copy restores it.
 */
#ifndef HP_STAGE_MOVE_H
#define HP_STAGE_MOVE_H

#include "stage/shape.h"

/* The ways in which a thread checks the program's memory before it moves bytes. */
enum move_check {
	MOVE_UNCHECKED,     /* not at all: the program's own thread takes the signal */
	MOVE_CHECK_PRESENT, /* pages that are present are accessible (move_is_plain()) */
	MOVE_CHECK_ACCESS,  /* all pages are checked */
};

/* Reads the file that move_is_plain() needs, which must be kept open: base/procfile.h. */
void move_keep(void);

/*
 * True if all of [address, address + bytes) is private anonymous memory that may be read and
 * written.  Asks the kernel, in a few microseconds; false before Linux 6.11, which cannot tell, and
 * if the program has closed the file of move_keep().
 */
bool move_is_plain(const void *address, size_t bytes);

/*
 * Called when the program assigns a protection key to memory.  Access then differs between threads,
 * so move_is_plain() returns false from now on.
 */
void move_keys_are_used(void);

/*
 * Moves bytes [at, at + bytes) of the shape between the host side, which begins at `host`, and
 * staging memory, where they are packed: `to_device` into that, else out of it.  False: some bytes,
 * or all, were not moved.
 */
bool move_bytes(bool to_device, void *staging, const struct shape *shape, void *host, size_t at,
		size_t bytes, enum move_check check);

#endif
