/*
 * test_frames.c - call stacks read without unwinding: they equal those of unwinding, at every
 * height, with frames that grow, in threads, and on stacks that the program allocated.
 */
#include "check.h"
#include "base/parse.h"
#include "trace/places/frames.h"
#include "trace/places/modules.h"

#include <alloca.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

/* The function must not be cloned for each caller, either. */
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif

static uintptr_t way[FRAMES_MOST];
static size_t depth;
static struct frames_way walked;

/* Imitates an exported function. */
APART static void look(void)
{
	frames_walk(__builtin_frame_address(0), &walked);
	depth = walked.depth;
	memcpy(way, walked.address, sizeof(way));
	__asm__ volatile("");
}

static void start(void)
{
	frames_start();
}

/* Two calls in one function: their ways differ in one address. */
APART static void inner(int which)
{
	/* The branches differ, so that no compiler merges them. */
	if (which != 0) {
		__asm__ volatile("nop; nop; nop");
		look();
		__asm__ volatile("nop");
	} else {
		__asm__ volatile("nop; nop; nop; nop");
		look();
		__asm__ volatile("nop; nop");
	}
}

APART static void outer(int which, int height)
{
	volatile char room[64];

	room[0] = 1;
	if (height == 0)
		inner(which);
	else
		outer(which, height - 1);
	room[1] = room[0];
}

TEST_AFTER(call_sites_are_told_apart, start())
{
	uintptr_t first[FRAMES_MOST];

	outer(0, 0);
	CHECK(depth >= 4);
	memcpy(first, way, sizeof(first));
	outer(1, 0);
	CHECK(way[0] != first[0]);
	CHECK(way[1] == first[1]);
	outer(0, 0);
	CHECK(way[0] == first[0]);
	/* Another height of the same recursion. */
	outer(0, 2);
	CHECK(way[0] == first[0] && way[1] == first[1]);
	CHECK(way[2] == way[3] && way[2] != first[2]);
	/* All of them are in this program's code. */
	struct module_place place = modules_find(way[0]);
	CHECK(place.module != MODULES_NOWHERE && place.offset < 1 << 24);
}

TEST_AFTER(the_way_is_cut_at_eight, start())
{
	for (int round = 0; round < 3; round++) {
		outer(0, 40);
		CHECK_EQ(depth, FRAMES_MOST);
		CHECK(way[3] == way[FRAMES_MOST - 1]);
	}
}

APART static void grows(size_t bytes)
{
	volatile char *room = alloca(bytes);

	room[0] = 1;
	room[bytes - 1] = 1;
	look();
	room[0] = 2;
}

APART static void calls_what_grows(size_t bytes)
{
	grows(bytes);
	__asm__ volatile("");
}

/* A frame changes its size: the frames above it are given up after a while. */
TEST_AFTER(frames_that_grow, start())
{
	uintptr_t first[1];

	calls_what_grows(100);
	CHECK(depth > 2);
	first[0] = way[0];
	for (size_t bytes = 0; bytes < 200; bytes++) {
		calls_what_grows(16 + bytes * 500);
		CHECK(depth >= 1 && way[0] == first[0]);
		CHECK(bytes < 65 || depth == 1);
	}
	/* The way that does not lead there stays valid. */
	outer(0, 0);
	CHECK(depth >= 4);
}

/* The frames and addresses are the same, except for the outermost one. */
APART static void from_here(int which)
{
	volatile char room[64];

	room[0] = 1;
	outer(which, 1);
	room[1] = room[0];
}

APART static void from_there(int which)
{
	volatile char room[64];

	room[0] = 1;
	__asm__ volatile("nop");
	outer(which, 1);
	room[1] = room[0];
}

