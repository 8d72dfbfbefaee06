/*
 * host_buffers.c - a table of fixed size, by allocation site or by the place of static memory.
 */
#include "trace/host_buffers.h"
#include "base/arena.h"
#include "base/lock.h"

#include <assert.h>
#include <errno.h>

#define SLOTS (2 * HOST_BUFFERS_MOST)
#define OTHER 0 /* the first buffer stands for all other memory */

/* Under the lock trace. */
static struct host_buffer *buffers;
static uint64_t keys[HOST_BUFFERS_MOST];
static uint32_t slots[SLOTS]; /* an index plus 1; 0: free */
static size_t count;

/*
 * Under the lock trace: the buffer of the latest copy, which is mostly also that of the next copy.
 */
static uint64_t latest_key; /* 0: none */
static uint32_t latest;

int host_buffers_start(void)
{
	struct host_buffer *table = hp_arena_alloc(HOST_BUFFERS_MOST * sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	hp_lock(HP_LOCK_trace);
	buffers = table;
	buffers[OTHER].kind = HOST_BUFFER_OTHER;
	count = 1;
	hp_unlock(HP_LOCK_trace);
	return 0;
}

/* With the lock held.  Returns the slot of the key, or the free slot for it. */
static uint32_t *slot_of(uint64_t key)
{
	for (size_t at = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 50;; at++) {
		uint32_t *slot = &slots[at % SLOTS];

		if (*slot == 0 || keys[*slot - 1] == key)
			return slot;
	}
}

/*
 * With the lock held.  A new buffer begins as `buffer`.  Without room, returns the buffer for all
 * other memory.
 */
static uint32_t find_or_add(uint64_t key, const struct host_buffer *buffer)
{
	uint32_t *slot = slot_of(key);

	if (*slot != 0)
		return *slot - 1;
	if (count == HOST_BUFFERS_MOST)
		return OTHER;
	buffers[count] = *buffer;
	keys[count] = key;
	*slot = (uint32_t)++count;
	return *slot - 1;
}

/* With the lock held.  Returns the key of a copy's buffer; 0: it has no buffer of its own. */
static uint64_t key_of(const struct trace_copy *copy, struct module_place *ret_place)
{
	if (copy->allocator != 0)
		return copy->allocator;
	*ret_place = modules_find_held((uintptr_t)copy->host);
	if (ret_place->module == MODULES_NOWHERE)
		return 0;
	return (uint64_t)1 << 63 | (uint64_t)ret_place->module << 48 | ret_place->offset;
}

static void add_round_trip(uint32_t index, const struct trace_copy *copy)
{
	struct host_buffer *buffer = &buffers[index];
	struct round_trip_sum trip;
	uint32_t from;

	switch (round_trips_copied(copy, index, &trip, &from)) {
	case ROUND_TRIP_SAME:
		round_trip_add(&buffer->round_trips, &trip);
		break;
	case ROUND_TRIP_OTHER:
		round_trip_add(&buffer->follows, &trip);
		buffer->after = from;
		break;
	default:
		break;
	}
}

static void add(uint32_t index, const struct trace_copy *copy)
{
	struct host_buffer *buffer = &buffers[index];

	add_round_trip(index, copy);
	trace_flow_add(&buffer->flow[copy->direction], copy);
	if (copy->block_bytes > buffer->largest_bytes)
		buffer->largest_bytes = copy->block_bytes;
	if (copy->memory == TRACE_PROMOTED) {
		buffer->promoted_bytes += copy->bytes;
		buffer->saved_ns += copy->gain_ns;
	} else if (copy->memory == TRACE_PAGEABLE) {
		buffer->could_save_ns += copy->gain_ns;
	}
}

uint32_t host_buffers_add(const struct trace_copy *copy)
{
	struct module_place place;
	uint64_t key = key_of(copy, &place);

	assert(hp_lock_held(HP_LOCK_trace));
	if (key == 0) {
		add(OTHER, copy);
		return OTHER;
	}
	if (key != latest_key) {
		uint32_t buffer = *slot_of(key) - 1;

		if (buffer >= count || !buffers[buffer].named)
			return HOST_BUFFERS_UNSEEN;
		latest_key = key;
		latest = buffer;
	}
	add(latest, copy);
	return latest;
}

uint32_t host_buffers_copied(const struct trace_copy *copy)
{
	struct module_place place = { MODULES_NOWHERE, 0 };
	struct host_buffer fresh = { .kind = HOST_BUFFER_HEAP, .named = true };

	hp_lock(HP_LOCK_trace);
	uint32_t buffer = host_buffers_add(copy);
	uint64_t key = key_of(copy, &place);
	hp_unlock(HP_LOCK_trace);
	if (buffer != HOST_BUFFERS_UNSEEN)
		return buffer;
	if (copy->allocator != 0) {
		callers_find(copy->allocator, &fresh.way);
	} else {
		fresh.kind = HOST_BUFFER_STATIC;
		fresh.way = (struct callers_way){ .depth = 1, .frame = { place } };
	}
	hp_lock(HP_LOCK_trace);
	buffer = find_or_add(key, &fresh);
	if (buffer != OTHER && !buffers[buffer].named) {
		buffers[buffer].named = true;
		buffers[buffer].way = fresh.way;
	}
	add(buffer, copy);
	hp_unlock(HP_LOCK_trace);
	return buffer;
}

void host_buffers_pinned(uint32_t allocator, bool begins, uint64_t ns)
{
	hp_lock(HP_LOCK_trace);
	if (buffers != NULL) {
		/*
		 * The first pin precedes the end of the first copy, which resolves the allocation
		 * site.
		 */
		struct host_buffer *buffer = &buffers[find_or_add(
			allocator, &(struct host_buffer){ .kind = HOST_BUFFER_HEAP })];

		buffer->pins += begins;
		buffer->pin_ns += ns;
	}
	hp_unlock(HP_LOCK_trace);
}

size_t host_buffers_count(void)
{
	hp_lock(HP_LOCK_trace);
	size_t known = count;
	hp_unlock(HP_LOCK_trace);
	return known;
}

void host_buffers_read(size_t index, struct host_buffer *ret)
{
	hp_lock(HP_LOCK_trace);
	*ret = buffers[index];
	hp_unlock(HP_LOCK_trace);
}
