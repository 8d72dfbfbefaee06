/*
 * keys.c - a hash table with open addressing, at most half full.
 */
#include "trace/keys.h"
#include "base/arena.h"
#include "base/hash.h"

#include <assert.h>

void *keys_start(struct keys *keys, uint32_t most, size_t bytes)
{
	uint64_t *room = hp_arena_alloc(most * (sizeof(*keys->key) + 2 * sizeof(*keys->slot)) +
					(most + 1) * bytes);

	assert((most & (most - 1)) == 0 && most % 2 == 0);
	if (room == NULL)
		return NULL;
	*keys = (struct keys){ .key = room,
			       .slot = (uint32_t *)(room + most),
			       .bits = (unsigned)__builtin_ctz(2 * most) };
	return keys->slot + 2 * most;
}

static uint32_t next_of(const struct keys *keys, uint32_t at)
{
	return (at + 1) & ((1u << keys->bits) - 1);
}

static uint32_t home_of(const struct keys *keys, uint64_t key)
{
	return (uint32_t)hp_hash(key, keys->bits);
}

/* Returns the slot of the key, or the free slot for it. */
static uint32_t slot_of(const struct keys *keys, uint64_t key)
{
	uint32_t at = home_of(keys, key);

	while (keys->slot[at] != 0 && keys->key[keys->slot[at] - 1] != key)
		at = next_of(keys, at);
	return at;
}

uint32_t keys_find(const struct keys *keys, uint64_t key)
{
	/* Of a free slot: KEYS_NONE. */
	return keys->slot[slot_of(keys, key)] - 1;
}

uint32_t keys_add(struct keys *keys, uint64_t key)
{
	uint32_t row = keys->unused - 1;

	if (keys->unused != 0)
		keys->unused = (uint32_t)keys->key[row];
	else if (keys->rows < 1u << (keys->bits - 1))
		row = keys->rows++;
	else
		return KEYS_NONE;
	keys->key[row] = key;
	keys->slot[slot_of(keys, key)] = row + 1;
	return row;
}

/* Moves up the rows behind the freed slot that could otherwise not be found. */
static void free_slot(struct keys *keys, uint32_t at)
{
	uint32_t last = (1u << keys->bits) - 1;

	for (uint32_t next = next_of(keys, at); keys->slot[next] != 0; next = next_of(keys, next)) {
		uint32_t home = home_of(keys, keys->key[keys->slot[next] - 1]);

		/* The freed slot is not between the row's home slot and its own slot. */
		if (((next - home) & last) < ((next - at) & last))
			continue;
		keys->slot[at] = keys->slot[next];
		at = next;
	}
	keys->slot[at] = 0;
}

void keys_remove(struct keys *keys, uint32_t row)
{
	free_slot(keys, slot_of(keys, keys->key[row]));
	keys->key[row] = keys->unused;
	keys->unused = row + 1;
}
