/*
 * Moves bytes between staging memory and the program's memory.
 *
 * In the program's own thread a fault is the program's, as in the driver's memcpy().  A copy worker
 * looks first: it finds memory that cannot be read or written (a hole in a mapping, a file mapping
 * past the file's end) without a signal.  No lock, no allocation.  errno changes; the owner of the
 * copy restores it.
 */
#ifndef HP_STAGE_MOVE_H
#define HP_STAGE_MOVE_H

#include "stage/shape.h"

/* How much a thread knows of the program's memory before it moves bytes. */
enum move_check {
	MOVE_UNCHECKED,     /* a fault is the thread's own */
	MOVE_CHECK_PRESENT, /* move_is_plain() said so: pages that are there can be read and written
			     */
	MOVE_CHECK_ACCESS,  /* nothing */
};

/*
 * True if all of [address, address + bytes) is private anonymous memory that may be read and
 * written.  Asks the kernel, in a few microseconds; false before Linux 6.11, which cannot tell.
 */
bool move_is_plain(const void *address, size_t bytes);

/*
 * True if this process can read the byte at `address`; the page is then present.  False also where
 * the kernel is too old to tell.  errno is untouched.
 */
bool move_can_read(const void *address);

/*
 * The program has given a protection key to memory: threads differ in what they may touch, and only
 * the kernel knows.  No memory is plain from here on.
 */
void move_keys_are_used(void);

/*
 * Move bytes [at, at + bytes) of the shape between the host side, which begins at `host`, and
 * staging memory, where they lie packed.  False: some bytes, or all, have not been moved.
 */
bool move_in(void *staging, const struct shape *shape, const char *host, size_t at, size_t bytes,
	     enum move_check care);
bool move_out(char *host, const struct shape *shape, const void *staging, size_t at, size_t bytes,
	      enum move_check care);

#endif
