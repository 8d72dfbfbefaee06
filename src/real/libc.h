/*
 * The next definition behind ours of each libc function.
 *
 * Some are declared for _GNU_SOURCE only, so whoever includes this defines it.
 */
#ifndef HP_REAL_LIBC_H
#define HP_REAL_LIBC_H

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/uio.h>

/* In every glibc, in no header. */
void __libc_free(void *address);
void *__libc_realloc(void *address, size_t bytes);

/* C23 and the last century: declared by some. */
void cfree(void *address);
void free_sized(void *address, size_t bytes);
void free_aligned_sized(void *address, size_t alignment, size_t bytes);

/* Of glibc 2.36, and of libnuma. */
ssize_t process_madvise(int process, const struct iovec *ranges, size_t count, int advice,
			unsigned flags);
long mbind(void *address, unsigned long bytes, int policy, const unsigned long *nodes,
	   unsigned long nodes_most, unsigned flags);
long move_pages(int pid, unsigned long count, void **pages, const int *nodes, int *ret_nodes,
		int flags);

/* NULL where libc has none, and until somebody has looked. */
struct real_libc {
#define LIBC(name, version) __typeof__(name) *name;
#include "real/libc.def"
};
extern struct real_libc real_libc;

#endif
