/*
 * Where do the rows of a copy lie, on the host and on the device?  Pure.
 *
 * The bytes of a copy are numbered in the order of slices, rows and columns; gaps have no numbers.
 * A piece is a run of such numbers, so it stands packed wherever it passes through.
 */
#ifndef HP_COPY_SHAPE_H
#define HP_COPY_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

/* How far it is from one row, and from one slice, to the next. */
struct shape_side {
	size_t pitch, slice;
};

struct shape {
	size_t width, rows, slices; /* none is 0; width in bytes */
	struct shape_side host, device;
};

/* A shape of `bytes` bytes without gaps. */
struct shape shape_of_run(size_t bytes);

size_t shape_bytes(const struct shape *shape);

/* From the side's first byte to behind its last. */
size_t shape_extent(const struct shape *shape, const struct shape_side *side);

bool shape_has_gaps(const struct shape *shape, const struct shape_side *side);

/* How far byte `at` is from the side's first; from there on *ret_run bytes lie without a gap. */
size_t shape_place(const struct shape *shape, const struct shape_side *side, size_t at,
		   size_t *ret_run);

/*
 * May [first row, last row] of one slice on the host be looked at as a whole, gaps included?  With
 * `written` every page of them has bytes of the copy; else they are few.
 */
bool shape_spans_gaps(const struct shape *shape, bool written);

/* Are the rows so long that moving them one by one costs hardly more than moving a run? */
bool shape_pays(const struct shape *shape, bool to_device);

/* A copy in pieces, each of them one copy on the device's side. */
struct shape_cut {
	size_t count;
	size_t group, each; /* a group is cut into pieces of `each` bytes and a rest */
};
struct shape_cut shape_cut(const struct shape *shape, size_t most);

/* Piece `index` is bytes [*ret_at, *ret_at + *ret_bytes), at most the `most` of shape_cut(). */
void shape_piece(const struct shape_cut *cut, size_t index, size_t *ret_at, size_t *ret_bytes);

/* A piece as a box on the device; `offset` from its first byte. */
struct shape_box {
	size_t offset, width, rows, slices;
	struct shape_side side;
};
struct shape_box shape_device_box(const struct shape *shape, size_t at, size_t bytes);

#endif
