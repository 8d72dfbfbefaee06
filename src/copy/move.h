/*
 * Moves bytes between the ring and the program's memory.
 *
 * Where the program's own thread does, a fault is the program's, as it is in the driver's memcpy().
 * A thread of ours must look first, so that what cannot be read or written (a hole in a mapping, a
 * file's mapping past its end) is found out without a signal.  No lock, no allocation; errno is
 * changed, which the owner of the copy keeps and the crew has no use for.
 */
#ifndef HP_COPY_MOVE_H
#define HP_COPY_MOVE_H

#include "copy/shape.h"

/* What does a thread know of the program's memory before it moves? */
enum move_care {
	MOVE_OWN,     /* a fault is this thread's own */
	MOVE_GLANCES, /* move_is_plain() said so: pages that are there can be read and written */
	MOVE_LOOKS,   /* nothing */
};

/*
 * Is all of [address, address + bytes) private anonymous memory that may be read and written?  As
 * the kernel says, for a few microseconds of asking; false where it cannot (before Linux 6.11).
 */
bool move_is_plain(const void *address, size_t bytes);

/*
 * Can this process read the byte at `address`?  0.2 us, and the page is there afterwards.  False
 * where the kernel is too old to say, too.  errno is untouched.
 */
bool move_can_read(const void *address);

/*
 * The program has given a protection key to memory: what one thread may touch another may not, and
 * nobody but the kernel knows.  From here on no memory is plain.
 */
void move_keys_are_used(void);

/*
 * Bytes [at, at + bytes) of the shape, from or to the host side that begins at `host`; in the ring
 * they stand packed.  False: not all of them could be, and some may have been.
 */
bool move_in(void *ring, const struct shape *shape, const char *host, size_t at, size_t bytes,
	     enum move_care care);
bool move_out(char *host, const struct shape *shape, const void *ring, size_t at, size_t bytes,
	      enum move_care care);

#endif
