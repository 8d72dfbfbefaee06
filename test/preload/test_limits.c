/*
 * test_limits.c - how much is pinned, what happens if the driver refuses, and when pins end.
 */
#include "clock.h"
#include "memory.h"
#include "promote.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#define BYTES (4 * MIB)

/* Copies many blocks repeatedly in both directions; returns the most bytes registered at once. */
static size_t use_many(unsigned blocks)
{
	static char *block[64];
	size_t most = 0;

	for (unsigned i = 0; i < blocks; i++)
		block[i] = malloc(BYTES);
	for (unsigned round = 0; round < 6; round++) {
		for (unsigned i = 0; i < blocks; i++) {
			fill(block[i], BYTES, i + round);
			OK(cuMemcpyHtoD_v2(there, block[i], BYTES));
			if (standin_registered_bytes() > most)
				most = standin_registered_bytes();
			memset(block[i], 0, BYTES);
			OK(cuMemcpyDtoHAsync_v2(block[i], there, BYTES, NULL));
			CHECK(holds(block[i], BYTES, i + round));
		}
	}
	for (unsigned i = 0; i < blocks; i++)
		free(block[i]);
	return most;
}

/*
 * The program's large blocks are ours, and glibc raises the sizes from which on it maps buffers and
 * gives memory back by those that are freed.
 */
TEST_AFTER_WITH(glibc_keeps_buffers_of_medium_size, begin(), "HOTPIN_HEAP_MIN=1M")
{
	const size_t bytes = 60 * KIB;
	struct rusage before, after;

	free(malloc(2 * MIB));
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < 300; i++) {
		char *buffers[3];

		for (int k = 0; k < 3; k++)
			memset(buffers[k] = malloc(bytes), i, bytes);
		for (int k = 0; k < 3; k++)
			free(buffers[k]);
	}
	getrusage(RUSAGE_SELF, &after);
	printf("# %ld page faults\n", after.ru_minflt - before.ru_minflt);
	CHECK(!preloaded() || after.ru_minflt - before.ru_minflt < 600);
}

/* No large block was freed. */
TEST(glibc_gives_small_buffers_back)
{
	static char *buffers[20000];
	const size_t count = sizeof(buffers) / sizeof(buffers[0]), bytes = 2000;

	begin();
	size_t before = memory_resident();
	for (size_t i = 0; i < count; i++)
		buffers[i] = memset(malloc(bytes), 1, bytes);
	CHECK(memory_resident() > before + 32 * MIB);
	for (size_t i = count; i-- > 0;)
		free(buffers[i]);
	printf("# %zu KiB more\n", (memory_resident() - before) / KIB);
	CHECK(memory_resident() < before + 8 * MIB);
}

/*
 * Runs `id` with one copy worker and with two, independently of the machine.  With one, the copies
 * of use_many() do not pay for the staging ring; with two they do.
 */
#define TEST_THREADS(id, ...)                                \
	static void id(unsigned threads);                    \
	TEST_WITH(id##_1, "HOTPIN_THREADS=1", ##__VA_ARGS__) \
	{                                                    \
		id(1);                                       \
	}                                                    \
	TEST_WITH(id##_2, "HOTPIN_THREADS=2", ##__VA_ARGS__) \
	{                                                    \
		id(2);                                       \
	}                                                    \
	static void id(unsigned threads)

/*
 * The driver pins 64 MiB at most, and the program wants all of it: allocated or registered, next to
 * blocks in use that were copied often.
 */
TEST_THREADS(all_that_can_be_pinned_is_the_programs, "STANDIN_PINNED_MIB=64")
{
	char *hot[8], *own = malloc(8 * MIB), *pool[7];

	(void)threads;
	begin();
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < 8; i++) {
			hot[i] = malloc(8 * MIB);
			for (int copies = 0; copies < 12; copies++)
				OK(cuMemcpyHtoD_v2(there, hot[i], 8 * MIB));
		}
		CHECK(standin_registered_bytes() >= 32 * MIB || !preloaded() || turn == 1);
		OK(cuMemHostRegister_v2(own, 8 * MIB, 0));
		for (int i = 0; i < 7; i++)
			OK(i % 2 ? cuMemAllocHost_v2((void **)&pool[i], 8 * MIB)
				 : cuMemHostAlloc((void **)&pool[i], 8 * MIB, 0));
		CHECK_EQ(cuMemHostRegister_v2(hot[0], MIB, 0), CUDA_ERROR_OUT_OF_MEMORY);
		CHECK_EQ(standin_registered_bytes(), 8 * MIB);
		/* The blocks are copied as before. */
		for (int i = 0; i < 8; i++) {
			fill(hot[i], 8 * MIB, (unsigned)i + 1);
			OK(cuMemcpyHtoD_v2(there, hot[i], 8 * MIB));
			memset(hot[i], 0, 8 * MIB);
			OK(cuMemcpyDtoH_v2(hot[i], there, 8 * MIB));
			CHECK(holds(hot[i], 8 * MIB, (unsigned)i + 1));
			free(hot[i]);
		}
		for (int i = 0; i < 7; i++)
			OK(cuMemFreeHost(pool[i]));
		OK(cuMemHostUnregister(own));
	}
}

