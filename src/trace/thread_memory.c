/*
 * thread_memory.c - blocks with an owner.  A block whose thread has ended gets another owner.
 */
#include "trace/thread_memory.h"
#include "base/arena.h"
#include "base/lock.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOKED 4 /* blocks that a new thread looks at */

struct thread_memory_block {
	struct thread_memory_block *next; /* constant */
	/* Thread id, and above it how often the block changed hands: ids are used again. */
	_Atomic uint64_t owner;
	_Alignas(16) char memory[];
};

/* True if `tid` is no thread of this process. */
static bool has_ended(pid_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) < 0 && errno == ESRCH;
}

static bool take_over(struct thread_memory_block *block, pid_t self)
{
	uint64_t owner = atomic_load(&block->owner);
	pid_t tid = (pid_t)(uint32_t)owner;

	return (tid == self || has_ended(tid)) &&
	       atomic_compare_exchange_strong(&block->owner, &owner,
					      ((owner >> 32) + 1) << 32 | (uint32_t)self);
}

static struct thread_memory_block *find_left_block(struct thread_memory *of, pid_t self)
{
	struct thread_memory_block *block = atomic_load(&of->looked_at);

	for (unsigned i = 0; i < LOOKED; i++) {
		block = block != NULL && block->next != NULL ? block->next
							     : atomic_load(&of->blocks);
		if (block == NULL)
			return NULL;
		atomic_store(&of->looked_at, block);
		if (take_over(block, self))
			return block;
	}
	return NULL;
}

static void *take(struct thread_memory *of)
{
	/* A signal handler may have interrupted hp_arena_alloc(). */
	if (hp_locks_are_held())
		return NULL;
	pid_t self = (pid_t)syscall(SYS_gettid);
	struct thread_memory_block *block = find_left_block(of, self);

	if (block != NULL)
		return block->memory;
	block = hp_arena_alloc(sizeof(*block) + of->bytes);
	if (block == NULL)
		return NULL;
	atomic_store(&block->owner, (uint32_t)self);
	block->next = atomic_load(&of->blocks);
	while (!atomic_compare_exchange_weak(&of->blocks, &block->next, block))
		;
	return block->memory;
}

void *thread_memory_take(struct thread_memory *of)
{
	int saved = errno;
	void *memory = take(of);

	errno = saved;
	return memory;
}

void *thread_memory_next(const struct thread_memory *of, const void *memory)
{
	const size_t head = offsetof(struct thread_memory_block, memory);
	struct thread_memory_block *block =
		memory == NULL
			? atomic_load(&of->blocks)
			: ((const struct thread_memory_block *)((const char *)memory - head))->next;

	return block != NULL ? block->memory : NULL;
}
