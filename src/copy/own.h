/*
 * Pinned memory of our own, which other buffers' bytes pass through.
 *
 * Each part is registered in the context that first wants it, and kept by the process.
 */
#ifndef HP_COPY_OWN_H
#define HP_COPY_OWN_H

#include "real/real.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * May there be so much?  Neither where address space is rationed nor where memory is short.  Some
 * system calls.
 */
bool own_is_room(size_t bytes);

/*
 * Address space at a multiple of 2 MiB, in such pages where the system gives them; `bytes` is a
 * multiple of that, too.  A child of fork() does not inherit it: the kernel would copy pinned pages
 * at once.  NULL: there is none.
 */
char *own_map(size_t bytes);

/*
 * Pins it, for all contexts, until the current one ends.  May be called beside captures.  Returns
 * what the driver says.
 */
CUresult own_register(char *memory, size_t bytes);

/* The context's number: its address may be another's one day.  0: not known. */
unsigned long long own_context_id(CUcontext context);

#endif
