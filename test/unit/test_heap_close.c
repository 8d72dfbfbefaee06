/*
 * test_heap_close.c - a heap that releases its addresses while some of its blocks are in use.
 */
#include "heap/cache.h"
#include "heap/map.h"
#include "heap/pages.h"
#include "heap/reclaim.h"
#include "heap_helpers.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_mapped(const void *address)
{
	unsigned char in_core;

	return mincore((void *)((uintptr_t)address & -(uintptr_t)4096), 1, &in_core) == 0;
}

TEST(what_is_free_goes_and_the_rest_stays)
{
	size_t before = memory_mapped();
	char *blocks[5];

	heap_set_device(true);
	for (int i = 0; i < 5; i++)
		memset(blocks[i] = heap_alloc(4 * MIB, WHOLE(4 * MIB), false, 0), 'a' + i, 4 * MIB);
	CHECK_EQ(heap_free(blocks[1]), 0);
	CHECK_EQ(heap_free(blocks[4]), 0);
	CHECK_EQ(kept(), 8 * MIB);
	CHECK(memory_mapped() > before + 60 * GIB);
	errno = 17;
	heap_close();
	CHECK_EQ(errno, 17);
	CHECK_EQ(heap_check(), 0);
	CHECK_EQ(kept(), 0);
	CHECK_EQ(live(), 12 * MIB);
	CHECK(memory_mapped() < before + 12 * MIB + 3 * MIB + 4 * MIB);
	CHECK(!is_mapped(blocks[1]) && !is_mapped(blocks[4]));
	CHECK(!heap_holds(blocks[4]));
	for (int i = 0; i < 5; i++)
		CHECK(i == 1 || i == 4 || all_are(blocks[i], 4 * MIB, (char)('a' + i)));

	/* Nothing new is allocated; existing blocks can still be freed. */
	CHECK(heap_alloc(MIB, 0, false, 0) == NULL);
	CHECK(heap_alloc(4 * MIB, 0, true, 0) == NULL);
	heap_set_device(true);
	CHECK(heap_alloc(MIB, 0, false, 0) == NULL);
	CHECK(!heap_resize(blocks[2], 8 * MIB));
	CHECK(heap_move(blocks[2], 8 * MIB) == NULL);
	CHECK(heap_resize(blocks[2], 3 * MIB));
	CHECK(is_mapped(blocks[2]) && !is_mapped(blocks[2] + 4 * MIB - 1));
	CHECK_EQ(heap_free(blocks[0]), 0);
	CHECK(!is_mapped(blocks[0]) && !is_mapped(blocks[0] + 4 * MIB - 1));
	CHECK_EQ(heap_free(blocks[0]), -EINVAL);
	CHECK_EQ(heap_free(blocks[1]), -EINVAL);
	CHECK_EQ(heap_check(), 0);

	/* Other code may use the addresses. */
	char *other = mmap(blocks[1], 4 * MIB, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(other == blocks[1]);
	memset(other, 'z', 4 * MIB);
	heap_close();
	CHECK_EQ(heap_free(blocks[2]), 0);
	CHECK_EQ(heap_free(blocks[3]), 0);
	CHECK(all_are(other, 4 * MIB, 'z'));
	CHECK_EQ(live() + kept(), 0);
	CHECK_EQ(heap_check(), 0);
}

static bool watches_unmapping;
static unsigned unmapped, held_too_long;

/* Replaces libc's, by which hotpin unmaps: from the call on others may have the addresses. */
long syscall(long number, ...)
{
	va_list rest;
	long arguments[6], result;

	va_start(rest, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(rest, long);
	va_end(rest);
	if (watches_unmapping && number == SYS_munmap) {
		const char *from = (const char *)arguments[0];

		unmapped++;
		held_too_long += heap_holds(from) || heap_holds(from + arguments[1] - 1);
	}
	register long r10 __asm__("r10") = arguments[3];
	register long r8 __asm__("r8") = arguments[4];
	register long r9 __asm__("r9") = arguments[5];
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]),
			   "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if (result >= -4095 && result < 0) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

/* Otherwise free() of another thread's memory there would end the process. */
TEST(addresses_are_given_away_before_they_are_unmapped)
{
	char *blocks[2];

	heap_set_device(true);
	for (int i = 0; i < 2; i++)
		memset(blocks[i] = heap_alloc(4 * MIB, WHOLE(4 * MIB), false, 0), 'a', 4 * MIB);
	CHECK_EQ(heap_free(blocks[0]), 0);
	watches_unmapping = true;
	heap_close();
	CHECK(heap_resize(blocks[1], 2 * MIB));
	CHECK_EQ(heap_free(blocks[1]), 0);
	CHECK(unmapped >= 3);
	CHECK_EQ(held_too_long, 0);
	watches_unmapping = false;
	CHECK_EQ(heap_check(), 0);
}

static int mapped_again;

static void *refuse_to_map(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	(void)at, (void)bytes, (void)protection, (void)flags, (void)fd, (void)offset;
	mapped_again++;
	return MAP_FAILED;
}

/* Blocks that realloc() grows have addresses to grow into.  mlockall() would fill them. */
HEAP_TEST(a_block_in_use_keeps_what_it_uses)
{
	char *block = heap_alloc(4 * MIB, WHOLE(4 * MIB), false, 0);
	memset(block, 7, 4 * MIB);
	block = heap_move(block, 8 * MIB);
	if (!CHECK(block != NULL && is_mapped(block + 31 * MIB)))
		return;
	pages_go_by(NULL, refuse_to_map);
	heap_close();
	CHECK(is_mapped(block + 8 * MIB - 1) && !is_mapped(block + 8 * MIB));
	CHECK(all_are(block, 4 * MIB, 7));
	CHECK(!heap_resize(block, 9 * MIB));
	CHECK_EQ(heap_check(), 0);

	char *other = mmap(block + 8 * MIB, MIB, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(other == block + 8 * MIB);
	memset(other, 'z', MIB);
	CHECK(heap_holds(block + 8 * MIB - 1) && !heap_holds(other));
	CHECK_EQ(heap_free(other), -EINVAL);
	CHECK_EQ(heap_free(block), 0);
	CHECK(!is_mapped(block) && !is_mapped(block + 8 * MIB - 1));
	CHECK(all_are(other, MIB, 'z'));
	/* Nothing is mapped, even for a moment: it might be locked into memory. */
	CHECK_EQ(mapped_again, 0);
}

HEAP_TEST(pages_stay_while_they_are_registered)
{
	char *memory = heap_alloc(4 * MIB, WHOLE(4 * MIB), false, 0);
	struct block *block = range_find(memory);

	memset(memory, 7, 4 * MIB);
	CHECK(word_try_pin(&block->word) && word_release(&block->word, true, NULL));
	CHECK_EQ(heap_free(memory), 0);
	heap_close();
	/* The driver does not let go of it. */
	CHECK(heap_take_due() == block);
	heap_return(block);
	CHECK(is_mapped(memory) && all_are(memory, 4 * MIB, 7));

	CHECK(heap_take_due() == block);
	CHECK(word_try_unpin(&block->word) && heap_release(block, false, NULL));
	heap_return(block);
	CHECK(!is_mapped(memory));
}

TEST(nothing_is_left_of_an_empty_one)
{
	size_t before = memory_mapped();

	char *block = heap_alloc(MIB, 0, false, 0);
	CHECK_EQ(heap_free(block), 0);
	heap_close();
	CHECK(!heap_holds(block));
	CHECK_EQ(heap_free(block), -EINVAL);
	CHECK(memory_mapped() < before + 2 * MIB);
	CHECK(heap_alloc(MIB, 0, false, 0) == NULL);
	CHECK_EQ(heap_check(), 0);
}

TEST(closed_before_it_began)
{
	size_t before = memory_mapped();

	heap_close();
	CHECK(heap_alloc(MIB, 0, false, 0) == NULL);
	heap_close();
	CHECK(heap_alloc(MIB, 0, false, 0) == NULL);
	CHECK(memory_mapped() < before + MIB);
	CHECK_EQ(heap_check(), 0);
}

static _Atomic int rounds;

static void *work(void *arg)
{
	unsigned turn = (unsigned)(uintptr_t)arg;
	char *blocks[8] = { NULL };

	for (int round = 0; round < 4000; round++) {
		char **slot = &blocks[(turn = turn * 1103515245 + 12345) >> 16 & 7];
		size_t bytes = ((turn >> 20 & 15) + 1) * 256 * KIB;

		if (*slot != NULL) {
			CHECK((*slot)[0] == 5 && (*slot)[255 * KIB] == 6);
			CHECK_EQ(heap_free(*slot), 0);
		}
		*slot = heap_alloc(bytes, 0, false, 0);
		if (*slot != NULL)
			(*slot)[0] = 5, (*slot)[255 * KIB] = 6;
		atomic_fetch_add(&rounds, 1);
	}
	for (int i = 0; i < 8; i++)
		CHECK(blocks[i] == NULL || heap_free(blocks[i]) == 0);
	return NULL;
}

HEAP_TEST(closed_while_others_are_at_work)
{
	pthread_t threads[3];

	for (uintptr_t i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
	WAIT_FOR(atomic_load(&rounds) > 100);
	heap_close();
	CHECK_EQ(heap_check(), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(live() + kept(), 0);
}

CHECK_MAIN()
