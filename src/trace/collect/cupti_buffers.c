/*
 * cupti_buffers.c - a reserved range of addresses; the memory of a buffer is used once it is lent.
 *
 * CUPTI before CUDA 12.9 crashes if a request gets NULL.  So when all buffers are lent, CUPTI gets
 * the discard buffer, which several threads may share and hotpin never reads.
 */
#include "trace/collect/cupti_buffers.h"
#include "base/clock.h"
#include "base/kernel.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/* A fresh buffer is not accessible yet. */
enum { FRESH, FREE, LENT, FULL };

static struct buffer {
	_Atomic unsigned state;
	size_t valid_bytes; /* guarded by the holder of the buffer */
	uint64_t came_as;   /* sequence number of its return; by the holder */
} buffers[CUPTI_BUFFERS_MOST];

static uint8_t *pool, *discard; /* constant after cupti_buffers_start() */
static _Atomic uint32_t *rung;  /* constant after cupti_buffers_start() */
static _Atomic unsigned count;  /* constant after cupti_buffers_start() */

/* Any thread. */
static _Atomic bool open_for_records;
static _Atomic uint64_t requested, completed, discarded, callback_ns;

unsigned cupti_buffers_most(uint64_t memory_bytes)
{
	uint64_t most = memory_bytes / 8 / CUPTI_BUFFERS_BYTES;

	return most < CUPTI_BUFFERS_LEAST  ? CUPTI_BUFFERS_LEAST
	       : most > CUPTI_BUFFERS_MOST ? CUPTI_BUFFERS_MOST
					   : (unsigned)most;
}

int cupti_buffers_start(_Atomic uint32_t *bell, unsigned most)
{
	discard = hp_map(NULL, CUPTI_BUFFERS_DISCARD_BYTES, PROT_READ | PROT_WRITE, MAP_NORESERVE);
	pool = hp_map(NULL, most * CUPTI_BUFFERS_BYTES, PROT_NONE, MAP_NORESERVE);
	if (discard == MAP_FAILED || pool == MAP_FAILED)
		return -ENOMEM;
	rung = bell;
	/* The thread that takes buffers has begun. */
	atomic_store(&count, most);
	atomic_store(&open_for_records, true);
	return 0;
}

void cupti_buffers_stop(void)
{
	atomic_store(&open_for_records, false);
}

static uint8_t *memory_of(size_t index)
{
	return pool + index * CUPTI_BUFFERS_BYTES;
}

/* Returns the buffer with this memory; NULL: not a buffer of the pool. */
static struct buffer *buffer_of(const uint8_t *memory)
{
	return memory >= pool && memory < memory_of(count)
		       ? &buffers[(size_t)(memory - pool) / CUPTI_BUFFERS_BYTES]
		       : NULL;
}

/*
 * Lends the first free buffer, so that few different buffers are used while few are lent.  NULL:
 * all are lent, or there is no memory for more.
 */
static uint8_t *lend(void)
{
	for (size_t i = 0; i < count; i++) {
		unsigned state = atomic_load_explicit(&buffers[i].state, memory_order_relaxed);

		if (state > FREE ||
		    !atomic_compare_exchange_strong(&buffers[i].state, &state, LENT))
			continue;
		if (state == FREE ||
		    hp_protect(memory_of(i), CUPTI_BUFFERS_BYTES, PROT_READ | PROT_WRITE) == 0)
			return memory_of(i);
		atomic_store(&buffers[i].state, FRESH);
		return NULL;
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
	struct buffer *full = buffer_of(buffer);
	if (full == NULL || !atomic_load_explicit(&open_for_records, memory_order_relaxed))
		return;
	full->valid_bytes = valid <= CUPTI_BUFFERS_BYTES ? valid : CUPTI_BUFFERS_BYTES;
	full->came_as = atomic_fetch_add_explicit(&completed, 1, memory_order_relaxed);
	atomic_store_explicit(&full->state, FULL, memory_order_release);
	hp_ring(rung);
	atomic_fetch_add_explicit(&callback_ns, hp_now_ns() - from, memory_order_relaxed);
}

uint8_t *cupti_buffers_take(size_t *ret_valid)
{
	struct buffer *oldest = NULL;

	for (size_t i = 0; i < count; i++)
		if (atomic_load_explicit(&buffers[i].state, memory_order_acquire) == FULL &&
		    (oldest == NULL || buffers[i].came_as < oldest->came_as))
			oldest = &buffers[i];
	if (oldest == NULL)
		return NULL;
	*ret_valid = oldest->valid_bytes;
	atomic_store_explicit(&oldest->state, LENT, memory_order_relaxed);
	return memory_of((size_t)(oldest - buffers));
}

void cupti_buffers_put(uint8_t *buffer)
{
	if (buffer < memory_of(CUPTI_BUFFERS_LEAST) ||
	    hp_advise(buffer, CUPTI_BUFFERS_BYTES, MADV_DONTNEED) != 0)
		memset(buffer, 0, CUPTI_BUFFERS_BYTES);
	atomic_store_explicit(&buffer_of(buffer)->state, FREE, memory_order_release);
}

void cupti_buffers_read_counts(struct cupti_buffers_counts *ret)
{
	ret->requested = atomic_load_explicit(&requested, memory_order_relaxed);
	ret->discarded = atomic_load_explicit(&discarded, memory_order_relaxed);
	ret->callback_ns = atomic_load_explicit(&callback_ns, memory_order_relaxed);
}
