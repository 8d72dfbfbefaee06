/*
 * test_shape.c - shapes of copies, their contiguous runs and their pieces, compared with a map of
 * every byte.
 */
#include "stage/shape.h"

#include "check.h"

static unsigned random_below(unsigned *seed, unsigned below)
{
	return (unsigned)rand_r(seed) % below;
}

static struct shape_side random_side(unsigned *seed, const struct shape *shape)
{
	size_t gap = random_below(seed, 3) == 0 ? random_below(seed, 90) : 0;
	size_t more = random_below(seed, 3) == 0 ? random_below(seed, 4) : 0;
	struct shape_side side = { .pitch = shape->width + gap };

	side.slice = side.pitch * (shape->rows + more);
	return side;
}

static struct shape random_shape(unsigned *seed)
{
	struct shape shape = { .width = 1 + random_below(seed, random_below(seed, 2) ? 7 : 300),
			       .rows = 1 + random_below(seed, 9),
			       .slices = 1 + random_below(seed, 5) };

	shape.host = random_side(seed, &shape);
	shape.device = random_side(seed, &shape);
	return shape;
}

/* Returns the place of byte `at`, by the definition. */
static size_t place_of(const struct shape *shape, const struct shape_side *side, size_t at)
{
	size_t column = at % shape->width, row = at / shape->width;

	return row / shape->rows * side->slice + row % shape->rows * side->pitch + column;
}

static bool check_side(const struct shape *shape, const struct shape_side *side)
{
	size_t bytes = shape_bytes(shape), run, length = 0;
	bool gaps = false, right = true;

	for (size_t at = bytes; at-- > 0 && right;) {
		size_t place = place_of(shape, side, at);

		if (at + 1 < bytes && place_of(shape, side, at + 1) != place + 1) {
			gaps = true;
			length = 0;
		}
		length++;
		right = CHECK_EQ(shape_offset(shape, side, at, &run), place) &&
			CHECK_EQ(run, length);
	}
	return right && CHECK_EQ(shape_has_gaps(shape, side), gaps) &&
	       CHECK_EQ(shape_extent(shape, side), place_of(shape, side, bytes - 1) + 1);
}

/* Checks that every byte is in one piece, in order, and at the piece's place on the device. */
static bool check_pieces(const struct shape *shape, size_t most)
{
	struct shape_cut cut = shape_cut(shape, most);
	size_t next = 0;

	for (size_t i = 0; i < cut.count; i++) {
		size_t at, bytes;

		shape_piece(&cut, i, &at, &bytes);
		if (!CHECK_EQ(at, next) || !CHECK(bytes > 0 && bytes <= most))
			return false;
		struct shape_box box = shape_device_box(shape, at, bytes);
		if (!CHECK_EQ(box.width * box.rows * box.slices, bytes))
			return false;
		for (size_t j = 0; j < bytes; j++) {
			size_t row = j / box.width;
			size_t place = box.offset + row / box.rows * box.side.slice +
				       row % box.rows * box.side.pitch + j % box.width;

			if (place != place_of(shape, &shape->device, at + j))
				return CHECK_EQ(place, place_of(shape, &shape->device, at + j));
		}
		CHECK(box.slices == 1 || box.side.slice % box.side.pitch == 0);
		next = at + bytes;
	}
	return CHECK_EQ(next, shape_bytes(shape));
}

TEST(random_shapes)
{
	unsigned seed = 3;

	for (int i = 0; i < 1000; i++) {
		struct shape shape = random_shape(&seed);
		size_t most = (size_t)1 << (4 + random_below(&seed, 9));

		if (check_side(&shape, &shape.host) && check_side(&shape, &shape.device) &&
		    check_pieces(&shape, most))
			continue;
		printf("# %zu x %zu x %zu, host %zu, %zu, device %zu, %zu, pieces of %zu\n",
		       shape.width, shape.rows, shape.slices, shape.host.pitch, shape.host.slice,
		       shape.device.pitch, shape.device.slice, most);
		break;
	}
}

TEST(runs)
{
	struct shape run = shape_of_run(1000);

	CHECK_EQ(shape_bytes(&run), 1000);
	CHECK_EQ(shape_extent(&run, &run.host), 1000);
	CHECK(!shape_has_gaps(&run, &run.host) && !shape_has_gaps(&run, &run.device));
	CHECK(shape_pays(&run, true) && shape_pays(&run, false));
	check_pieces(&run, 128);
}

/* Few pieces: rows and slices are combined as far as there is room. */
TEST(counts)
{
	struct shape shape = { .width = 100, .rows = 10, .slices = 10 };
	struct shape_side packed = { 100, 1000 }, rows = { 128, 1280 }, slices = { 100, 1500 },
			  both = { 128, 2560 };

	shape.host = both;
	shape.device = packed;
	CHECK_EQ(shape_cut(&shape, 1024).count, 10);
	CHECK_EQ(shape_cut(&shape, 1 << 20).count, 1);
	shape.device = rows;
	CHECK_EQ(shape_cut(&shape, 2048).count, 5);
	shape.device = slices;
	CHECK_EQ(shape_cut(&shape, 2048).count, 5);
	CHECK_EQ(shape_cut(&shape, 512).count, 20);
	shape.device = both;
	CHECK_EQ(shape_cut(&shape, 4096).count, 3);
	CHECK_EQ(shape_cut(&shape, 512).count, 20);
	CHECK_EQ(shape_cut(&shape, 64).count, 200);
}

/* Short rows do not pay off; longer ones must be present, because each is checked. */
TEST(what_pays)
{
	struct shape shape = { .width = 2048, .rows = 1000, .slices = 1 };

	shape.host = shape.device = (struct shape_side){ 2048, 2048 * 1000 };
	CHECK(shape_pays(&shape, true));
	shape.host.pitch = 2048 + 4095;
	CHECK(shape_pays(&shape, true) && shape_pays(&shape, false));
	shape.host.pitch = 2048 + 4096;
	CHECK(shape_pays(&shape, true) && !shape_pays(&shape, false));
	shape.host.pitch = 2048 * 8;
	CHECK(!shape_pays(&shape, true));
	shape.width = 8192;
	shape.host.pitch = 8192 + 4096;
	CHECK(shape_pays(&shape, false));
	shape.width = shape.device.pitch = 2047;
	shape.host.pitch = 2048;
	CHECK(!shape_pays(&shape, true));
	shape.host.pitch = 2047;
	CHECK(shape_pays(&shape, true));
	shape.device.pitch = 2048;
	CHECK(!shape_pays(&shape, true));
}

CHECK_MAIN()
