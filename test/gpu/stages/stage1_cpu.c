/*
 * stage1_cpu.c - the program before it is ported: loops on the CPU.
 */
#include "flow.h"

static void spread(float *to, const float *dye)
{
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++)
			to[y * SIDE + x] = spread_cell(dye, x, y);
}

static void carry(float *to, const float *dye)
{
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++)
			to[y * SIDE + x] = carry_cell(dye, x, y);
}

static void react(float *dye)
{
	for (size_t i = 0; i < CELLS; i++)
		dye[i] = react_cell(dye[i]);
}

int main(void)
{
	float *dye = malloc(BYTES), *next = malloc(BYTES);

	if (dye == NULL || next == NULL)
		return 1;
	begin_dye(dye);
	for (int step = 0; step < STEPS; step++) {
		spread(next, dye);
		carry(dye, next);
		react(dye);
		if (step % TOLD == TOLD - 1)
			printf("step %d: %.9g\n", step + 1, (double)most_dye(dye));
	}
	tell_end(dye);
	free(next);
	free(dye);
	return 0;
}
