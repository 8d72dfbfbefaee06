/*
 * test_thread_memory.c - trace/thread_memory.h: whose a block is, and when another thread gets it.
 */
#include "base/lock.h"
#include "trace/thread_memory.h"
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define THREADS 16
#define BYTES   1000

static struct thread_memory memory = { .bytes = BYTES };

/* True if the block is new, or as a thread before has left it. */
static bool is_as_left(const char *block)
{
	for (size_t i = 0; i < BYTES; i++)
		if (block[i] != block[0])
			return false;
	return block[0] == 0 || block[0] == 1;
}

static void *take(void *arg)
{
	pthread_barrier_t *all_have_one = arg;
	char *block = thread_memory_take(&memory);

	if (!CHECK(block != NULL) || !CHECK(is_as_left(block)))
		return NULL;
	memset(block, 1, BYTES);
	if (all_have_one != NULL)
		pthread_barrier_wait(all_have_one);
	return block;
}

TEST(threads_at_once_have_a_block_each)
{
	pthread_barrier_t all_have_one;
	pthread_t threads[THREADS];
	void *blocks[THREADS];

	pthread_barrier_init(&all_have_one, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, take, &all_have_one), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], &blocks[i]);
	for (int i = 0; i < THREADS; i++)
		for (int j = 0; j < i; j++)
			CHECK(blocks[i] != blocks[j]);

	size_t count = 0;
	for (char *block = NULL; (block = thread_memory_next(&memory, block)) != NULL; count++)
		CHECK_EQ(block[0], 1);
	CHECK_EQ(count, THREADS);
}

TEST(threads_in_turn_share_blocks)
{
	enum { TURNS = 2000 };
	static void *blocks[TURNS];
	int others = 0;

	/* A thread that was joined may still be there for the kernel. */
	for (int i = 0; i < TURNS; i++) {
		int j = 0;

		pthread_t thread = check_thread(take, NULL);
		pthread_join(thread, &blocks[i]);
		while (blocks[j] != blocks[i])
			j++;
		others += j == i;
	}
	CHECK(others < TURNS / 2);
}

TEST(without_memory_errno_is_kept)
{
	struct thread_memory large = { .bytes = (size_t)1 << 60 };

	errno = EXDEV;
	CHECK(thread_memory_take(&large) == NULL);
	CHECK_EQ(errno, EXDEV);
}

TEST(none_under_a_lock)
{
	hp_lock(HP_LOCK_trace);
	CHECK(thread_memory_take(&memory) == NULL);
	hp_unlock(HP_LOCK_trace);
	CHECK(thread_memory_take(&memory) != NULL);
}

CHECK_MAIN()
