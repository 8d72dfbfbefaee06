/*
 * Memory of the calling thread, for what is too large for a thread-local variable.
 *
 * All thread-local variables of the library must fit into what the loader has left for it once the
 * TLS of a process is laid out, which an auditing library (LD_AUDIT) causes early.
 */
#ifndef HP_TRACE_THREAD_MEMORY_H
#define HP_TRACE_THREAD_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>

/* A static variable for each use. */
struct thread_memory {
	size_t bytes; /* constant after the first use */
	struct thread_memory_block *_Atomic blocks, *_Atomic looked_at;
};

/*
 * Returns memory that belongs to the calling thread until it ends; call it once a thread.  The
 * memory is zeroed, or as a thread that has ended has left it.  NULL: there is none now, or this
 * thread holds a lock.  errno is kept.  Not for children of fork(), where no thread has the id of
 * the one that called fork().
 */
void *thread_memory_take(struct thread_memory *of);

/* Returns the memory of the next thread, or the first if `memory` is NULL; NULL: there is none. */
void *thread_memory_next(const struct thread_memory *of, const void *memory);

#endif
