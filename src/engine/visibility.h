/*
 * Host-visible device work: work that the host, another process or another device can observe
 * without a driver call that hotpin intercepts.  While there may be such work, no synchronous copy
 * returns early.
 *
 * The rules, by what the program has done:
 *	pinned       it has host memory from cuMemHostAlloc() and its kind, or registered some, and
 *	             has not freed or unregistered all of it
 *	managed      it has allocated managed memory, or the device reads the host's own pages (HMM)
 *	graph        it has made a graph that copies from or to host memory, or has copied
 *	             asynchronously while a capture was active
 *	callback     it has ever enqueued a host function, or made a graph node of one
 *	shared       it has exported, imported or mapped memory of other processes or devices
 *	external     it has used graphics, external memory or semaphores, or GPUDirect
 *	memory_ops   it has ever made a stream write or wait for a word in memory
 *	sync_memops  it has requested that copies wait: CU_CTX_SYNC_MEMOPS, or the pointer attribute
 *	printf       a kernel that can print has been launched (synchronous copies flush its
 *	             output), or the size of the buffer that kernels print into was set
 *	green        it has made a green context
 *	untracked    a function that we do not know was called, or libraries were loaded whose
 *	             calls may bypass hotpin
 */
#ifndef HP_ENGINE_VISIBILITY_H
#define HP_ENGINE_VISIBILITY_H

#include "real/real.h"

#include <stdatomic.h>
#include <stdbool.h>

/*
 * A bit for each enum real_visibility that is in force; 0: none is.  Any thread reads it.
 *
 * Work that the host can see may also write the source of a later copy: by itself, by a host
 * function, or by a thread of the program that it releases.
 */
extern _Atomic uint32_t visibility_now;

/* Sets a rule for the rest of the process.  Called before the driver's call. */
void visibility_raise(enum real_visibility how);

/* Called before a context is created with these flags, or gets them. */
void visibility_flags(unsigned flags);

/*
 * Adds `by` to the count of memory that the program has pinned.  Called before the driver pins
 * memory, and after it has unpinned some.
 */
void visibility_pinned(int by);

/* Counts a copy that must not return early, under the first rule that applies. */
void visibility_count(void);

/* In the child of fork(), where there is no device. */
void visibility_after_fork_child(void);

#endif
