/*
 * window.c - keeps sums by key, sorted at the end of each slice.
 */
#include "trace/window.h"
#include "base/arena.h"
#include "trace/sort.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int window_init(struct window *window, size_t slices)
{
	assert(slices > 0 && slices <= WINDOW_SLICES_MOST);
	*window = (struct window){ .slices = slices };
	window->noted = hp_arena_alloc(WINDOW_SUMS_MOST * sizeof(*window->noted));
	return window->noted != NULL ? 0 : -ENOMEM;
}

static bool is_before(const void *left, const void *right)
{
	const struct window_sum *a = left, *b = right;

	return a->key < b->key;
}

static uint64_t find(const struct window_mark *mark, uint64_t key)
{
	size_t low = 0, high = mark->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mark->sum[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < mark->count && mark->sum[low].key == key ? mark->sum[low].value : 0;
}

uint64_t window_before(struct window *window, uint64_t key, uint64_t value)
{
	if (window->count == WINDOW_SUMS_MOST)
		window->crowded = true;
	else if (value != 0)
		window->noted[window->count++] = (struct window_sum){ key, value };
	return window_has_begun(window) ? find(&window->mark[0], key) : 0;
}

bool window_has_begun(const struct window *window)
{
	return window->marks == window->slices;
}

void window_end_slice(struct window *window)
{
	size_t bytes = (window->count + 1) * sizeof(struct window_sum);
	struct window_mark made = { .count = window->count };

	/* Every profile has sums.  Without sums, no profile was written in this slice. */
	if (window->count > 0 && !window->crowded)
		made.sum = hp_arena_alloc(bytes);
	window->count = 0;
	window->crowded = false;
	if (made.sum == NULL)
		return;
	sort_heap(window->noted, made.count, sizeof(*window->noted), is_before);
	memcpy(made.sum, window->noted, made.count * sizeof(*made.sum));
	if (window_has_begun(window)) {
		struct window_mark *oldest = &window->mark[0];

		hp_arena_free(oldest->sum, (oldest->count + 1) * sizeof(*oldest->sum));
		memmove(oldest, oldest + 1, (--window->marks) * sizeof(*oldest));
	}
	window->mark[window->marks++] = made;
}
