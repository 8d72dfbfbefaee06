/*
 * bins.c - lists by size, and a bit for each list that is not empty.
 */
#include "heap/bins.h"
#include "heap/map.h"

#include <stddef.h>

unsigned bins_index(size_t room)
{
	size_t count = room / MAP_UNIT;

	if (count < 16)
		return (unsigned)count;

	unsigned shift = 59u - (unsigned)__builtin_clzl(count);
	return (shift + 1) * 16 + (unsigned)(count >> shift) - 16;
}

void bins_add(struct bins *bins, struct block *block)
{
	unsigned bin = bins_index(block->room);

	block->previous = NULL;
	block->next = bins->first[bin];
	if (block->next != NULL)
		block->next->previous = block;
	bins->first[bin] = block;
	bins->filled[bin / 64] |= (uint64_t)1 << bin % 64;
}

void bins_remove(struct bins *bins, struct block *block)
{
	unsigned bin = bins_index(block->room);

	if (block->previous != NULL)
		block->previous->next = block->next;
	else
		bins->first[bin] = block->next;
	if (block->next != NULL)
		block->next->previous = block->previous;
	if (bins->first[bin] == NULL)
		bins->filled[bin / 64] &= ~((uint64_t)1 << bin % 64);
	block->next = block->previous = NULL;
}

unsigned bins_up(const struct bins *bins, unsigned from)
{
	if (from >= BINS)
		return BINS;

	uint64_t left = bins->filled[from / 64] >> from % 64;
	if (left != 0)
		return from + (unsigned)__builtin_ctzl(left);
	for (unsigned word = from / 64 + 1; word < BINS / 64; word++)
		if (bins->filled[word] != 0)
			return word * 64 + (unsigned)__builtin_ctzl(bins->filled[word]);
	return BINS;
}

unsigned bins_down(const struct bins *bins, unsigned from)
{
	for (unsigned word = from / 64 + 1; word-- > 0;) {
		uint64_t left = bins->filled[word];

		if (word == from / 64 && from % 64 != 63)
			left &= ((uint64_t)2 << from % 64) - 1;
		if (left != 0)
			return word * 64 + 63 - (unsigned)__builtin_clzl(left);
	}
	return BINS;
}
