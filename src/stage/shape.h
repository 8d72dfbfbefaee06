/*
 * The rows of a copy on the host and on the device.  Pure.
 *
 * The bytes of a copy are numbered in the order of slices, rows and columns, without the gaps.  A
 * piece is a range of numbers, so its bytes are packed in staging memory.
 */
#ifndef HP_STAGE_SHAPE_H
#define HP_STAGE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes from one row, and from one slice, to the next. */
struct shape_side {
	size_t pitch, slice;
};

struct shape {
	size_t width, rows, slices; /* none is 0; width in bytes */
	struct shape_side host, device;
};

/* Returns a shape of `bytes` bytes without gaps. */
struct shape shape_of_run(size_t bytes);

size_t shape_bytes(const struct shape *shape);

/* Returns how many bytes the side spans, gaps included. */
size_t shape_extent(const struct shape *shape, const struct shape_side *side);

bool shape_has_gaps(const struct shape *shape, const struct shape_side *side);

/* Returns the offset of byte `at` on the side, where *ret_run bytes lie without a gap. */
size_t shape_offset(const struct shape *shape, const struct shape_side *side, size_t at,
		    size_t *ret_run);

/*
 * True if all rows of a host slice may be checked as one range, gaps included.  With `written`,
 * every page of that range has bytes of the copy; otherwise the gaps are small.
 */
bool shape_spans_gaps(const struct shape *shape, bool written);

/* True if the rows are so long that moving them costs hardly more than moving one run. */
bool shape_pays(const struct shape *shape, bool to_device);

/* A copy in pieces; the device copies each piece in one call. */
struct shape_cut {
	size_t count;
	size_t group, each; /* a group is cut into pieces of `each` bytes and a rest */
};
struct shape_cut shape_cut(const struct shape *shape, size_t most);

/* Finds piece `index`: bytes [*ret_at, *ret_at + *ret_bytes), at most `most` of shape_cut(). */
void shape_piece(const struct shape_cut *cut, size_t index, size_t *ret_at, size_t *ret_bytes);

/* A piece as a box on the device; `offset` from its first byte. */
struct shape_box {
	size_t offset, width, rows, slices;
	struct shape_side side;
};
struct shape_box shape_device_box(const struct shape *shape, size_t at, size_t bytes);

#endif
