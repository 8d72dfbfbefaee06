/* shape.c - converts between byte numbers and rows. */
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
	return (struct shape){
		.width = bytes, .rows = 1, .slices = 1, .pitch = bytes, .slice = bytes
	};
}

size_t shape_bytes(const struct shape *shape)
{
	return shape->width * shape->rows * shape->slices;
}

size_t shape_extent(const struct shape *shape)
{
	return (shape->slices - 1) * shape->slice + (shape->rows - 1) * shape->pitch + shape->width;
}

static bool has_gaps_in_slice(const struct shape *shape)
{
	return shape->rows > 1 && shape->pitch != shape->width;
}

bool shape_has_gaps(const struct shape *shape)
{
	return has_gaps_in_slice(shape) ||
	       (shape->slices > 1 && shape->slice != shape->rows * shape->width);
}

size_t shape_offset(const struct shape *shape, size_t at, size_t *ret_run)
{
	size_t slice_bytes = shape->width * shape->rows;
	size_t slice = at / slice_bytes, in_slice = at % slice_bytes;
	size_t row = in_slice / shape->width, column = in_slice % shape->width;

	if (has_gaps_in_slice(shape))
		*ret_run = shape->width - column;
	else if (shape_has_gaps(shape))
		*ret_run = slice_bytes - in_slice;
	else
		*ret_run = shape_bytes(shape) - at;
	return slice * shape->slice + row * shape->pitch + column;
}

bool shape_spans_gaps(const struct shape *shape, bool written)
{
	if (!has_gaps_in_slice(shape))
		return true;
	size_t gap = shape->pitch - shape->width;
	return gap < HP_PAGE_BYTES || (!written && gap / GAPS_MOST <= shape->width);
}

bool shape_pays(const struct shape *shape, bool to_device)
{
	if (!shape_has_gaps(shape))
		return true;
	if (has_gaps_in_slice(shape) &&
	    shape->width < (shape_spans_gaps(shape, !to_device) ? ROW_LEAST : ROW_LEAST_ALONE))
		return false;
	return shape->width * shape->rows >= (to_device ? ROW_LEAST : ROW_LEAST_ALONE);
}
