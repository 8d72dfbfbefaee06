/*
 * resident.c - passes time by the test clock, and fills memory.
 */
#include "resident.h"

char *blocks[BLOCKS];

bool shrinks_to(size_t most, double seconds)
{
	uint64_t end_ns = test_clock_ns() + (uint64_t)(seconds * TEST_S);
	size_t now;

	while ((now = memory_resident()) > most && test_clock_ns() < end_ns)
		test_clock_step(STEP_NS);
	printf("# %zu MiB of %zu resident, %zu pinned\n", now / MIB, most / MIB,
	       standin_registered_bytes() / MIB);
	return now <= most;
}

void rest(double seconds)
{
	uint64_t end_ns = test_clock_ns() + (uint64_t)(seconds * TEST_S);

	while (test_clock_ns() < end_ns)
		test_clock_step(STEP_NS);
}

void allocate(bool pinned)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(24 * MIB + i * MIB);
		memset(blocks[i], 1, 24 * MIB + i * MIB);
		if (pinned)
			CHECK_EQ(heat(blocks[i], 24 * MIB + i * MIB), preloaded());
	}
}

void free_all(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

size_t base_line(void)
{
	char *block = malloc(8 * MIB);

	begin();
	OK(cuMemsetD8_v2(there, 1, 64 * MIB));
	for (int i = 0; i < 10; i++)
		OK(cuMemcpyHtoD_v2(there, block, 8 * MIB));
	free(block);
	rest(2);
	return memory_resident();
}
