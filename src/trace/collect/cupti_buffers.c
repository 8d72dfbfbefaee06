/*
 * cupti_buffers.c - chunks of buffers; each chunk has two words of bits.
 *
 * CUPTI before CUDA 12.9 crashes if a request gets NULL.  So when all buffers are lent, CUPTI gets
 * the discard buffer, which several threads may share and hotpin never reads.
 */
#include "trace/collect/cupti_buffers.h"
#include "base/clock.h"
#include "base/kernel.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define CHUNKS_MOST (CUPTI_BUFFERS_MOST / CUPTI_BUFFERS_CHUNK)
#define CHUNK_BYTES (CUPTI_BUFFERS_CHUNK * CUPTI_BUFFERS_BYTES)

_Static_assert(CUPTI_BUFFERS_CHUNK <= 32, "one bit each");

static struct chunk {
	uint8_t *_Atomic memory; /* NULL: not mapped yet */
	_Atomic uint32_t free_mask, full_mask;
	size_t valid_bytes[CUPTI_BUFFERS_CHUNK]; /* guarded by the holder of the buffer */
	uint64_t came_as[CUPTI_BUFFERS_CHUNK];   /* sequence number of its return; by the holder */
} chunks[CHUNKS_MOST];

static _Atomic unsigned chunks_most; /* constant after cupti_buffers_start() */
static uint8_t *discard;             /* constant after cupti_buffers_start() */
static _Atomic uint32_t *rung;       /* constant after cupti_buffers_start() */

/* Any thread. */
static _Atomic bool open_for_records;
static _Atomic uint64_t requested, completed, discarded, callback_ns;

unsigned cupti_buffers_most(uint64_t memory_bytes)
{
	uint64_t most = memory_bytes / 8 / CUPTI_BUFFERS_BYTES;

	return most < CUPTI_BUFFERS_CHUNK  ? CUPTI_BUFFERS_CHUNK
	       : most > CUPTI_BUFFERS_MOST ? CUPTI_BUFFERS_MOST
					   : (unsigned)most;
}

/* Buffers that are never lent use only address space. */
static uint8_t *map(size_t bytes)
{
	void *memory = hp_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE);

	return memory != MAP_FAILED ? memory : NULL;
}

/*
 * Maps a chunk.  False: there is no memory.  If another thread maps it too, the first mapping
 * stays.
 */
static bool grow(struct chunk *chunk)
{
	uint8_t *memory = map(CHUNK_BYTES), *none = NULL;

	if (memory == NULL)
		return false;
	if (!atomic_compare_exchange_strong(&chunk->memory, &none, memory))
		hp_unmap(memory, CHUNK_BYTES);
	return true;
}

int cupti_buffers_start(_Atomic uint32_t *bell, unsigned most)
{
	discard = map(CUPTI_BUFFERS_DISCARD_BYTES);
	if (discard == NULL || !grow(&chunks[0]))
		return -ENOMEM;
	unsigned count = (most + CUPTI_BUFFERS_CHUNK - 1) / CUPTI_BUFFERS_CHUNK;
	for (unsigned i = 0; i < count; i++)
		atomic_store(&chunks[i].free_mask, UINT32_MAX >> (32 - CUPTI_BUFFERS_CHUNK));
	rung = bell;
	/* The thread that takes buffers has begun. */
	atomic_store(&chunks_most, count);
	atomic_store(&open_for_records, true);
	return 0;
}

void cupti_buffers_stop(void)
{
	atomic_store(&open_for_records, false);
}

/* Takes the lowest bit out of `mask`, so that few different buffers are used while few are lent. */
static int take_bit(_Atomic uint32_t *mask)
{
	uint32_t old = atomic_load_explicit(mask, memory_order_relaxed);

	while (old != 0) {
		if (atomic_compare_exchange_weak_explicit(mask, &old, old & (old - 1),
							  memory_order_acquire,
							  memory_order_relaxed))
			return __builtin_ctz(old);
	}
	return -1;
}

static void put_bit(_Atomic uint32_t *mask, size_t bit)
{
	atomic_fetch_or_explicit(mask, (uint32_t)1 << bit, memory_order_release);
}

