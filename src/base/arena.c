/*
 * arena.c - pieces of 1 MiB mappings, in power-of-two sizes with a free list each.
 *
 * Tables live as long as the process, so only pieces above half a mapping are unmapped.
 */
#include "base/arena.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/lock.h"

#include <string.h>

#define CHUNK     ((size_t)1 << 20)
#define MIN_SHIFT 4
#define MAX_SHIFT 20

struct piece {
	struct piece *next;
};

static struct piece *free_lists[MAX_SHIFT]; /* under the lock arena */
static char *chunk;                         /* under the lock arena */
static size_t chunk_left;                   /* under the lock arena */

static void *map(size_t bytes)
{
	void *memory = hp_map(NULL, bytes, PROT_READ | PROT_WRITE, 0);

	if (memory != MAP_FAILED)
		return memory;
	hp_count(arena_refused);
	return NULL;
}

static unsigned shift_of(size_t bytes)
{
	unsigned shift = MIN_SHIFT;

	while (((size_t)1 << shift) < bytes)
		shift++;
	return shift;
}

static void *cut(size_t bytes)
{
	if (chunk_left < bytes) {
		char *fresh = map(CHUNK);

		if (fresh == NULL)
			return NULL;
		chunk = fresh;
		chunk_left = CHUNK;
	}
	chunk_left -= bytes;
	return chunk + chunk_left;
}

void *hp_arena_alloc(size_t bytes)
{
	if (bytes > CHUNK / 2)
		return map(bytes);

	unsigned shift = shift_of(bytes);
	hp_lock(HP_LOCK_arena);
	struct piece *piece = free_lists[shift];
	if (piece != NULL) {
		free_lists[shift] = piece->next;
		memset(piece, 0, (size_t)1 << shift);
	} else {
		piece = cut((size_t)1 << shift);
	}
	hp_unlock(HP_LOCK_arena);
	return piece;
}

void hp_arena_free(void *memory, size_t bytes)
{
	if (memory == NULL)
		return;
	if (bytes > CHUNK / 2) {
		hp_unmap(memory, bytes);
		return;
	}

	struct piece *piece = memory;
	unsigned shift = shift_of(bytes);
	hp_lock(HP_LOCK_arena);
	piece->next = free_lists[shift];
	free_lists[shift] = piece;
	hp_unlock(HP_LOCK_arena);
}
