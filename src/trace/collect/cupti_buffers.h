/*
 * The buffers that CUPTI writes its records into: a pool lends them, and CUPTI returns them full.
 *
 * Since CUDA 13.0 every thread of the program fills its own buffer.  So the buffers are small and
 * the pool grows with the number of threads.  (CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER could
 * turn that off, but then all threads that launch wait for one lock, as before 13.0.)
 *
 * The two callbacks run in the program's threads, under CUPTI's locks: they take no lock, call
 * nothing but the clock and mprotect(), and only change the state of a buffer.
 */
#ifndef HP_TRACE_COLLECT_CUPTI_BUFFERS_H
#define HP_TRACE_COLLECT_CUPTI_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#define CUPTI_BUFFERS_BYTES           ((size_t)1 << 20)
#define CUPTI_BUFFERS_MOST            1024u
#define CUPTI_BUFFERS_LEAST           32u /* the pool has so many at least, and keeps their memory */

/*
 * The size of the discard buffer, which CUPTI gets if no other buffer is free, and its largest
 * number of records.  No record that we enable is shorter than 48 bytes, in any version.
 */
#define CUPTI_BUFFERS_DISCARD_BYTES   ((size_t)256 << 10)
#define CUPTI_BUFFERS_DISCARD_RECORDS (CUPTI_BUFFERS_DISCARD_BYTES / 48)

struct cupti_buffers_counts {
	uint64_t requested;   /* by CUPTI, since cupti_buffers_start(); 0: do not flush CUPTI */
	uint64_t discarded;   /* requests that got the discard buffer: these records are lost */
	uint64_t callback_ns; /* time in the two callbacks */
};

/* The limit of buffers on a machine with so much memory: they take an eighth of it.  Pure. */
unsigned cupti_buffers_most(uint64_t memory_bytes);

/*
 * Reserves addresses for `most` buffers.  hp_ring() rings `bell` for each buffer that returns.
 * Returns 0 or -ENOMEM.  Once a process.
 */
int cupti_buffers_start(_Atomic uint32_t *bell, unsigned most);

/* From now on every request gets the discard buffer, and returned buffers are dropped. */
void cupti_buffers_stop(void);

/* The callbacks for cuptiActivityRegisterCallbacks(). */
void cupti_buffers_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_most_records);
void cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			    size_t valid);

/*
 * Returns the buffer that CUPTI returned first, and the number of its bytes that are records.
 * NULL: none.  One thread.
 */
uint8_t *cupti_buffers_take(size_t *ret_valid);

/*
 * Clears the buffer, since hotpin has told CUPTI that buffers are zeroed, and puts it back into the
 * pool.  The memory of a buffer after the first CUPTI_BUFFERS_LEAST goes back to the system.
 */
void cupti_buffers_put(uint8_t *buffer);

/* Copies the counts.  Any thread, no lock. */
void cupti_buffers_read_counts(struct cupti_buffers_counts *ret);

#endif
