/*
 * host_buffers.c - a table of fixed size, by allocation site or by the place of static memory.
 */
#include "trace/host_buffers.h"
#include "base/arena.h"
#include "base/lock.h"

#include <assert.h>
#include <errno.h>

#define SLOTS (2 * OWNERS_MOST)
#define OTHER 0 /* the first one stands for all that has no better owner */

/* Under the lock trace. */
static struct owner *owners;
static uint64_t keys[OWNERS_MOST];
static uint32_t slots[SLOTS]; /* an index and 1; 0: free */
static size_t count;

/* Under the lock trace: the latest copy's, which mostly is the next one's. */
static uint64_t latest_key; /* 0: none */
static uint32_t latest;

int owners_start(void)
{
	struct owner *table = hp_arena_alloc(OWNERS_MOST * sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	hp_lock(HP_LOCK_trace);
	owners = table;
	owners[OTHER].kind = OWNER_OTHER;
	count = 1;
	hp_unlock(HP_LOCK_trace);
	return 0;
}

/* With the lock held.  Where it stands, or where it would. */
static uint32_t *slot_of(uint64_t key)
{
	for (size_t at = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 50;; at++) {
		uint32_t *slot = &slots[at % SLOTS];

		if (*slot == 0 || keys[*slot - 1] == key)
			return slot;
	}
}

/* With the lock held.  `owner` as it begins; the place for all others where there is no room. */
static uint32_t find_or_add(uint64_t key, const struct owner *owner)
{
	uint32_t *slot = slot_of(key);

	if (*slot != 0)
		return *slot - 1;
	if (count == OWNERS_MOST)
		return OTHER;
	owners[count] = *owner;
	keys[count] = key;
	*slot = (uint32_t)++count;
	return *slot - 1;
}

/* With the lock held.  0: it has no owner of its own. */
static uint64_t key_of(const struct trace_copy *copy, struct module_place *ret_place)
{
	if (copy->allocator != 0)
		return copy->allocator;
	*ret_place = modules_find_held((uintptr_t)copy->host);
	if (ret_place->module == MODULES_NOWHERE)
		return 0;
	return (uint64_t)1 << 63 | (uint64_t)ret_place->module << 48 | ret_place->offset;
}

static void add(struct owner *owner, const struct trace_copy *copy)
{
	trace_flow_add(&owner->flow[copy->direction], copy);
	if (copy->block_bytes > owner->largest_bytes)
		owner->largest_bytes = copy->block_bytes;
	if (copy->memory == TRACE_PROMOTED) {
		owner->promoted_bytes += copy->bytes;
		owner->saved_ns += copy->gain_ns;
	} else if (copy->memory == TRACE_PAGEABLE) {
		owner->could_save_ns += copy->gain_ns;
	}
}

uint32_t owners_add(const struct trace_copy *copy)
{
	struct module_place place;
	uint64_t key = key_of(copy, &place);

	assert(hp_lock_held(HP_LOCK_trace));
	if (key == 0) {
		add(&owners[OTHER], copy);
		return OTHER;
	}
	if (key != latest_key) {
		uint32_t owner = *slot_of(key) - 1;

		if (owner >= count || !owners[owner].named)
			return OWNERS_UNSEEN;
		latest_key = key;
		latest = owner;
	}
	add(&owners[latest], copy);
	return latest;
}

uint32_t owners_copied(const struct trace_copy *copy)
{
	struct module_place place = { MODULES_NOWHERE, 0 };
	struct owner fresh = { .kind = OWNER_HEAP, .named = true };

	hp_lock(HP_LOCK_trace);
	uint32_t owner = owners_add(copy);
	uint64_t key = key_of(copy, &place);
	hp_unlock(HP_LOCK_trace);
	if (owner != OWNERS_UNSEEN)
		return owner;
	if (copy->allocator != 0) {
		callers_find(copy->allocator, &fresh.way);
	} else {
		fresh.kind = OWNER_STATIC;
		fresh.way = (struct callers_way){ .depth = 1, .frame = { place } };
	}
	hp_lock(HP_LOCK_trace);
	owner = find_or_add(key, &fresh);
	if (owner != OTHER && !owners[owner].named) {
		owners[owner].named = true;
		owners[owner].way = fresh.way;
	}
	add(&owners[owner], copy);
	hp_unlock(HP_LOCK_trace);
	return owner;
}

void owners_pinned(uint32_t allocator, bool begins, uint64_t ns)
{
	hp_lock(HP_LOCK_trace);
	if (owners != NULL) {
		/* The first pin comes before the end of the first copy, which finds the name. */
		struct owner *owner =
			&owners[find_or_add(allocator, &(struct owner){ .kind = OWNER_HEAP })];

		owner->pins += begins;
		owner->pin_ns += ns;
	}
	hp_unlock(HP_LOCK_trace);
}

size_t owners_count(void)
{
	hp_lock(HP_LOCK_trace);
	size_t known = count;
	hp_unlock(HP_LOCK_trace);
	return known;
}

void owners_read(size_t index, struct owner *ret)
{
	hp_lock(HP_LOCK_trace);
	*ret = owners[index];
	hp_unlock(HP_LOCK_trace);
}
