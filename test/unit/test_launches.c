/*
 * test_launches.c - launching calls by place, in a table of fixed size.
 */
#include "trace/calls/launches.h"

#include "check.h"

static uint32_t launch(uint64_t place, uint64_t ns)
{
	struct frames_way way = { .depth = 2 };

	way.hash = (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
	way.address[0] = 1000 + place;
	way.address[1] = 77;
	return launches_called(&way, ns);
}

TEST(more_places_than_room)
{
	struct launch_site site;
	uint64_t all = 0;
	size_t count = 0;

	CHECK_EQ(launches_start(), 0);
	for (uint64_t i = 0; i < 10 * LAUNCHES_MOST; i++)
		launch(i % (2 * LAUNCHES_MOST), 1);
	for (; launches_read(count, &site); count++) {
		CHECK_EQ(site.count, 5);
		all += site.count;
	}
	CHECK_EQ(count, LAUNCHES_MOST);
	CHECK_EQ(launches_lost() + all, 10 * LAUNCHES_MOST);
}

CHECK_MAIN()
