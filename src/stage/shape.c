/* shape.c - converts between byte numbers and rows on either side. */
#include "stage/shape.h"
#include "base/kernel.h"

/*
 * The shortest rows that are staged.  Each row costs a call of memcpy(), a tenth of the time of 2
 * KiB.  A row that must be checked separately costs a system call, some 300 ns.
 */
#define ROW_LEAST       ((size_t)2 << 10)
#define ROW_LEAST_ALONE ((size_t)8 << 10)

/* Gaps of up to so many times the row are checked together with the rows. */
#define GAPS_MOST       3

struct shape shape_of_run(size_t bytes)
{
	struct shape_side side = { .pitch = bytes, .slice = bytes };

	return (struct shape){
		.width = bytes, .rows = 1, .slices = 1, .host = side, .device = side
	};
}

size_t shape_bytes(const struct shape *shape)
{
	return shape->width * shape->rows * shape->slices;
}

size_t shape_extent(const struct shape *shape, const struct shape_side *side)
{
	return (shape->slices - 1) * side->slice + (shape->rows - 1) * side->pitch + shape->width;
}

static bool has_gaps_in_slice(const struct shape *shape, const struct shape_side *side)
{
	return shape->rows > 1 && side->pitch != shape->width;
}

bool shape_has_gaps(const struct shape *shape, const struct shape_side *side)
{
	return has_gaps_in_slice(shape, side) ||
	       (shape->slices > 1 && side->slice != shape->rows * shape->width);
}

size_t shape_offset(const struct shape *shape, const struct shape_side *side, size_t at,
		    size_t *ret_run)
{
	size_t slice_bytes = shape->width * shape->rows;
	size_t slice = at / slice_bytes, in_slice = at % slice_bytes;
	size_t row = in_slice / shape->width, column = in_slice % shape->width;

	if (has_gaps_in_slice(shape, side))
		*ret_run = shape->width - column;
	else if (shape_has_gaps(shape, side))
		*ret_run = slice_bytes - in_slice;
	else
		*ret_run = shape_bytes(shape) - at;
	return slice * side->slice + row * side->pitch + column;
}

bool shape_spans_gaps(const struct shape *shape, bool written)
{
	if (!has_gaps_in_slice(shape, &shape->host))
		return true;
	size_t gap = shape->host.pitch - shape->width;
	return gap < HP_PAGE_BYTES || (!written && gap / GAPS_MOST <= shape->width);
}

bool shape_pays(const struct shape *shape, bool to_device)
{
	if (has_gaps_in_slice(shape, &shape->host) &&
	    shape->width < (shape_spans_gaps(shape, !to_device) ? ROW_LEAST : ROW_LEAST_ALONE))
		return false;
	if (shape_has_gaps(shape, &shape->host) &&
	    shape->width * shape->rows < (to_device ? ROW_LEAST : ROW_LEAST_ALONE))
		return false;
	return !shape_has_gaps(shape, &shape->device) || shape->width >= ROW_LEAST ||
	       (shape->device.pitch == shape->width && shape->width * shape->rows >= ROW_LEAST);
}

/* Returns the device's side in as few and as long rows as possible. */
static struct shape_box whole_box(const struct shape *shape)
{
	const struct shape_side *side = &shape->device;
	struct shape_box box = {
		.width = shape->width, .rows = shape->rows, .slices = shape->slices, .side = *side
	};

	if (!shape_has_gaps(shape, side)) {
		box.width = shape_bytes(shape);
		box.rows = box.slices = 1;
	} else if (!has_gaps_in_slice(shape, side)) {
		box.width = shape->width * shape->rows;
		box.rows = shape->slices;
		box.slices = 1;
		box.side.pitch = side->slice;
	} else if (side->slice == shape->rows * side->pitch) {
		box.rows = shape->rows * shape->slices;
		box.slices = 1;
	}
	return box;
}

struct shape_cut shape_cut(const struct shape *shape, size_t most)
{
	struct shape_box box = whole_box(shape);
	size_t bytes = shape_bytes(shape), slice = box.width * box.rows;
	struct shape_cut cut = { .group = bytes };

	if (box.width >= most) {
		cut.group = box.width;
		cut.each = most;
	} else if (box.slices == 1) {
		cut.each = most / box.width * box.width;
	} else if (slice >= most) {
		cut.group = slice;
		cut.each = most / box.width * box.width;
	} else {
		cut.each = most / slice * slice;
	}
	cut.count = bytes / cut.group * ((cut.group + cut.each - 1) / cut.each);
	return cut;
}

void shape_piece(const struct shape_cut *cut, size_t index, size_t *ret_at, size_t *ret_bytes)
{
	size_t in_group = (cut->group + cut->each - 1) / cut->each;
	size_t begin = index % in_group * cut->each, left = cut->group - begin;

	*ret_at = index / in_group * cut->group + begin;
	*ret_bytes = left < cut->each ? left : cut->each;
}

struct shape_box shape_device_box(const struct shape *shape, size_t at, size_t bytes)
{
	struct shape_box box = whole_box(shape);
	size_t row = at / box.width, column = at % box.width;

	box.offset = row / box.rows * box.side.slice + row % box.rows * box.side.pitch + column;
	if (bytes <= box.width - column) {
		box.width = bytes;
		box.rows = box.slices = 1;
	} else if (row % box.rows + bytes / box.width <= box.rows) {
		box.rows = bytes / box.width;
		box.slices = 1;
	} else {
		box.slices = bytes / (box.width * box.rows);
	}
	return box;
}
