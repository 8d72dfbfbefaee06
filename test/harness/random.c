/*
 * random.c - draws a row of a table.
 */
#include "random.h"

size_t random_row(uint64_t *state, const unsigned *weight, size_t row_bytes, size_t rows)
{
	size_t sum = 0, row = 0;

#define WEIGHT(i) (*(const unsigned *)((const char *)weight + (i)*row_bytes))
	for (size_t i = 0; i < rows; i++)
		sum += WEIGHT(i);
	for (size_t chance = random_below(state, sum); chance >= WEIGHT(row); row++)
		chance -= WEIGHT(row);
#undef WEIGHT
	return row;
}
