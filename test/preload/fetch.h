/*
 * Programs whose copies from the device come back before the data is there (HOTPIN_ASYNC=all).
 *
 * The stand-in moves nothing until it is waited for, so what is touched too early is wrong bytes.
 */
#ifndef HP_TEST_PRELOAD_FETCH_H
#define HP_TEST_PRELOAD_FETCH_H

#include "promote.h"

#include <time.h>

#define BLOCK    (4 * MIB)

/* What every test here runs with. */
#define FETCHING "HOTPIN_ASYNC=all"

static inline void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* The device's bytes become those of `seed`. */
static inline void give(unsigned seed)
{
	static char source[BLOCK];

	fill(source, BLOCK, seed);
	OK(cuMemcpyHtoD_v2(there, source, BLOCK));
	OK(cuCtxSynchronize());
}

static inline bool is_on_its_way(void)
{
	return standin_pending(NULL) > 0;
}

/* A pinned block of BLOCK bytes, of a site whose data was looked at late so far. */
static inline char *learned(void)
{
	char *block;

	begin();
	block = promoted(BLOCK);
	for (int i = 0; i < 4 && !is_on_its_way(); i++) {
		OK(cuMemcpyDtoH_v2(block, there, BLOCK));
		pause_ms(3);
	}
	CHECK_EQ(is_on_its_way(), preloaded());
	OK(cuCtxSynchronize());
	return block;
}

/* What the device has goes into the block, and is not there yet when this returns. */
static inline void fetch_what_is_there(char *block)
{
	memset(block, 0xee, BLOCK);
	OK(cuMemcpyDtoH_v2(block, there, BLOCK));
	CHECK_EQ(is_on_its_way(), preloaded());
	/* What is looked at sooner would not come back early the next time. */
	nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}

static inline void fetch(char *block, unsigned seed)
{
	give(seed);
	fetch_what_is_there(block);
}

#endif
