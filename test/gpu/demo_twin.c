/*
 * demo_twin.c - the kernels of demo.cu as host functions, for the stand-in driver (standin.h).
 *
 * The demo does not refer to this file; a real driver calls nothing in it.
 */
#include "../standin/twin.h"

void standin_twin_smooth(const unsigned grid[3], const unsigned block[3], void **args);
void standin_twin_accumulate(const unsigned grid[3], const unsigned block[3], void **args);

extern const unsigned standin_args_smooth[], standin_args_accumulate[];
const unsigned standin_args_smooth[] = { 8, 8, 8, 0 };
const unsigned standin_args_accumulate[] = { 8, 8, 8, 0 };

static float *host(const void *argument)
{
	return (float *)twin_host(*(void *const *)argument);
}

/* Takes the time for moving so many bytes at 3 TB/s. */
static void took(size_t bytes)
{
	twin_ns(bytes / 3000);
}

void standin_twin_smooth(const unsigned grid[3], const unsigned block[3], void **args)
{
	float *next = host(args[0]);
	const float *field = host(args[1]);
	size_t cells = *(const unsigned long long *)args[2];

	(void)grid;
	(void)block;
	next[0] = field[0];
	for (size_t i = 1; i + 1 < cells; i++)
		next[i] = (field[i - 1] + 2 * field[i] + field[i + 1]) * 0.25f;
	next[cells - 1] = field[cells - 1];
	took(2 * cells * sizeof(float));
}

void standin_twin_accumulate(const unsigned grid[3], const unsigned block[3], void **args)
{
	float *total = host(args[0]);
	const float *field = host(args[1]);
	size_t cells = *(const unsigned long long *)args[2];

	(void)grid;
	(void)block;
	for (size_t i = 0; i < cells; i++)
		total[i] += 0.5f * field[i];
	took(3 * cells * sizeof(float));
}
