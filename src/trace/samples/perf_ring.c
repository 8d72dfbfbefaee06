/*
 * perf_ring.c - a record may wrap around the end of the buffer, and its sizes are checked.
 */
#include "trace/samples/perf_ring.h"

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/* The longest record that is decoded: a chain with a marker for each context. */
#define WORDS_MOST  64

/*
 * perf_event.h: entries from here up are not addresses, but name the context of the addresses that
 * follow.
 */
#define CONTEXT_MIN ((uint64_t)-4095)

static void copy_out(const uint8_t *data, size_t bytes, uint64_t at, void *to, size_t length)
{
	size_t from = (size_t)(at & (bytes - 1));
	size_t first = length < bytes - from ? length : bytes - from;

	memcpy(to, data + from, first);
	memcpy((uint8_t *)to + first, data, length - first);
}

/* Decodes a sample.  `words`: the time, the number of addresses, the addresses. */
static void decode_sample(const uint64_t *words, size_t count, struct perf_ring_sums *sums,
			  perf_ring_fn each, void *arg)
{
	uint64_t chain[PERF_RING_CHAIN_MOST];
	size_t entries = count > 1 ? count - 2 : 0, depth = 0;
	bool user = false;

	sums->samples++;
	if (count > 1 && words[1] < entries)
		entries = (size_t)words[1];
	for (size_t i = 2; i < entries + 2 && depth < PERF_RING_CHAIN_MOST; i++) {
		if (words[i] >= CONTEXT_MIN)
			user = words[i] == (uint64_t)PERF_CONTEXT_USER;
		else if (user)
			chain[depth++] = words[i];
	}
	if (depth > 0)
		each(words[0], chain, depth, arg);
	else
		sums->empty++;
}

void perf_ring_decode(const uint8_t *data, size_t bytes, uint64_t tail, uint64_t head,
		      struct perf_ring_sums *sums, perf_ring_fn each, void *arg)
{
	uint64_t words[WORDS_MOST];
	struct perf_event_header header;

	if (head - tail > bytes) {
		sums->broken++;
		return;
	}
	for (; tail < head; tail += header.size) {
		size_t left = (size_t)(head - tail);

		if (left >= sizeof(header))
			copy_out(data, bytes, tail, &header, sizeof(header));
		if (left < sizeof(header) || header.size < sizeof(header) || header.size > left) {
			sums->broken++;
			return;
		}
		size_t count = (header.size - sizeof(header)) / sizeof(*words);
		count = count < WORDS_MOST ? count : WORDS_MOST;
		copy_out(data, bytes, tail + sizeof(header), words, count * sizeof(*words));
		if (header.type == PERF_RECORD_SAMPLE)
			decode_sample(words, count, sums, each, arg);
		else if (header.type == PERF_RECORD_LOST && count >= 2)
			sums->lost += words[1];
		else if (header.type == PERF_RECORD_LOST_SAMPLES && count >= 1)
			sums->lost += words[0];
	}
}

void perf_ring_drain(const struct perf_ring *ring, struct perf_ring_sums *sums, perf_ring_fn each,
		     void *arg)
{
	uint64_t head = atomic_load_explicit(ring->head, memory_order_acquire);
	uint64_t tail = atomic_load_explicit(ring->tail, memory_order_relaxed);

	perf_ring_decode(ring->data, ring->bytes, tail, head, sums, each, arg);
	atomic_store_explicit(ring->tail, head, memory_order_release);
}