/* Returns the chunk of a buffer; NULL: not a buffer of the pool. */
static struct chunk *chunk_of(const uint8_t *buffer, size_t *ret_index)
{
	for (unsigned i = 0; i < chunks_most; i++) {
		const uint8_t *memory = atomic_load(&chunks[i].memory);

		if (memory == NULL || buffer < memory || buffer >= memory + CHUNK_BYTES)
			continue;
		*ret_index = (size_t)(buffer - memory) / CUPTI_BUFFERS_BYTES;
		return &chunks[i];
	}
	return NULL;
}

/* Lends a buffer.  NULL: all are lent, or there is no memory for more. */
static uint8_t *lend(void)
{
	for (unsigned i = 0; i < chunks_most; i++) {
		struct chunk *chunk = &chunks[i];
		int bit = -1;

		if (atomic_load(&chunk->memory) == NULL && !grow(chunk))
			return NULL;
		bit = take_bit(&chunk->free_mask);
		if (bit >= 0)
			return atomic_load(&chunk->memory) + (size_t)bit * CUPTI_BUFFERS_BYTES;
	}
	return NULL;
}

void cupti_buffers_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most_records)
{
	int saved = errno;
	uint64_t from = hp_now_ns();
	bool open = atomic_load_explicit(&open_for_records, memory_order_relaxed);
	uint8_t *buffer = open ? lend() : NULL;

	*ret_most_records = 0;
	*ret_buffer = buffer != NULL ? buffer : discard;
	*ret_size = buffer != NULL ? CUPTI_BUFFERS_BYTES : CUPTI_BUFFERS_DISCARD_BYTES;
	if (open) {
		atomic_fetch_add_explicit(&requested, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&discarded, buffer == NULL, memory_order_relaxed);
		atomic_fetch_add_explicit(&callback_ns, hp_now_ns() - from, memory_order_relaxed);
	}
	errno = saved;
}

void cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			    size_t valid)
{
	uint64_t from = hp_now_ns();

	(void)context;
	(void)stream;
	(void)size;
	size_t index;
	struct chunk *chunk = chunk_of(buffer, &index);
	if (chunk == NULL || !atomic_load_explicit(&open_for_records, memory_order_relaxed))
		return;
	chunk->valid_bytes[index] = valid <= CUPTI_BUFFERS_BYTES ? valid : CUPTI_BUFFERS_BYTES;
	chunk->came_as[index] = atomic_fetch_add_explicit(&completed, 1, memory_order_relaxed);
	put_bit(&chunk->full_mask, index);
	hp_ring(rung);
	atomic_fetch_add_explicit(&callback_ns, hp_now_ns() - from, memory_order_relaxed);
}

uint8_t *cupti_buffers_take(size_t *ret_valid)
{
	struct chunk *oldest = NULL;
	unsigned index = 0;

	for (unsigned i = 0; i < chunks_most; i++) {
		struct chunk *chunk = &chunks[i];
		uint32_t full = atomic_load_explicit(&chunk->full_mask, memory_order_acquire);

		for (; full != 0; full &= full - 1) {
			unsigned at = (unsigned)__builtin_ctz(full);

			if (oldest != NULL && chunk->came_as[at] >= oldest->came_as[index])
				continue;
			oldest = chunk;
			index = at;
		}
	}
	if (oldest == NULL)
		return NULL;
	atomic_fetch_and_explicit(&oldest->full_mask, ~((uint32_t)1 << index),
				  memory_order_relaxed);
	*ret_valid = oldest->valid_bytes[index];
	return atomic_load(&oldest->memory) + index * CUPTI_BUFFERS_BYTES;
}

void cupti_buffers_put(uint8_t *buffer)
{
	size_t index = 0;
	struct chunk *chunk = chunk_of(buffer, &index);

	if (chunk == &chunks[0] || hp_advise(buffer, CUPTI_BUFFERS_BYTES, MADV_DONTNEED) != 0)
		memset(buffer, 0, CUPTI_BUFFERS_BYTES);
	put_bit(&chunk->free_mask, index);
}

void cupti_buffers_read_counts(struct cupti_buffers_counts *ret)
{
	ret->requested = atomic_load_explicit(&requested, memory_order_relaxed);
	ret->discarded = atomic_load_explicit(&discarded, memory_order_relaxed);
	ret->callback_ns = atomic_load_explicit(&callback_ns, memory_order_relaxed);
}