TEST(what_lies_far_above)
{
	struct frames_way seen[2];
	volatile int round; /* keeps compilers from making two calls of the first round */

	start();
	for (round = 0; round < 200; round++)
		for (int which = 0; which < 2; which++) {
			(which ? from_there : from_here)(0);
			CHECK(depth >= 6);
			if (round == 0)
				seen[which] = walked;
			CHECK(memcmp(seen[which].address, way, depth * sizeof(way[0])) == 0);
			CHECK(seen[which].hash == walked.hash);
		}
	CHECK(seen[0].hash != seen[1].hash);
	CHECK(memcmp(seen[0].address, seen[1].address, 3 * sizeof(way[0])) == 0);
	CHECK(seen[0].address[3] != seen[1].address[3]);
}

/* Returns the latest file that has the address, by a search of the whole list. */
static uint32_t file_of(uintptr_t address)
{
	uint32_t found = MODULES_NOWHERE;
	struct module module;

	for (uint32_t i = 0; i < modules_count(); i++) {
		modules_read(i, &module);
		if (address >= module.from && address < module.to)
			found = i;
	}
	return found;
}

/* The result must not depend on earlier queries. */
TEST(files_of_addresses)
{
	const uintptr_t inside[] = { (uintptr_t)look, (uintptr_t)memcpy, getauxval(AT_BASE) + 4096,
				     getauxval(AT_SYSINFO_EHDR) + 64 };
	uintptr_t asked[1 + 5 * HP_LEN(inside)] = { 0 };
	size_t count = 1;
	struct module module;

	for (size_t i = 0; i < HP_LEN(inside); i++) {
		modules_note(inside[i]);
		modules_read(modules_find(inside[i]).module, &module);
		const uintptr_t around[] = { inside[i], module.from - 1, module.from, module.to - 1,
					     module.to };
		for (size_t j = 0; j < HP_LEN(around); j++)
			asked[count++] = around[j];
	}
	CHECK_EQ(modules_count(), HP_LEN(inside));
	for (size_t before = 0; before < count; before++)
		for (size_t i = 0; i < count; i++) {
			modules_find(asked[before]);
			CHECK_EQ(modules_find(asked[i]).module, file_of(asked[i]));
		}
}

static void *in_thread(void *arg)
{
	outer(0, 0);
	return arg;
}

TEST_AFTER(threads_and_small_stacks, start())
{
	pthread_attr_t attributes;
	pthread_t thread;

	outer(0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	for (int i = 0; i < 10; i++) {
		CHECK(pthread_create(&thread, &attributes, in_thread, NULL) == 0);
		pthread_join(thread, NULL);
		CHECK(depth >= 4);
	}
}

static void *grow_until_cut(void *arg)
{
	for (size_t bytes = 0; bytes < 200; bytes++)
		calls_what_grows(16 + bytes * 500);
	return arg;
}

/* Facts that one thread finds hold for all, including a thread that was there before. */
TEST_AFTER(frames_that_grow_in_another_thread, start())
{
	for (volatile int round = 0; round < 2; round++) {
		calls_what_grows(100);
		CHECK(round == 0 ? depth > 2 : depth == 1);
		check_in_thread(grow_until_cut, NULL);
		CHECK_EQ(depth, 1);
	}
}

static ucontext_t back;

static void in_fiber(void)
{
	outer(0, 0);
}

TEST_AFTER(fibers, start())
{
	static char stack[1 << 16];
	ucontext_t fiber;

	for (int i = 0; i < 3; i++) {
		getcontext(&fiber);
		fiber.uc_stack.ss_sp = stack;
		fiber.uc_stack.ss_size = sizeof(stack);
		fiber.uc_link = &back;
		makecontext(&fiber, in_fiber, 0);
		depth = 0;
		CHECK(swapcontext(&back, &fiber) == 0);
		CHECK(depth >= 1);
	}
}

/* Code without unwind information, as from just-in-time compilers, ends the way. */
TEST(unknown_code)
{
	unsigned char code[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*call)(void (*)(void));

	if (!CHECK(page != MAP_FAILED))
		return;
	memcpy(page, code, sizeof(code));
	memcpy(&call, &page, sizeof(call));
	start();
	call(look);
	call(look);
	CHECK_EQ(depth, 1);
	CHECK(way[0] == (uintptr_t)page + 6);
	CHECK(modules_find(way[0]).module == MODULES_NOWHERE);
}

CHECK_MAIN()
