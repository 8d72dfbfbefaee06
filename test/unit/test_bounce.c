/*
 * test_bounce.c - bounce buffers of copies: each belongs to one copy, every copy gets one, and idle
 * ones are freed.
 */
#include "base/parse.h"
#include "stage/bounce.h"

#include "check.h"
#include "sizes.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#define MANY 100 /* more than the number that stays mapped */

TEST(a_buffer_serves_one_copy_after_the_other)
{
	struct bounce bounce;
	bool kept = false;

	CHECK(bounce_take(12000, &bounce, &kept));
	CHECK(kept && bounce.bytes >= 12000 && bounce_mapped() == bounce.bytes);
	char *memory = bounce.memory;
	memset(memory, 1, 12000);
	bounce_put(&bounce);
	CHECK(bounce.memory == NULL);
	bounce_put(&bounce);

	kept = false;
	CHECK(bounce_take(1, &bounce, &kept));
	CHECK(bounce.memory == memory && !kept);
	bounce_put(&bounce);
}

TEST(a_buffer_grows)
{
	struct bounce bounce;

	for (size_t bytes = 1; bytes <= 4 * MIB; bytes = bytes * 3 + 1) {
		CHECK(bounce_take(bytes, &bounce, NULL));
		memset(bounce.memory, 1, bytes);
		bounce_put(&bounce);
	}
	CHECK_EQ(bounce_mapped(), 4 * MIB);
}

/* Buffers do not overlap, and every thread gets one. */
TEST(as_many_as_there_are_copies)
{
	struct bounce bounces[MANY];

	for (size_t i = 0; i < MANY; i++) {
		CHECK(bounce_take(64 * KIB, &bounces[i], NULL));
		memset(bounces[i].memory, (int)i, 64 * KIB);
	}
	for (size_t i = 0; i < MANY; i++) {
		CHECK(bounces[i].memory[0] == (char)i &&
		      bounces[i].memory[64 * KIB - 1] == (char)i);
		bounce_put(&bounces[i]);
	}
	CHECK(bounce_mapped() < MANY * 64 * KIB);
}

TEST(no_more_is_kept_than_that)
{
	struct bounce bounces[16];

	for (size_t i = 0; i < HP_LEN(bounces); i++)
		CHECK(bounce_take(4 * MIB, &bounces[i], NULL));
	CHECK_EQ(bounce_mapped(), 64 * MIB);
	for (size_t i = 0; i < HP_LEN(bounces); i++)
		bounce_put(&bounces[i]);
	CHECK_EQ(bounce_mapped(), BOUNCE_KEPT_MOST);
}

/* Two calls are needed: the first one marks idle buffers. */
TEST(what_nobody_uses_is_given_back)
{
	struct bounce bounce, held;

	CHECK(bounce_take(MIB, &held, NULL));
	CHECK(bounce_take(2 * MIB, &bounce, NULL));
	bounce_put(&bounce);
	bounce_age();
	CHECK_EQ(bounce_mapped(), 3 * MIB);
	bounce_age();
	CHECK_EQ(bounce_mapped(), MIB);
	memset(held.memory, 1, MIB);
	bounce_put(&held);

	/* A buffer that is used between two calls stays. */
	for (int i = 0; i < 3; i++) {
		bounce_age();
		CHECK(bounce_take(1, &bounce, NULL));
		bounce_put(&bounce);
		CHECK_EQ(bounce_mapped(), MIB);
	}
	bounce_age();
	bounce_age();
	CHECK_EQ(bounce_mapped(), 0);
}

TEST(all_that_is_idle_at_once)
{
	struct bounce bounce, held;

	CHECK(bounce_take(MIB, &held, NULL));
	CHECK(bounce_take(2 * MIB, &bounce, NULL));
	bounce_put(&bounce);
	bounce_give_back();
	CHECK_EQ(bounce_mapped(), MIB);
	memset(held.memory, 1, MIB);
	bounce_put(&held);
	bounce_give_back();
	CHECK_EQ(bounce_mapped(), 0);
}

TEST(no_memory)
{
	struct rlimit limit = { .rlim_cur = MIB, .rlim_max = RLIM_INFINITY };
	struct bounce bounce;

	CHECK(bounce_take(MIB, &bounce, NULL));
	bounce_put(&bounce);
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	bool taken = bounce_take(4 * MIB, &bounce, NULL);
	limit.rlim_cur = RLIM_INFINITY;
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	CHECK(!taken);
	CHECK_EQ(bounce_mapped(), 0);
	CHECK(bounce_take(4 * MIB, &bounce, NULL));
	bounce_put(&bounce);
}

static void *take_and_check(void *arg)
{
	struct bounce bounce;

	for (size_t i = 0; i < 2000; i++) {
		size_t bytes = (i * 7919 + (size_t)(intptr_t)arg * 131) % (100 * KIB) + 1;
		char mine = (char)(intptr_t)arg;

		if (!CHECK(bounce_take(bytes, &bounce, NULL)))
			break;
		memset(bounce.memory, mine, bytes);
		CHECK(bounce.memory[0] == mine && bounce.memory[bytes / 2] == mine &&
		      bounce.memory[bytes - 1] == mine);
		bounce_put(&bounce);
		if (i % 64 == 0)
			bounce_give_back();
	}
	return NULL;
}

TEST(many_threads)
{
	pthread_t threads[8];

	for (intptr_t i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, take_and_check, (void *)i);
	for (int i = 0; i < 500; i++)
		bounce_age();
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	bounce_give_back();
	CHECK_EQ(bounce_mapped(), 0);
}

CHECK_MAIN()
