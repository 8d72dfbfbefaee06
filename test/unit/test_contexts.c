/*
 * test_contexts.c - the list of contexts.
 */
#include "real/contexts.h"

#include "check.h"

static CUcontext handle(uintptr_t number)
{
	return (CUcontext)(number * 64);
}

TEST(one_that_lives_on_stays_in_the_list)
{
	CUcontext list[CONTEXTS_MOST];

	CHECK(contexts_made(handle(1)));
	/* Retained again. */
	CHECK(!contexts_made(handle(1)));
	CHECK_EQ(contexts_list(list), 1);
	CHECK(list[0] == handle(1));
	contexts_forget(handle(1));
	CHECK_EQ(contexts_list(list), 0);
	CHECK_EQ(contexts_generation(), 1);
}

TEST(a_place_is_used_again)
{
	CUcontext list[CONTEXTS_MOST];

	for (uintptr_t i = 1; i <= 3 * CONTEXTS_MOST; i++) {
		CHECK(contexts_made(handle(i)));
		contexts_forget(handle(i));
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
	contexts_forget(handle(1));
	CHECK_EQ(contexts_list(list), -1);
}

CHECK_MAIN()
