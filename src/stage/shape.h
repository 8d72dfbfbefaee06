/*
 * The rows of a copy on the host.  On the device they adjoin.  Pure.
 *
 * The bytes of a copy are numbered in the order of slices, rows and columns, without the gaps.  A
 * piece is a range of numbers, so its bytes are packed in staging memory, as on the device.
 */
#ifndef HP_STAGE_SHAPE_H
#define HP_STAGE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

struct shape {
	size_t width, rows, slices; /* none is 0; width in bytes */
	size_t pitch, slice;        /* bytes from one row, and from one slice, to the next */
};

/* Returns a shape of `bytes` bytes without gaps. */
struct shape shape_of_run(size_t bytes);

size_t shape_bytes(const struct shape *shape);

/* Returns how many bytes the rows span, gaps included. */
size_t shape_extent(const struct shape *shape);

bool shape_has_gaps(const struct shape *shape);

/* Returns the offset of byte `at`, where *ret_run bytes lie without a gap. */
size_t shape_offset(const struct shape *shape, size_t at, size_t *ret_run);

/*
 * True if all rows of a slice may be checked as one range, gaps included.  With `written`, every
 * page of that range has bytes of the copy; otherwise the gaps are small.
 */
bool shape_spans_gaps(const struct shape *shape, bool written);

/* True if the rows are so long that moving them costs hardly more than moving one run. */
bool shape_pays(const struct shape *shape, bool to_device);

#endif
