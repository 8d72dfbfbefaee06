/*
 * test_odd.c - a driver that is newer than the library: unknown names, arguments in every register
 * and on the stack, and a driver that looks itself up.
 */
#include "preload.h"

#include "odd/odd.h"

static void *driver;

static bool open_odd(void)
{
	driver = dlopen(getenv("PRELOAD_ODD"), RTLD_NOW);
	return CHECK(driver != NULL) &&
	       CHECK_EQ(((CUresult(*)(unsigned))dlsym(driver, "cuInit"))(0), CUDA_SUCCESS);
}

static void launch(void)
{
	void *params[1] = { NULL }, *extra[1] = { NULL };
	__typeof__(cuLaunchKernel) *start = (__typeof__(start))dlsym(driver, "cuLaunchKernel");
	const struct odd_launch *seen = (const struct odd_launch *)dlsym(driver, "odd_launch");
	static const unsigned numbers[7] = { 1, 2, 3, 4, 5, 6, 7 };

	CHECK(!preloaded() || preload_is_in((void *)start, OURS));
	CHECK_EQ(start((CUfunction)0x1111, 1, 2, 3, 4, 5, 6, 7, (CUstream)0x2222, params, extra),
		 4711);
	CHECK(seen->kernel == (CUfunction)0x1111 && seen->stream == (CUstream)0x2222);
	CHECK(memcmp(seen->numbers, numbers, sizeof(numbers)) == 0);
	CHECK(seen->params == params && seen->extra == extra);
}

TEST(eleven_arguments)
{
	if (open_odd())
		launch();
}

TEST_WITH(eleven_arguments_counted, "HOTPIN_PROFILE=trace", "HOTPIN_CUPTI=off", "HOTPIN_LOG=error",
	  "HOTPIN_LOG_FILE=/dev/null")
{
	if (open_odd())
		launch();
}

static void call_unknown(void)
{
	__typeof__(cuOddMixed) *mixed = (__typeof__(mixed))dlsym(driver, "cuOddMixed");
	__typeof__(cuOddPair) *pair = (__typeof__(pair))dlsym(driver, "cuOddPair");
	__typeof__(cuOddVariadic) *variadic = (__typeof__(variadic))dlsym(driver, "cuOddVariadic");

	CHECK(!preloaded() || preload_is_in((void *)mixed, OURS));
	/* 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 and 10, 40, 90 ... 1000 */
	CHECK_EQ(mixed(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 8), 204 + 3850);
	struct odd_pair answer = pair(21, 14);
	CHECK(answer.first == 42 && answer.second == 42);
	/* al holds the number of vector registers. */
	CHECK_EQ(variadic(10, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0), 55);
}

TEST(unknown_functions)
{
	if (open_odd())
		call_unknown();
}

TEST_WITH(unknown_functions_counted, "HOTPIN_PROFILE=trace", "HOTPIN_CUPTI=off",
	  "HOTPIN_LOG_FILE=/dev/null")
{
	if (open_odd())
		call_unknown();
}

/* 200 unknown names, more than there are stubs: all work, and each has one address. */
TEST(many_unknown_functions)
{
	if (!open_odd())
		return;
	__typeof__(cuGetProcAddress_v2) *resolve =
		(__typeof__(resolve))dlsym(driver, "cuGetProcAddress_v2");
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 200; i++) {
			void *found = NULL;
			char name[32];

			snprintf(name, sizeof(name), i < 100 ? "cuOddNumber%02d" : "cuOddNumber%d",
				 i);
			if (round % 2 == 0)
				found = dlsym(driver, name);
			else
				CHECK_EQ(resolve(name, &found, 14000, 0, NULL), CUDA_SUCCESS);
			long (*number)(void) = (long (*)(void))found;
			if (CHECK(number != NULL))
				CHECK_EQ(number(), i < 100 ? 100 + i : 1000 + i);
		}
	}
}

TEST(a_driver_that_looks_itself_up)
{
	if (open_odd())
		CHECK(*(const int *)dlsym(driver, "odd_looked_up_itself"));
}

PRELOAD_MAIN()
