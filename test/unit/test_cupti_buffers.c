/*
 * test_cupti_buffers.c - the pool of CUPTI's buffers.
 */
#include "trace/collect/cupti_buffers.h"

#include "check.h"

static _Atomic uint32_t bell;

static uint8_t *lent(void)
{
	uint8_t *buffer;
	size_t size, most;

	cupti_buffers_request(&buffer, &size, &most);
	CHECK_EQ(most, 0);
	return size == CUPTI_BUFFERS_BYTES ? buffer : NULL;
}

static void give(uint8_t *buffer, size_t valid)
{
	cupti_buffers_complete(NULL, 0, buffer, CUPTI_BUFFERS_BYTES, valid);
}

static void begin(void)
{
	CHECK_EQ(cupti_buffers_start(&bell, CUPTI_BUFFERS_MOST), 0);
}

TEST_AFTER(read_in_the_order_in_which_they_came, begin())
{
	uint8_t *buffers[5];
	const int order[] = { 3, 0, 4, 2, 1 };
	size_t valid;

	for (int i = 0; i < 5; i++)
		buffers[i] = lent();
	for (size_t i = 0; i < 5; i++)
		give(buffers[order[i]], i + 1);
	for (size_t i = 0; i < 5; i++) {
		CHECK(cupti_buffers_take(&valid) == buffers[order[i]]);
		CHECK_EQ(valid, i + 1);
	}
	CHECK(cupti_buffers_take(&valid) == NULL);
	CHECK_EQ(bell, 5);
}

TEST_AFTER(lent_again_when_clear, begin())
{
	uint8_t *first, *buffer;
	size_t valid;
	unsigned count = 1;

	first = lent();
	first[7] = 1;
	while (lent() != NULL)
		count++;
	CHECK_EQ(count, CUPTI_BUFFERS_MOST);
	give(first, CUPTI_BUFFERS_BYTES + 9);
	CHECK(lent() == NULL);
	CHECK(cupti_buffers_take(&valid) == first);
	CHECK_EQ(valid, CUPTI_BUFFERS_BYTES);
	cupti_buffers_put(first);
	buffer = lent();
	CHECK(buffer == first && buffer[7] == 0);
}

TEST_AFTER(what_is_no_buffer_of_the_pool, begin())
{
	struct cupti_buffers_counts counts;
	uint8_t *none;
	size_t size, most, valid;

	for (unsigned i = 0; i < CUPTI_BUFFERS_MOST; i++)
		CHECK(lent() != NULL);
	cupti_buffers_request(&none, &size, &most);
	CHECK(none != NULL && size != CUPTI_BUFFERS_BYTES);
	give(none, 100);
	CHECK(cupti_buffers_take(&valid) == NULL);
	give((uint8_t *)4096, 100);
	CHECK(cupti_buffers_take(&valid) == NULL);
	cupti_buffers_stop();
	cupti_buffers_request(&none, &size, &most);
	cupti_buffers_read_counts(&counts);
	CHECK_EQ(counts.requested, CUPTI_BUFFERS_MOST + 1);
	CHECK_EQ(counts.discarded, 1);
}

/* If many threads ask at once, more memory is used for them; it is reused, too. */
TEST_AFTER(the_pool_grows, begin())
{
	uint8_t *buffers[200], *again[200];
	size_t valid;

	for (size_t i = 0; i < 200; i++) {
		buffers[i] = lent();
		if (!CHECK(buffers[i] != NULL))
			return;
		buffers[i][CUPTI_BUFFERS_BYTES - 1] = 1;
		for (size_t j = 0; j < i; j++)
			CHECK(buffers[j] + CUPTI_BUFFERS_BYTES <= buffers[i] ||
			      buffers[i] + CUPTI_BUFFERS_BYTES <= buffers[j]);
	}
	/* Buffers are returned in the order in which they were filled. */
	for (size_t i = 0; i < 200; i++)
		give(buffers[i * 77 % 200], i + 1);
	for (size_t i = 0; i < 200; i++) {
		CHECK(cupti_buffers_take(&valid) == buffers[i * 77 % 200]);
		CHECK_EQ(valid, i + 1);
		cupti_buffers_put(buffers[i * 77 % 200]);
	}
	for (size_t i = 0; i < 200; i++) {
		again[i] = lent();
		CHECK(again[i] != NULL && again[i][CUPTI_BUFFERS_BYTES - 1] == 0);
	}
}

static uint8_t *requested_by_thread[256];

static void *request(void *number)
{
	requested_by_thread[(uintptr_t)number] = lent();
	return NULL;
}

TEST_AFTER(threads_that_ask_at_once, begin())
{
	check_in_threads(256, request);
	for (int i = 0; i < 256; i++) {
		CHECK(requested_by_thread[i] != NULL);
		for (int j = 0; j < i; j++)
			CHECK(requested_by_thread[j] != requested_by_thread[i]);
	}
}

TEST(bounded_by_memory)
{
	static const struct {
		uint64_t memory;
		unsigned most;
	} rows[] = {
		{ 0, CUPTI_BUFFERS_LEAST },
		{ 256ull << 20, CUPTI_BUFFERS_LEAST },
		{ 512ull << 20, 64 },
		{ 4ull << 30, 512 },
		{ 8ull << 30, CUPTI_BUFFERS_MOST },
		{ 2048ull << 30, CUPTI_BUFFERS_MOST },
	};
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_EQ(cupti_buffers_most(rows[i].memory), rows[i].most);
	CHECK_EQ(cupti_buffers_start(&bell, 64), 0);
	while (lent() != NULL)
		count++;
	CHECK_EQ(count, 64);
}

/* After the reader has ended, no buffers are provided, and returned ones are ignored. */
TEST_AFTER(stopped, begin())
{
	uint8_t *buffer;
	size_t valid;

	buffer = lent();
	CHECK(buffer != NULL);
	cupti_buffers_stop();
	CHECK(lent() == NULL);
	give(buffer, 100);
	CHECK(cupti_buffers_take(&valid) == NULL);
	CHECK_EQ(bell, 0);
}

CHECK_MAIN()
