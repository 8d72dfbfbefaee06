/*
 * details.c - growing lists, by hashes of their items.
 */
#include "trace/collect/details.h"
#include "base/hash.h"
#include "trace/keys.h"

#include <string.h>

struct list {
	size_t size;      /* of an item, in bytes; items have only numbers of 64 bits */
	void *items;      /* NULL: none yet */
	struct keys keys; /* hashes of the items */
};

static struct list shapes = { .size = sizeof(struct profile_shape) };
static struct list sampled = { .size = sizeof(struct profile_event_place) };

static uint64_t hash_of(const void *item, size_t size)
{
	const uint64_t *words = item;
	uint64_t hash = 0;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		hash = hp_mix(hash, words[i]);
	return hash;
}

/*
 * Returns the index of an item, which is added if new.  DETAILS_UNKNOWN: `most` items exist
 * already.
 */
static uint32_t index_of(struct list *list, const void *item, size_t most)
{
	uint64_t hash = hash_of(item, list->size);

	if (list->items == NULL)
		list->items = keys_start(&list->keys, DETAILS_MOST, list->size);
	if (list->items == NULL)
		return DETAILS_UNKNOWN;
	uint32_t index = keys_find(&list->keys, hash);
	if (index != KEYS_NONE)
		return index;
	if (list->keys.rows >= most)
		return DETAILS_UNKNOWN;
	index = keys_add(&list->keys, hash);
	memcpy((char *)list->items + index * list->size, item, list->size);
	return index;
}

uint32_t details_shape(const struct cupti_kernel *record)
{
	struct profile_shape shape = { .registers = record->registers,
				       .static_shared_bytes = record->static_shared,
				       .dynamic_shared_bytes = record->dynamic_shared };

	for (int i = 0; i < 3; i++) {
		shape.grid[i] = record->grid[i];
		shape.block[i] = record->block[i];
	}
	return shape.block[0] > 0 ? index_of(&shapes, &shape, DETAILS_MOST) : DETAILS_UNKNOWN;
}

static uint32_t place_of(const struct module_place *place, uint32_t caller, size_t most)
{
	const struct profile_event_place item = {
		.module = place->module != MODULES_NOWHERE ? (int64_t)place->module : UNKNOWN,
		.offset = (int64_t)place->offset,
		.caller = caller != DETAILS_UNKNOWN ? (int64_t)caller : UNKNOWN,
	};

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

void details_read(struct profile_events *ret)
{
	ret->shapes = shapes.items;
	ret->shape_count = shapes.keys.rows;
	ret->places = sampled.items;
	ret->place_count = sampled.keys.rows;
}
