/*
 * lesson.c - teaches glibc what it would have learnt from our blocks.
 *
 * glibc learns from large blocks that are freed: up to the largest of them, 32 MiB at most, it no
 * longer maps blocks one by one, and it trims its heap at twice as much (mallopt(3),
 * M_MMAP_THRESHOLD).  What we serve would have taught it that.  Without it every buffer of 128 KiB
 * to HOTPIN_HEAP_MIN would be mapped and faulted in anew.
 *
 * It learns when a block that it has mapped is freed.  To allocate one it first joins all its small
 * free blocks: at a program's end, when it frees everything, that took perl a seventh of its time.
 * So one is asked for where ours is, when glibc would have done so, too, and made as long as the
 * lesson is when that is due, which is a system call.
 */
#define _GNU_SOURCE
#include "shim/libc/lesson.h"
#include "real/libc.h"

#include <errno.h>

#define LESSON_LEAST ((size_t)256 << 10)

_Atomic size_t lesson_taught;
void *_Atomic lesson_of_mapped;

void lesson_prepare(void)
{
	size_t before = atomic_load(&lesson_taught);
	void *none = NULL, *block;
	int saved = errno;

	block = real_libc.malloc(before < LESSON_LEAST ? LESSON_LEAST : 2 * before);
	if (!atomic_compare_exchange_strong(&lesson_of_mapped, &none, block))
		real_libc.free(block);
	errno = saved;
}

void lesson_end(void)
{
	void *block = atomic_exchange(&lesson_of_mapped, NULL);

	if (block != NULL)
		real_libc.free(block);
}

void lesson_teach(void)
{
	size_t most = atomic_load_explicit(&heap_freed_most, memory_order_relaxed);
	size_t lesson = LESSON_MOST;

	while (lesson > most)
		lesson /= 2;
	if (lesson <= atomic_load(&lesson_taught))
		return;
	void *block = atomic_exchange(&lesson_of_mapped, NULL), *longer;
	if (block == NULL)
		return;
	int saved = errno;
	atomic_store(&lesson_taught, lesson);
	longer = real_libc.realloc(block, lesson);
	real_libc.free(longer != NULL ? longer : block);
	errno = saved;
}