TEST_THREADS(the_budget_is_kept, "HOTPIN_PIN_BUDGET=10M")
{
	begin();
	size_t most = use_many(16);

	(void)threads;
	CHECK(most <= 10 * MIB);
	CHECK_EQ(most > 0, preloaded());
}

/* The ring takes a quarter of the budget, and blocks the rest. */
TEST_THREADS(a_ring_in_a_small_budget, "HOTPIN_PIN_BUDGET=48M", "HOTPIN_HEAP_MIN=8M")
{
	begin();
	CHECK_EQ(use_many(4), preloaded() && threads > 1 ? 12 * MIB : 0);
	char *block = promoted(30 * MIB);
	CHECK(standin_registered_bytes() <= 48 * MIB);
	free(block);
}

/* A ring of a quarter of the budget would be smaller than a large copy needs. */
TEST_THREADS(no_ring_in_a_tiny_budget, "HOTPIN_PIN_BUDGET=31M", "HOTPIN_HEAP_MIN=0")
{
	begin();
	(void)threads;
	CHECK_EQ(use_many(4), 0);
}

static bool is_ring_there(void *memory)
{
	OK(cuMemcpyDtoH_v2(memory, there, BYTES));
	OK(cuCtxSynchronize());
	return standin_registered_bytes() == 16 * MIB;
}

/* Blocks use the whole budget when the ring would pay off; it is created once they are freed. */
TEST_AFTER_WITH(a_ring_waits_for_room, begin(), "HOTPIN_PIN_BUDGET=64M", "HOTPIN_THREADS=2",
		"HOTPIN_RING=16M")
{
	static char table[BYTES];

	/* These copies are too small to be staged. */
	char *block = malloc(60 * MIB);
	fill(block, 60 * MIB, 1);
	CHECK_EQ(heat(block, 12 * MIB), preloaded());
	for (int i = 0; i < 40; i++)
		OK(cuMemcpyDtoH_v2(table, there, BYTES));
	CHECK(standin_registered_bytes() <= 64 * MIB);
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
	size_t held = standin_registered_bytes();
	free(block);
	/* The housekeeper unpins the freed block; then the next copy creates the ring. */
	PASS_UNTIL(standin_registered_bytes() == 0, 10 * TEST_MS);
	if (preloaded()) {
		CHECK(held >= 60 * MIB);
		WAIT_FOR(is_ring_there(table));
	}
}

/*
 * Freed pinned blocks make room for used ones at the housekeeper's next look.  A copy during that
 * look would put it off to the next one, so the test makes none until the room is there.
 */
TEST_AFTER_WITH(the_budget_moves_on, begin(), "HOTPIN_PIN_BUDGET=10M")
{
	free(promoted(9 * MIB));
	char *block = malloc(BYTES);

	fill(block, BYTES, 1);
	for (int i = 0; i < 3; i++)
		OK(cuMemcpyHtoD_v2(there, block, BYTES));
	CHECK_EQ(standin_pinned(block), 0);
	OK(cuCtxSynchronize());
	PASS_UNTIL(standin_registered_bytes() == 0, 10 * TEST_MS);
	/* The driver unregisters a moment before the budget has the room. */
	if (preloaded())
		WAIT_FOR(heat(block, BYTES));
}

/* Makes copies that would pay for the ring. */
static void pin_nothing(void)
{
	begin();
	CHECK_EQ(use_many(4), 0);
	CHECK_EQ(standin_calls("cuMemHostRegister"), 0);
	CHECK_EQ(standin_calls("cuMemHostAlloc"), 0);
}

TEST_THREADS(no_budget, "HOTPIN_PIN_BUDGET=0")
{
	(void)threads;
	pin_nothing();
}

