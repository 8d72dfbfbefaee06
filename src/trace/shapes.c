/*
 * shapes.c - a hash table of indices into a list that grows.
 */
#include "trace/shapes.h"
#include "base/arena.h"

#include <stdbool.h>
#include <string.h>

#define PLACES (2 * SHAPES_MOST) /* a power of two */

static struct shape *shapes;
static uint16_t *places; /* index and 1; 0: free */
static size_t used;

static struct shape shape_of(const struct cupti_kernel *record)
{
	struct shape shape = { .registers = record->registers,
			       .static_shared = record->static_shared,
			       .dynamic_shared = record->dynamic_shared };

	memcpy(shape.grid, record->grid, sizeof(shape.grid));
	memcpy(shape.block, record->block, sizeof(shape.block));
	return shape;
}

static uint32_t hash_of(const struct shape *shape)
{
	int32_t words[sizeof(*shape) / sizeof(int32_t)];
	uint32_t hash = 2166136261u;

	memcpy(words, shape, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = (hash ^ (uint32_t)words[i]) * 16777619u;
	return hash ^ hash >> 15;
}

static bool is_ready(void)
{
	if (shapes == NULL)
		shapes = hp_arena_alloc(SHAPES_MOST * sizeof(*shapes));
	if (places == NULL)
		places = hp_arena_alloc(PLACES * sizeof(*places));
	return shapes != NULL && places != NULL;
}

uint32_t shapes_index(const struct cupti_kernel *record)
{
	struct shape shape = shape_of(record);
	size_t at = hash_of(&shape) % PLACES;

	if (shape.block[0] <= 0 || !is_ready())
		return SHAPES_UNKNOWN;
	for (; places[at] != 0; at = (at + 1) % PLACES)
		if (memcmp(&shapes[places[at] - 1], &shape, sizeof(shape)) == 0)
			return places[at] - 1u;
	if (used == SHAPES_MOST)
		return SHAPES_UNKNOWN;
	shapes[used] = shape;
	places[at] = (uint16_t)++used;
	return (uint32_t)used - 1;
}

size_t shapes_count(void)
{
	return used;
}

const struct shape *shapes_at(size_t index)
{
	return &shapes[index];
}
