/*
 * test_site.c - allocation sites: which are distinguished, what is learned of them, and forgotten.
 */
#include "heap/site.h"
#include "heap/huge_pages.h"

#include "check.h"

TEST(the_last_word_counts)
{
	CHECK(!huge_site_is_dense(5));
	huge_note_site(5, true);
	CHECK(huge_site_is_dense(5));
	CHECK(!huge_site_is_dense(9));
	huge_note_site(5, false);
	CHECK(!huge_site_is_dense(5));
	huge_note_site(0, true);
	CHECK(!huge_site_is_dense(0));
}

/* Far more sites than the table has room for. */
TEST(old_sites_make_room)
{
	int known = 0;

	for (uint32_t site = 4; site <= 400000; site += 4) {
		huge_note_site(site, true);
		CHECK(huge_site_is_dense(site));
	}
	for (uint32_t site = 4; site <= 400000; site += 4)
		known += huge_site_is_dense(site);
	CHECK(known > 2000 && known <= 4096);
}

static __attribute__((noinline)) uint32_t called(void)
{
	__asm__ volatile(""); /* keeps the two calls apart */
	return site_of(__builtin_return_address(0), __builtin_frame_address(0));
}

static __attribute__((noinline)) uint32_t deeper(void)
{
	char volatile room[64] = { 0 };
	uint32_t site = called();

	return room[0] == 0 ? site : 0;
}

static __attribute__((noinline)) void call_into(uint32_t *ret)
{
	*ret = called();
}

static void *elsewhere(void *arg)
{
	*(uint32_t *)arg = deeper();
	return NULL;
}

TEST(sites_are_told_apart)
{
	uint32_t first = 0, again = 0, one[2], two[2];

	for (int i = 0; i < 2; i++)
		call_into(i == 0 ? &first : &again);
	CHECK(first == again && first != 0);
	CHECK(called() != first);
	/* The same return address on another path. */
	CHECK(deeper() != called());
	for (int i = 0; i < 2; i++) {
		check_in_thread(elsewhere, i == 0 ? one : two);
	}
	CHECK_EQ(one[0], two[0]);
}

CHECK_MAIN()
