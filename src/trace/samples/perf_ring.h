/*
 * The records of a perf event's ring buffer, decoded.  Pure: linux/perf_event.h is the format.
 *
 * The signal of HOTPIN_SAMPLE=signal writes the same records, so there is one decoder.
 */
#ifndef HP_TRACE_SAMPLES_PERF_RING_H
#define HP_TRACE_SAMPLES_PERF_RING_H

#include <stddef.h>
#include <stdint.h>

#define PERF_RING_CHAIN_MOST 12 /* addresses of a sample: the leaf and 11 callers */

/* A ring has one writer, which moves *head, and one reader, which moves *tail. */
struct perf_ring {
	_Atomic uint64_t *head, *tail;
	uint8_t *data;
	size_t bytes; /* of `data`, a power of two */
};

struct perf_ring_sums {
	uint64_t samples;
	uint64_t lost;   /* samples that the ring had no room for */
	uint64_t empty;  /* samples without an address in user space */
	uint64_t broken; /* records of an invalid size: the rest of the ring was skipped */
};

/*
 * Takes a sample at `now_ns` of base/clock.h.  `chain` holds the sampled instruction, then return
 * addresses, innermost first.
 */
typedef void (*perf_ring_fn)(uint64_t now_ns, const uint64_t *chain, size_t depth, void *arg);

/* Decodes the records between `tail` and `head`, and adds to `sums`. */
void perf_ring_decode(const uint8_t *data, size_t bytes, uint64_t tail, uint64_t head,
		      struct perf_ring_sums *sums, perf_ring_fn each, void *arg);

/* Decodes the records written so far and frees their room in the ring. */
void perf_ring_drain(const struct perf_ring *ring, struct perf_ring_sums *sums, perf_ring_fn each,
		     void *arg);

#endif
