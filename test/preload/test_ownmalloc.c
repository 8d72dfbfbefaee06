/*
 * test_ownmalloc.c - a program with its own allocator, for example linked with jemalloc statically:
 * our malloc() is never called, so nothing may be pinned.
 */
#include "promote.h"

#include <sys/mman.h>

/* Never frees; it owns every address of this range. */
static char *range;
static size_t used;
static _Atomic int calls;

/* In a thread that sets this, small zeroed allocations fail. */
static __thread bool poor;

static void *take(size_t alignment, size_t bytes)
{
	if (range == NULL)
		range = mmap(NULL, 1024 * MIB, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	calls++;
	if (alignment < 16)
		alignment = 16;
	size_t at = (__atomic_fetch_add(&used, bytes + alignment + 16, __ATOMIC_RELAXED) + 16 +
		     alignment - 1) /
		    alignment * alignment;
	if (at + bytes > 1024 * MIB)
		return NULL;
	memcpy(range + at - 8, &bytes, 8);
	return range + at;
}

#pragma GCC visibility push(default)
void *malloc(size_t bytes)
{
	return take(16, bytes);
}

void free(void *address)
{
	if (address != NULL && ((char *)address < range || (char *)address >= range + 1024 * MIB))
		abort(); /* a block of another allocator was passed here */
}

void *calloc(size_t count, size_t each)
{
	return poor && count * each <= 32 ? NULL : take(16, count * each);
}

void *realloc(void *address, size_t bytes)
{
	void *block = take(16, bytes);
	size_t old = 0;

	if (address != NULL)
		memcpy(&old, (char *)address - 8, 8);
	if (block != NULL && address != NULL)
		memcpy(block, address, old < bytes ? old : bytes);
	return block;
}

void *memalign(size_t alignment, size_t bytes)
{
	return take(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return take(alignment, bytes);
}

int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	*ret = take(alignment, bytes);
	return *ret != NULL ? 0 : 12;
}

size_t malloc_usable_size(void *address)
{
	size_t bytes;

	memcpy(&bytes, (char *)address - 8, 8);
	return bytes;
}
#pragma GCC visibility pop

TEST(its_memory_is_its_own)
{
	int before = calls;

	begin();
	CHECK(calls > before); /* the driver's allocations also come here */
	for (unsigned i = 0; i < 30; i++) {
		char *block = malloc(4 * MIB);

		fill(block, 4 * MIB, i);
		for (int n = 0; n < 4; n++)
			OK(cuMemcpyHtoD_v2(there, block, 4 * MIB));
		CHECK_EQ(standin_pinned(block), 0);
		memset(block, 0, 4 * MIB);
		OK(cuMemcpyDtoHAsync_v2(block, there, 4 * MIB, NULL));
		CHECK(holds(block, 4 * MIB, i));
		block = realloc(block, 5 * MIB);
		CHECK(holds(block, 4 * MIB, i));
		free(block);
	}
	/* Only the ring is registered. */
	CHECK(standin_registrations() <= (preloaded() ? 1 : 0));
}

static void *copy_in_need(void *unused)
{
	char block[KIB];

	(void)unused;
	fill(block, sizeof(block), 7);
	OK(cuCtxSetCurrent(context));
	poor = true;
	for (int i = 0; i < 8; i++)
		OK(cuMemcpyHtoD_v2_ptds(there, block, sizeof(block)));
	poor = false;
	return NULL;
}

TEST_AFTER(nobody_dies_in_need, begin())
{
	check_in_thread(copy_in_need, NULL);
	CHECK(device_holds(there, KIB, 7));
}

PRELOAD_MAIN()
