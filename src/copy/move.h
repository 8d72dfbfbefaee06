/*
 * Moves bytes between the ring and the program's memory.
 *
 * Where the program's own thread does, a fault is the program's, as it is in the driver's memcpy().
 * A thread of ours must look first, so that what cannot be read or written (a hole in a mapping, a
 * file's mapping past its end) is found out without a signal.  No lock, no allocation; errno is
 * changed.
 */
#ifndef HP_COPY_MOVE_H
#define HP_COPY_MOVE_H

#include "copy/shape.h"

/*
 * Bytes [at, at + bytes) of the shape, from or to the host side that begins at `host`; in the ring
 * they stand packed.  False: not all of them could be, and some may have been.  `looks`: as above.
 */
bool move_in(void *ring, const struct shape *shape, const char *host, size_t at, size_t bytes,
	     bool looks);
bool move_out(char *host, const struct shape *shape, const void *ring, size_t at, size_t bytes,
	      bool looks);

#endif
