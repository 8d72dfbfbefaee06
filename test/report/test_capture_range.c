/*
 * test_capture_range.c - a capture range of more parts than are kept.
 *
 * The scripts capture_* show the rest.
 */
#include "stage.h"
#include "check.h"

#include "trace/calls/capture_range.h"

/* The latest parts are known; a time in an older one is taken for outside. */
TEST(more_parts_than_are_kept)
{
	const char *const options[] = { "HOTPIN_CAPTURE=nvtx:step", NULL };
	const uint64_t at = stage_base;

	stage_begin(true, options);
	CHECK(!capture_range_holds(at));
	for (unsigned i = 0; i < CAPTURE_RANGE_PARTS + 3; i++) {
		capture_range_begins(at + 10 * i);
		capture_range_ends(at + 10 * i + 5);
	}
	CHECK(!capture_range_holds(at + 24));
	CHECK(capture_range_holds(at + 30));
	CHECK(capture_range_holds(at + 34));
	CHECK(!capture_range_holds(at + 35));
	CHECK(capture_range_holds(at + 10 * (CAPTURE_RANGE_PARTS + 2)));
	CHECK(!capture_range_holds(at + 10 * (CAPTURE_RANGE_PARTS + 2) + 5));
	stage_end();
}

CHECK_MAIN()
