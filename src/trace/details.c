/*
 * details.c - growing lists, each with a hash table of its indices.
 */
#include "trace/details.h"
#include "base/arena.h"

#include <stdbool.h>
#include <string.h>

#define PLACES (2 * DETAILS_MOST)

struct list {
	size_t size; /* of an item, in bytes; items have no padding */
	size_t used;
	unsigned char *items;
	uint16_t *places; /* index, plus 1; 0: free */
};

/* A place of a sample, without padding, since its bytes are hashed. */
struct sampled {
	uint64_t module, offset, caller; /* caller: an index; DETAILS_UNKNOWN: none */
};

static struct list shapes = { .size = sizeof(struct shape) };
static struct list sampled = { .size = sizeof(struct sampled) };

static uint32_t hash_of(const void *item, size_t size)
{
	const unsigned char *bytes = item;
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

static bool is_ready(struct list *list)
{
	if (list->items == NULL)
		list->items = hp_arena_alloc(DETAILS_MOST * list->size);
	if (list->places == NULL)
		list->places = hp_arena_alloc(PLACES * sizeof(*list->places));
	return list->items != NULL && list->places != NULL;
}

/*
 * Returns the index of an item, which is added if new.  DETAILS_UNKNOWN: `most` items exist
 * already.
 */
static uint32_t index_of(struct list *list, const void *item, size_t most)
{
	size_t at = hash_of(item, list->size) % PLACES;

	if (!is_ready(list))
		return DETAILS_UNKNOWN;
	for (; list->places[at] != 0; at = (at + 1) % PLACES) {
		uint32_t index = list->places[at] - 1u;

		if (memcmp(list->items + index * list->size, item, list->size) == 0)
			return index;
	}
	if (list->used >= most)
		return DETAILS_UNKNOWN;
	memcpy(list->items + list->used * list->size, item, list->size);
	list->places[at] = (uint16_t)++list->used;
	return (uint32_t)list->used - 1;
}

uint32_t details_shape(const struct cupti_kernel *record)
{
	struct shape shape = { .registers = record->registers,
			       .static_shared = record->static_shared,
			       .dynamic_shared = record->dynamic_shared };

	memcpy(shape.grid, record->grid, sizeof(shape.grid));
	memcpy(shape.block, record->block, sizeof(shape.block));
	return shape.block[0] > 0 ? index_of(&shapes, &shape, DETAILS_MOST) : DETAILS_UNKNOWN;
}

static uint32_t place_of(const struct module_place *place, uint32_t caller, size_t most)
{
	struct sampled item = { place->module, place->offset, caller };

	return index_of(&sampled, &item, most);
}

uint32_t details_chain(const struct module_place *frame, size_t depth)
{
	uint32_t at = DETAILS_UNKNOWN;

	for (size_t i = depth; i > 0; i--) {
		at = place_of(&frame[i - 1], at, DETAILS_CALLED_MOST);
		if (at == DETAILS_UNKNOWN)
			return place_of(&frame[0], DETAILS_UNKNOWN, DETAILS_MOST);
	}
	return at;
}

size_t details_shapes(void)
{
	return shapes.used;
}

const struct shape *details_shape_at(size_t index)
{
	return &((const struct shape *)(const void *)shapes.items)[index];
}

size_t details_places(void)
{
	return sampled.used;
}

struct module_place details_place_at(size_t index, uint32_t *ret_caller)
{
	const struct sampled *item = &((const struct sampled *)(const void *)sampled.items)[index];

	*ret_caller = (uint32_t)item->caller;
	return (struct module_place){ (uint32_t)item->module, item->offset };
}
