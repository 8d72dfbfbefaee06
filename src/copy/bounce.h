/*
 * Bounce buffers: pageable memory that a copy's source is copied to, from where the driver stages
 * it inside the program's call.
 *
 * A copy holds its buffer while it is inside the driver.  Buffers are made on demand, so every copy
 * has one as long as the process can map memory.  Some stay mapped for the next copies, since page
 * faults in fresh memory cost more than the copy itself.
 */
#ifndef HP_COPY_BOUNCE_H
#define HP_COPY_BOUNCE_H

#include <stdbool.h>
#include <stddef.h>

/* Idle buffers are unmapped when more than this is mapped. */
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

/* Gives it back.  Does nothing for one without memory. */
void bounce_put(struct bounce *bounce);

/* Returns how many bytes are mapped now.  One load. */
size_t bounce_mapped(void);

/* Unmaps the idle buffers that nobody has used since the call before.  One thread at a time. */
void bounce_age(void);

/* Memory is short: unmaps all idle buffers.  Any thread. */
void bounce_give_back(void);

#endif
