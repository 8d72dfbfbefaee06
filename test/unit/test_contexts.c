/*
 * test_contexts.c - the list of contexts, and the order in which others are notified of an end.
 */
#include "real/contexts.h"

#include "check.h"

#include <string.h>

static char told[64];

static void tell(char what)
{
	size_t length = strlen(told);

	told[length] = what;
	told[length + 1] = '\0';
}

static void first_ending(CUcontext context)
{
	CHECK(context != NULL);
	tell('a');
}

static void first_ended(CUcontext context, bool gone)
{
	CUcontext list[CONTEXTS_MOST];

	/* A watcher does not find a destroyed context in the list. */
	CHECK_EQ(contexts_list(list), gone ? 0 : 1);
	(void)context;
	tell(gone ? 'A' : 'x');
}

static void second_ending(CUcontext context)
{
	(void)context;
	tell('b');
}

static void third_ended(CUcontext context, bool gone)
{
	(void)context;
	tell(gone ? 'C' : 'z');
}

static const struct contexts_watcher watchers[] = {
	{ first_ending, first_ended },
	{ .ending = second_ending },
	{ .ended = third_ended },
};

static CUcontext handle(uintptr_t number)
{
	return (CUcontext)(number * 64);
}

TEST(nobody_watches)
{
	CHECK(contexts_made(handle(1)));
	contexts_ending(handle(1));
	contexts_ended(handle(1), true);
	CHECK_EQ(contexts_generation(), 1);
}

TEST(watchers_are_told_in_order_and_back)
{
	contexts_watch(watchers, sizeof(watchers) / sizeof(watchers[0]));
	CHECK(contexts_made(handle(1)));
	contexts_ending(handle(1));
	contexts_ended(handle(1), true);
	CHECK(strcmp(told, "abCA") == 0);
}

TEST(one_that_lives_on_stays_in_the_list)
{
	CUcontext list[CONTEXTS_MOST];

	contexts_watch(watchers, sizeof(watchers) / sizeof(watchers[0]));
	CHECK(contexts_made(handle(1)));
	/* Retained again. */
	CHECK(!contexts_made(handle(1)));
	contexts_ending(handle(1));
	contexts_ended(handle(1), false);
	CHECK(strcmp(told, "abzx") == 0);
	CHECK_EQ(contexts_generation(), 0);
	CHECK_EQ(contexts_list(list), 1);
	CHECK(list[0] == handle(1));
}

TEST(a_place_is_used_again)
{
	CUcontext list[CONTEXTS_MOST];

	for (uintptr_t i = 1; i <= 3 * CONTEXTS_MOST; i++) {
		CHECK(contexts_made(handle(i)));
		contexts_ended(handle(i), true);
	}
	CHECK_EQ(contexts_list(list), 0);
	CHECK_EQ(contexts_generation(), 3 * CONTEXTS_MOST);
}

TEST(too_many)
{
	CUcontext list[CONTEXTS_MOST];

	for (uintptr_t i = 1; i <= CONTEXTS_MOST; i++)
		CHECK(contexts_made(handle(i)));
	CHECK_EQ(contexts_list(list), CONTEXTS_MOST);
	CHECK(contexts_made(handle(CONTEXTS_MOST + 1)));
	CHECK_EQ(contexts_list(list), -1);
	/* Now it is unknown whether all contexts are known. */
	contexts_ended(handle(1), true);
	CHECK_EQ(contexts_list(list), -1);
}

CHECK_MAIN()
