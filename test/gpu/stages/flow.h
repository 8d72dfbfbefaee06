/*
 * Shared by the four stages of the example port: dye in a flow, on a grid of floats.
 *
 * Each step spreads the dye, moves it with the flow and lets it react; every tenth step prints the
 * maximum.  All arithmetic is single additions and multiplications, so that CPU and device get the
 * same bits if neither fuses them.
 */
#ifndef FLOW_H
#define FLOW_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE  2048
#define CELLS ((size_t)SIDE * SIDE)
#define BYTES (CELLS * sizeof(float))
#define STEPS 100
#define TOLD  10

#ifdef __CUDACC__
#define EITHER __host__ __device__ static inline
#else
#define EITHER static inline
#endif

EITHER float spread_cell(const float *dye, int x, int y)
{
	int left = (x + SIDE - 1) % SIDE, right = (x + 1) % SIDE;
	int above = (y + SIDE - 1) % SIDE, below = (y + 1) % SIDE;
	float around = dye[y * SIDE + left] + dye[y * SIDE + right] + dye[above * SIDE + x] +
		       dye[below * SIDE + x];

	return dye[y * SIDE + x] * 0.5f + around * 0.125f;
}

/* Returns the dye from where the wind comes, in whole cells. */
EITHER float carry_cell(const float *dye, int x, int y)
{
	int dx = y < SIDE / 2 ? 1 : 2, dy = x % 3 == 0;

	return dye[(y + SIDE - dy) % SIDE * SIDE + (x + SIDE - dx) % SIDE];
}

EITHER float react_cell(float dye)
{
	return dye + 0.01f * (dye * (1.0f - dye));
}

EITHER float begin_cell(int x, int y)
{
	return (float)((x * 31 + y * 17) % 256) / 512.0f;
}

static inline void begin_dye(float *dye)
{
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++)
			dye[y * SIDE + x] = begin_cell(x, y);
}

static inline float most_dye(const float *dye)
{
	float most = 0;

	for (size_t i = 0; i < CELLS; i++)
		most = dye[i] > most ? dye[i] : most;
	return most;
}

/* Every bit of the result counts. */
static inline void tell_end(const float *dye)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < CELLS; i++) {
		uint32_t bits;

		memcpy(&bits, &dye[i], sizeof(bits));
		sum = sum * 31 + bits;
	}
	printf("checksum %016llx\n", (unsigned long long)sum);
}

#endif
