/*
 * test_shape.c - shapes of copies and their contiguous runs, compared with a map of every byte.
 */
#include "stage/shape.h"

#include "check.h"
#include "random.h"

static struct shape random_shape(uint64_t *random)
{
	struct shape shape = { .width = 1 + random_below(random, random_below(random, 2) ? 7 : 300),
			       .rows = 1 + random_below(random, 9),
			       .slices = 1 + random_below(random, 5) };

	shape.pitch = shape.width + (random_below(random, 3) == 0 ? random_below(random, 90) : 0);
	shape.slice = shape.pitch *
		      (shape.rows + (random_below(random, 3) == 0 ? random_below(random, 4) : 0));
	return shape;
}

/* Returns the place of byte `at`, by the definition. */
static size_t place_of(const struct shape *shape, size_t at)
{
	size_t column = at % shape->width, row = at / shape->width;

	return row / shape->rows * shape->slice + row % shape->rows * shape->pitch + column;
}

static bool check(const struct shape *shape)
{
	size_t bytes = shape_bytes(shape), run, length = 0;
	bool gaps = false, right = true;

	for (size_t at = bytes; at-- > 0 && right;) {
		size_t place = place_of(shape, at);

		if (at + 1 < bytes && place_of(shape, at + 1) != place + 1) {
			gaps = true;
			length = 0;
		}
		length++;
		right = CHECK_EQ(shape_offset(shape, at, &run), place) && CHECK_EQ(run, length);
	}
	return right && CHECK_EQ(shape_has_gaps(shape), gaps) &&
	       CHECK_EQ(shape_extent(shape), place_of(shape, bytes - 1) + 1);
}

TEST(random_shapes)
{
	uint64_t random = 3;

	for (int i = 0; i < 1000; i++) {
		struct shape shape = random_shape(&random);

		if (check(&shape))
			continue;
		printf("# %zu x %zu x %zu, %zu, %zu\n", shape.width, shape.rows, shape.slices,
		       shape.pitch, shape.slice);
		break;
	}
}

TEST(runs)
{
	struct shape run = shape_of_run(1000);

	CHECK_EQ(shape_bytes(&run), 1000);
	CHECK_EQ(shape_extent(&run), 1000);
	CHECK(!shape_has_gaps(&run));
	CHECK(shape_pays(&run, true) && shape_pays(&run, false));
}

/* Short rows do not pay off; longer ones must be present, because each is checked. */
TEST(what_pays)
{
	struct shape shape = { .width = 2048, .rows = 1000, .slices = 1 };

	shape.pitch = 2048;
	shape.slice = 2048 * 1000;
	CHECK(shape_pays(&shape, true));
	shape.pitch = 2048 + 4095;
	CHECK(shape_pays(&shape, true) && shape_pays(&shape, false));
	shape.pitch = 2048 + 4096;
	CHECK(shape_pays(&shape, true) && !shape_pays(&shape, false));
	shape.pitch = 2048 * 8;
	CHECK(!shape_pays(&shape, true));
	shape.width = 8192;
	shape.pitch = 8192 + 4096;
	CHECK(shape_pays(&shape, false));
	shape.width = 2047;
	shape.pitch = 2048;
	CHECK(!shape_pays(&shape, true));
	shape.pitch = 2047;
	CHECK(shape_pays(&shape, true));
}

CHECK_MAIN()
