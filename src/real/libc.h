/*
 * The next definition, behind hotpin's own, of each libc function.
 *
 * Some functions are declared for _GNU_SOURCE only: includers define it.
 */
#ifndef HP_REAL_LIBC_H
#define HP_REAL_LIBC_H

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <unistd.h>

/* Every glibc exports these; no header declares them. */
void __libc_free(void *address);
void *__libc_realloc(void *address, size_t bytes);

/* Some headers declare these: cfree() until glibc 2.26, the others since C23. */
void cfree(void *address);
void free_sized(void *address, size_t bytes);
void free_aligned_sized(void *address, size_t alignment, size_t bytes);

/* glibc 2.36 declares the first function, libnuma the others. */
ssize_t process_madvise(int process, const struct iovec *ranges, size_t count, int advice,
			unsigned flags);
long mbind(void *address, unsigned long bytes, int policy, const unsigned long *nodes,
	   unsigned long nodes_most, unsigned flags);
long move_pages(int pid, unsigned long count, void **pages, const int *nodes, int *ret_nodes,
		int flags);

#if !__GLIBC_PREREQ(2, 33)
struct mallinfo2 {
	size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks,
		keepcost;
};
struct mallinfo2 mallinfo2(void);
#endif

/*
 * A member is NULL if libc lacks the function, and until real_libc_find().  Threads that find the
 * functions at once store the same values.
 */
struct real_libc {
#define LIBC(name, version) __typeof__(name) *name;
#include "real/libc.def"
};
extern struct real_libc real_libc;

/*
 * Finds every function of real_libc.  May call dlsym().  False: dlsym() was not found, or this
 * thread is finding the functions.  Any thread, any time.
 */
bool real_libc_find(void);

#endif
