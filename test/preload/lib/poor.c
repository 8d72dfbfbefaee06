/*
 * poor.c - an allocator with four functions that never frees memory; a block of another allocator
 * ends the process.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM ((size_t)4 << 30)

static char *range;
static size_t used;

static void *take(size_t bytes)
{
	char *mine = __atomic_load_n(&range, __ATOMIC_ACQUIRE);

	if (mine == NULL) {
		char *none = NULL;

		mine = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (!__atomic_compare_exchange_n(&range, &none, mine, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			munmap(mine, ROOM);
			mine = none;
		}
	}
	size_t room = (bytes + 31) & ~(size_t)15;
	size_t at = __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);
	if (bytes > ROOM || at + room > ROOM)
		return NULL;
	memcpy(mine + at, &bytes, sizeof(bytes));
	return mine + at + 16;
}

static void check(const char *address)
{
	if (address < range || address >= range + ROOM)
		abort();
}

#pragma GCC visibility push(default)
void *malloc(size_t bytes)
{
	return take(bytes);
}

void *calloc(size_t count, size_t each)
{
	return take(count * each);
}

void free(void *address)
{
	if (address != NULL)
		check(address);
}

void *realloc(void *address, size_t bytes)
{
	char *block = take(bytes);
	size_t old = 0;

	if (address != NULL) {
		check(address);
		memcpy(&old, (char *)address - 16, sizeof(old));
	}
	if (block != NULL && old != 0)
		memcpy(block, address, old < bytes ? old : bytes);
	return block;
}
#pragma GCC visibility pop
