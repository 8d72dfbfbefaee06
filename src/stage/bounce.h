/*
 * Bounce buffers: pageable memory that holds a copy of a source while the driver stages it.
 *
 * A copy holds its buffer while the program's call is inside the driver, which reads all of it
 * before it returns.  So nothing is ever in flight, and buffers are no part of the pool of pinned
 * memory (stage/pool.h).  Buffers are mapped on demand: every copy has one as long as the process
 * can map memory.  Some stay mapped, since page faults cost more than the copy itself.
 */
#ifndef HP_STAGE_BOUNCE_H
#define HP_STAGE_BOUNCE_H

#include <stdbool.h>
#include <stddef.h>

/* A buffer that is put back is unmapped when more than this is mapped. */
#define BOUNCE_KEPT_MOST ((size_t)32 << 20)

struct bounce {
	char *memory; /* NULL: none */
	size_t bytes;
	unsigned slot; /* of bounce.c */
};

/*
 * Takes a buffer of `bytes` or more, at least 1.  Any thread; takes no lock and calls no driver.
 * *ret_kept, if not NULL, says whether memory has been mapped that will stay: then somebody must
 * call bounce_age() from time to time.  False: the kernel refuses to map memory (counted).
 */
bool bounce_take(size_t bytes, struct bounce *ret, bool *ret_kept);

/* Puts a buffer back, if it has memory. */
void bounce_put(struct bounce *bounce);

/* Returns how many bytes are mapped now.  One load. */
size_t bounce_mapped(void);

/* Unmaps the idle buffers that nobody has used since the call before.  One thread at a time. */
void bounce_age(void);

/* Memory is short: unmaps all idle buffers.  Any thread. */
void bounce_give_back(void);

#endif
