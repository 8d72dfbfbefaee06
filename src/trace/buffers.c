/*
 * buffers.c - a pool kept in two words.
 *
 * CUPTI before CUDA 12.9 crashes where a request is answered with NULL, so when all are lent it
 * gets a buffer that several may share and nobody reads.
 */
#include "trace/buffers.h"
#include "base/clock.h"
#include "base/kernel.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

_Static_assert(BUFFERS_MOST < 64, "one bit each");

static uint8_t *pool, *discard; /* constant after buffers_start() */
static _Atomic uint32_t *rung;  /* constant after buffers_start() */

static _Atomic bool open_for_records;
static _Atomic uint64_t free_mask, full_mask;
static size_t valid_bytes[BUFFERS_MOST]; /* whoever holds the buffer */
static uint64_t came_as[BUFFERS_MOST];   /* whoever holds the buffer; the how manyth it came back */
static _Atomic uint64_t requested, completed, discarded, callback_ns;

int buffers_start(_Atomic uint32_t *bell)
{
	size_t bytes = BUFFERS_MOST * BUFFERS_BYTES + BUFFERS_DISCARD_BYTES;
	/* What is never lent costs address space only. */
	void *memory = hp_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE);

	if (memory == MAP_FAILED)
		return -ENOMEM;
	pool = memory;
	discard = pool + BUFFERS_MOST * BUFFERS_BYTES;
	rung = bell;
	atomic_store(&free_mask, ((uint64_t)1 << BUFFERS_MOST) - 1);
	atomic_store(&open_for_records, true);
	return 0;
}

void buffers_stop(void)
{
	atomic_store(&open_for_records, false);
}

/* Takes the lowest bit out of `mask`: the pool stays small while few are in use. */
static int take_bit(_Atomic uint64_t *mask)
{
	uint64_t old = atomic_load_explicit(mask, memory_order_relaxed);

	while (old != 0) {
		if (atomic_compare_exchange_weak_explicit(mask, &old, old & (old - 1),
							  memory_order_acquire,
							  memory_order_relaxed))
			return __builtin_ctzll(old);
	}
	return -1;
}

static void put_bit(_Atomic uint64_t *mask, size_t bit)
{
	atomic_fetch_or_explicit(mask, (uint64_t)1 << bit, memory_order_release);
}

static bool is_pooled(const uint8_t *buffer)
{
	return buffer >= pool && buffer < pool + BUFFERS_MOST * BUFFERS_BYTES;
}

static size_t index_of(const uint8_t *buffer)
{
	return (size_t)(buffer - pool) / BUFFERS_BYTES;
}

void buffers_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most_records)
{
	uint64_t from = hp_now_ns();
	bool open = atomic_load_explicit(&open_for_records, memory_order_relaxed);
	int bit = open ? take_bit(&free_mask) : -1;

	*ret_most_records = 0;
	if (bit >= 0) {
		*ret_buffer = pool + (size_t)bit * BUFFERS_BYTES;
		*ret_size = BUFFERS_BYTES;
	} else {
		*ret_buffer = discard;
		*ret_size = BUFFERS_DISCARD_BYTES;
	}
	if (open) {
		atomic_fetch_add_explicit(&requested, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&discarded, bit < 0, memory_order_relaxed);
		atomic_fetch_add_explicit(&callback_ns, hp_now_ns() - from, memory_order_relaxed);
	}
}

void buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint64_t from = hp_now_ns();

	(void)context;
	(void)stream;
	(void)size;
	if (!is_pooled(buffer) || !atomic_load_explicit(&open_for_records, memory_order_relaxed))
		return;
	size_t index = index_of(buffer);
	valid_bytes[index] = valid <= BUFFERS_BYTES ? valid : BUFFERS_BYTES;
	came_as[index] = atomic_fetch_add_explicit(&completed, 1, memory_order_relaxed);
	put_bit(&full_mask, index);
	hp_ring(rung);
	atomic_fetch_add_explicit(&callback_ns, hp_now_ns() - from, memory_order_relaxed);
}

uint8_t *buffers_take(size_t *ret_valid)
{
	uint64_t full = atomic_load_explicit(&full_mask, memory_order_acquire);

	if (full == 0)
		return NULL;
	size_t oldest = (size_t)__builtin_ctzll(full);
	for (size_t i = oldest + 1; i < BUFFERS_MOST; i++)
		if ((full >> i & 1) != 0 && came_as[i] < came_as[oldest])
			oldest = i;
	atomic_fetch_and_explicit(&full_mask, ~((uint64_t)1 << oldest), memory_order_relaxed);
	*ret_valid = valid_bytes[oldest];
	return pool + oldest * BUFFERS_BYTES;
}

void buffers_put(uint8_t *buffer)
{
	memset(buffer, 0, BUFFERS_BYTES);
	put_bit(&free_mask, index_of(buffer));
}

void buffers_read_counts(struct buffers_counts *ret)
{
	ret->requested = atomic_load_explicit(&requested, memory_order_relaxed);
	ret->discarded = atomic_load_explicit(&discarded, memory_order_relaxed);
	ret->callback_ns = atomic_load_explicit(&callback_ns, memory_order_relaxed);
}
