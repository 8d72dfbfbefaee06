/*
 * Chooses the piece size of a staged copy, and how many copy workers share the pieces.  Pure.
 *
 * The sizes are the fastest ones on an H200; doc/measurements.md#borders lists the medians.
 */
#ifndef HP_STAGE_PIECES_H
#define HP_STAGE_PIECES_H

#include <stdbool.h>
#include <stddef.h>

/* Every piece size is a power of two, this one at least. */
#define PIECES_LEAST     ((size_t)128 << 10)

/*
 * Downloads from this size on wake their workers at the start, not at the first piece: 64 MiB take
 * 1.83 ms instead of 2.12.  Smaller downloads gain nothing.
 */
#define PIECES_CALL_FROM ((size_t)64 << 20)

/* Returns how many bytes each piece of a copy has; the last may have fewer. */
size_t pieces_bytes(bool to_device, size_t bytes);

/* Returns how many of `workers` a copy can use; further ones would only wait for the bus. */
unsigned pieces_workers(bool to_device, size_t bytes, bool untouched, unsigned workers);

#endif
