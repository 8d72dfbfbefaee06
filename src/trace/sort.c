/*
 * sort.c - quicksort, which few items and items nearly in order leave to insertion.
 *
 * Records of one stream are nearly in order, and spans arrive in long runs.  The pivot is drawn, so
 * no order of the items slows the sort.
 */
#include "trace/sort.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

/* A part of an item of any type. */
typedef uint64_t word __attribute__((may_alias));

#define FEW 16u /* so few items are never in too much disorder */

static void swap(word *a, word *b, size_t words)
{
	for (size_t i = 0; i < words; i++) {
		uint64_t moving = a[i];

		a[i] = b[i];
		b[i] = moving;
	}
}

/* Sorts as long as it is cheap.  False: too much disorder; all items are still there. */
static bool insert_all(word *items, size_t count, size_t words)
{
	size_t moves = 0, most = 8 * count + 64;

	for (size_t i = 1; i < count; i++)
		for (word *at = items + i * words; at != items && at[-(ptrdiff_t)words] > at[0];
		     at -= words) {
			if (moves++ == most)
				return false;
			swap(at - words, at, words);
		}
	return true;
}

/* Returns an index inside the array.  No item before it is later than an item from it on. */
static size_t partition(word *items, size_t count, size_t words)
{
	/* Not the last one, so that each part has an item. */
	uint64_t pivot = items[hp_mix(count, items[0]) % (count - 1) * words];
	word *low = items, *high = items + (count - 1) * words;

	for (;; low += words, high -= words) {
		while (low[0] < pivot)
			low += words;
		while (high[0] > pivot)
			high -= words;
		if (low >= high)
			return (size_t)(high - items) / words + 1;
		swap(low, high, words);
	}
}

static void sort_parts(word *items, size_t count, size_t words)
{
	while (count > FEW) {
		size_t at = partition(items, count, words), rest = count - at;

		/* The larger part without recursion, so that the stack stays small. */
		if (at < rest) {
			sort_parts(items, at, words);
			items += at * words;
			count = rest;
		} else {
			sort_parts(items + at * words, rest, words);
			count = at;
		}
	}
	insert_all(items, count, words);
}

static void sort_all(word *items, size_t count, size_t words)
{
	if (!insert_all(items, count, words))
		sort_parts(items, count, words);
}

void sort_by_first(void *items, size_t count, size_t words)
{
	/* The compiler makes faster code for a known number. */
	if (words == 2)
		sort_all(items, count, 2);
	else
		sort_all(items, count, words);
}
