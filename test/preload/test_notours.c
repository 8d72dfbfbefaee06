/*
 * test_notours.c - memory that another allocator provided is never pinned, however often it is
 * copied.  The library does not learn of its release, after which the address may belong to
 * anything.
 */
#include "clock.h"
#include "promote.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define BYTES  MIB
#define COPIES 1500

static char in_data[BYTES] = { 1 }, in_bss[BYTES];

/* Copies in both directions, synchronously and by a stream, the whole and parts. */
static void wear_out(char *memory)
{
	fill(memory, BYTES, 3);
	for (int i = 0; i < COPIES && check_failures == 0; i++) {
		size_t from = (size_t)i % 7 * 64 * KIB;

		if (i % 4 == 0)
			OK(cuMemcpyHtoD_v2(there, memory, BYTES));
		else if (i % 4 == 1)
			OK(cuMemcpyDtoH_v2(memory + from, there + from, BYTES - from));
		else if (i % 4 == 2)
			OK(cuMemcpyHtoDAsync_v2(there, memory, BYTES - from, NULL));
		else
			OK(cuMemcpyDtoHAsync_v2(memory, there, BYTES, NULL));
	}
	OK(cuCtxSynchronize());
	CHECK(holds(memory, BYTES, 3));
	/*
	 * No thread pins it, either.  The ring may be registered once, because such copies use it.
	 */
	for (int i = 0; i < 5; i++)
		test_clock_step(20 * TEST_MS);
	CHECK(standin_calls("cuMemHostRegister") <= 1);
	CHECK_EQ(standin_registered_bytes(), standin_calls("cuMemHostRegister") * 32 * MIB);
	for (size_t at = 0; at < BYTES; at += 4096)
		CHECK_EQ(standin_pinned(memory + at), 0);
}

TEST(initialized_data)
{
	begin();
	wear_out(in_data);
}

TEST(zeroed_data)
{
	begin();
	wear_out(in_bss);
}

static __attribute__((noinline)) void wear_out_the_stack(void)
{
	char here[BYTES];

	wear_out(here);
}

TEST(the_stack)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < 4 * BYTES)
		CHECK_SKIP("needs a larger stack (ulimit -s)");
	begin();
	wear_out_the_stack();
}

TEST(a_mapping)
{
	begin();
	wear_out(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

TEST(shared_memory)
{
	begin();
	wear_out(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

TEST(a_file)
{
	int file = memfd_create("notours", 0);

	begin();
	CHECK_EQ(ftruncate(file, BYTES), 0);
	wear_out(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
	close(file);
}

TEST(the_break)
{
	begin();
	char *memory = sbrk(BYTES);
	CHECK(memory != (void *)-1);
	wear_out(memory);
}

/* Too small for our heap, so libc serves them. */
TEST(small_blocks)
{
	enum { PART = 64 * KIB };
	char *parts[16];

	begin();
	for (int i = 0; i < 16; i++) {
		parts[i] = malloc(PART);
		memset(parts[i], i, PART);
	}
	for (int i = 0; i < 16 * COPIES && check_failures == 0; i++)
		OK(cuMemcpyHtoD_v2(there, parts[i % 16], PART));
	for (int i = 0; i < 16; i++)
		CHECK_EQ(standin_pinned(parts[i]), 0);
	CHECK(standin_calls("cuMemHostRegister") <= 1);
}

/* A block of ours shows that the test would detect a pin. */
TEST(but_ours_is)
{
	begin();
	char *memory = malloc(BYTES);
	fill(memory, BYTES, 3);
	CHECK_EQ(heat(memory, BYTES), preloaded());
	CHECK_EQ(standin_calls("cuMemHostRegister") > 0, preloaded());
}

PRELOAD_MAIN()