TEST_THREADS(pinning_is_off, "HOTPIN_PIN=0")
{
	(void)threads;
	pin_nothing();
}

/* In front of libc's, also for the library: TEST_RELEASE is the kernel's. */
__attribute__((visibility("default"))) int uname(struct utsname *ret)
{
	const char *release = getenv("TEST_RELEASE");
	int result = (int)syscall(SYS_uname, ret);

	if (release != NULL)
		snprintf(ret->release, sizeof(ret->release), "%s", release);
	return result;
}

/* No block is pinned, but large copies are staged. */
static void only_stage(void)
{
	begin();
	CHECK_EQ(use_many(4), preloaded() ? 32 * MIB : 0);
	char *block = memset(malloc(BYTES), 1, BYTES);
	CHECK(!heat(block, BYTES));
	free(block);
}

CASE_WITH(an_old_kernel, ("TEST_RELEASE=5.8.18-generic", "HOTPIN_THREADS=2"), only_stage())
CASE_WITH(a_new_kernel, ("TEST_RELEASE=5.9.0", "HOTPIN_THREADS=2"), begin(); free(promoted(BYTES)))

/* Reallocates buffers in turn: glibc keeps them if the memory between them is in use. */
static long faults_of_a_turn(void)
{
	static struct {
		char *between, *buffer;
	} records[1500];
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		/*
		 * Allocated while the old ones exist: the new ones lie between the buffers of this
		 * turn.
		 */
		records[i].between = malloc(100);
		records[i].buffer = malloc(100 * KIB);
		for (size_t at = 0; at < 100 * KIB; at += 4096)
			records[i].buffer[at] = 1;
	}
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		free(records[i].buffer);
	getrusage(RUSAGE_SELF, &after);
	return after.ru_minflt - before.ru_minflt;
}

/* Without a context no thread of ours could release cached blocks, so libc serves them. */
TEST(small_blocks_before_a_context)
{
	long first = faults_of_a_turn(), last = 0;

	OK(cuInit(0));
	faults_of_a_turn();
	last = faults_of_a_turn();
	printf("# %ld faults at first, %ld in the third turn\n", first, last);
	CHECK(first >= 1500 * 25);
	CHECK(last <= first / 10);
	/* With a context they are ours, once its thread tends the cache. */
	begin();
	bool pinned = false;
	for (int i = 0; i < 300 && !pinned; i++) {
		pinned = heat(memset(malloc(200 * KIB), 1, 200 * KIB), 200 * KIB);
		if (!preloaded())
			break;
	}
	CHECK_EQ(pinned, preloaded());
}

/* No block can be pinned, but the ring speeds up copies of any memory. */
TEST_THREADS(the_heap_is_off, "HOTPIN_HEAP_MIN=0")
{
	begin();
	CHECK_EQ(use_many(4), preloaded() && threads > 1 ? 32 * MIB : 0);
}

TEST_THREADS(small_blocks_are_left_alone, "HOTPIN_HEAP_MIN=8M")
{
	begin();
	CHECK_EQ(use_many(4), preloaded() && threads > 1 ? 32 * MIB : 0);
	free(promoted(9 * MIB));
}

/* Another party has registered the block: nothing is pinned any more. */
TEST_AFTER_WITH(already_registered, begin(), "STANDIN_FAIL=cuMemHostRegister:2:712",
		"HOTPIN_RING=0")
{
	CHECK_EQ(use_many(8) > 0, preloaded());
	CHECK(device_holds(there, BYTES, 7 + 5));
	CHECK_EQ(standin_calls("cuMemHostRegister"), preloaded() ? 2 : 0);
	CHECK(standin_registrations() <= 1);
}

/* Another party has ended the registration. */
TEST_AFTER_WITH(not_registered_any_more, begin(), "STANDIN_FAIL=cuMemHostUnregister:1:713",
		"HOTPIN_RING=0")
{
	char *block = promoted(BYTES);
	char *page = (char *)(((uintptr_t)block + MIB) & ~(uintptr_t)4095);
	CHECK_EQ(mprotect(page, 4096, PROT_READ), 0);
	CHECK_EQ(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
	CHECK_EQ(standin_calls("cuMemHostUnregister"), preloaded());
	int before = standin_calls("cuMemHostRegister");
	use_many(8);
	CHECK_EQ(standin_calls("cuMemHostRegister"), before);
	CHECK(device_holds(there, BYTES, 7 + 5));
}

PRELOAD_MAIN()
