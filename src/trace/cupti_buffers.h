/*
 * The memory that CUPTI writes its records into: lent by a pool, return full.
 *
 * Since CUDA 13.0 every thread of the program fills a buffer of its own, so the buffers are small
 * and the pool grows with the number of threads.  (CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER
 * could turn that off, but then all threads that launch wait for one lock, as before 13.0.)
 *
 * The two callbacks run in the program's threads, under CUPTI's locks: they take no lock, call
 * nothing but the clock and mmap(), and only move a bit from one word to another.
 */
#ifndef HP_TRACE_CUPTI_BUFFERS_H
#define HP_TRACE_CUPTI_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUPTI_BUFFERS_BYTES           ((size_t)1 << 20)
#define CUPTI_BUFFERS_CHUNK           32u /* that are mapped at once */
#define CUPTI_BUFFERS_MOST            1024u

/*
 * The buffer that CUPTI gets where none is free, and how many records it holds at most: no record
 * that we enable is shorter than 48 bytes, in any version.
 */
#define CUPTI_BUFFERS_DISCARD_BYTES   ((size_t)256 << 10)
#define CUPTI_BUFFERS_DISCARD_RECORDS (CUPTI_BUFFERS_DISCARD_BYTES / 48)

struct cupti_buffers_counts {
	uint64_t requested;   /* by CUPTI, since cupti_buffers_start(); 0: it must not be flushed */
	uint64_t discarded;   /* handed the discard buffer: their records are lost */
	uint64_t callback_ns; /* spent in the two callbacks */
};

/* How many buffers there may be on a machine of so much memory: an eighth of it.  Pure. */
unsigned cupti_buffers_most(uint64_t memory_bytes);

/*
 * Maps the first chunk of at most `most` buffers; `bell` is rung by hp_ring() for each buffer that
 * returns.  Returns 0 or -ENOMEM.  Once a process.
 */
int cupti_buffers_start(_Atomic uint32_t *bell, unsigned most);

/* From now on every request gets the discard buffer and what returns is dropped. */
void cupti_buffers_stop(void);

/* CUPTI's callbacks, as cuptiActivityRegisterCallbacks() wants them. */
void cupti_buffers_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most_records);
void cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			    size_t valid);

/*
 * The buffer that returned first, and how many of its bytes are records; NULL: none.  Which copy a
 * record tells of is guessed from their order.  One thread.
 */
uint8_t *cupti_buffers_take(size_t *ret_valid);

/*
 * Clears it (CUPTI has been told that buffers are) and puts it back into the pool.  The memory of a
 * buffer outside the first chunk goes back to the system.
 */
void cupti_buffers_put(uint8_t *buffer);

void cupti_buffers_read_counts(struct cupti_buffers_counts *ret);

#endif
