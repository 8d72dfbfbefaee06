/*
 * Bounce buffers: pageable memory that holds a copy of a source while the driver stages it.
 *
 * A copy holds its buffer during the driver's call.  The driver reads the whole buffer before it
 * returns, so no transfer from a buffer is ever in flight.  Buffers are not pinned, unlike the ring
 * (stage/ring.h).  hotpin maps them on demand, and some stay mapped, because page faults cost more
 * than the copy itself.
 */
#ifndef HP_STAGE_BOUNCE_H
#define HP_STAGE_BOUNCE_H

#include <stdbool.h>
#include <stddef.h>

/* While more than this is mapped, a buffer that is put back is unmapped. */
#define BOUNCE_KEPT_MOST ((size_t)32 << 20)

/* The buffer of one copy.  Used only by the thread that makes the copy. */
struct bounce {
	char *memory; /* NULL: none */
	size_t bytes;
	unsigned slot; /* of bounce.c */
};

/*
 * Takes a buffer of `bytes` or more, at least 1.  Any thread; takes no lock and calls no driver.
 * *ret_kept, if not NULL: the buffer will stay mapped, so a thread must call bounce_age() from time
 * to time.  False: the kernel refuses to map memory (counted).
 */
bool bounce_take(size_t bytes, struct bounce *ret, bool *ret_kept);

/* Puts a buffer back, if it has memory. */
void bounce_put(struct bounce *bounce);

/* Returns how many bytes are mapped now.  One load. */
size_t bounce_mapped(void);

/* Unmaps the buffers that were not used since the previous call.  One thread at a time. */
void bounce_age(void);

/* Unmaps all idle buffers, under memory pressure.  Any thread. */
void bounce_give_back(void);

#endif
