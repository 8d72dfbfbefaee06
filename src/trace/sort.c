/*
 * sort.c - heap sort.
 */
#include "trace/sort.h"

#include <assert.h>
#include <string.h>

struct heap {
	char *items;
	size_t size;
	bool (*is_before)(const void *, const void *);
};

static char *at(const struct heap *heap, size_t index)
{
	return heap->items + index * heap->size;
}

static void sift_down(const struct heap *heap, size_t root, size_t end)
{
	char moving[SORT_SIZE_MOST];

	memcpy(moving, at(heap, root), heap->size);
	for (;;) {
		size_t child = 2 * root + 1;

		if (child >= end)
			break;
		if (child + 1 < end && heap->is_before(at(heap, child), at(heap, child + 1)))
			child++;
		if (!heap->is_before(moving, at(heap, child)))
			break;
		memcpy(at(heap, root), at(heap, child), heap->size);
		root = child;
	}
	memcpy(at(heap, root), moving, heap->size);
}

void sort_heap(void *items, size_t count, size_t size,
	       bool (*is_before)(const void *, const void *))
{
	const struct heap heap = { items, size, is_before };
	char top[SORT_SIZE_MOST];

	assert(size <= sizeof(top));
	for (size_t root = count / 2; root-- > 0;)
		sift_down(&heap, root, count);
	for (size_t last = count; last-- > 1;) {
		memcpy(top, items, size);
		memcpy(items, at(&heap, last), size);
		memcpy(at(&heap, last), top, size);
		sift_down(&heap, 0, last);
	}
}
