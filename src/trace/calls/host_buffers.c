/*
 * host_buffers.c - a table of fixed size, by allocation site or by the place of static memory.
 */
#include "trace/calls/host_buffers.h"
#include "base/arena.h"
#include "base/lock.h"
#include "trace/keys.h"

#include <assert.h>
#include <errno.h>

#define OTHER 0 /* the first buffer stands for all other memory; its key is 0 */

/* Under the lock trace. */
static struct host_buffer *buffers;
static struct keys keys;

/*
 * Under the lock trace: the buffer of the latest copy, which is mostly also that of the next copy.
 */
static uint64_t latest_key;
static uint32_t latest;

int host_buffers_start(void)
{
	struct host_buffer *table = hp_arena_alloc(HOST_BUFFERS_MOST * sizeof(*table));

	if (table == NULL || keys_start(&keys, HOST_BUFFERS_MOST) < 0)
		return -ENOMEM;
	table[keys_add(&keys, 0)] =
		(struct host_buffer){ .named = true, .sums = { .kind = "other" } };
	hp_lock(HP_LOCK_trace);
	buffers = table;
	hp_unlock(HP_LOCK_trace);
	return 0;
}

/*
 * With the lock held.  A new buffer begins as `buffer`.  Without room, returns the buffer for all
 * other memory.
 */
static uint32_t find_or_add(uint64_t key, const struct host_buffer *buffer)
{
	uint32_t row = keys_find(&keys, key);

	if (row != KEYS_NONE)
		return row;
	row = keys_add(&keys, key);
	if (row == KEYS_NONE)
		return OTHER;
	buffers[row] = *buffer;
	return row;
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

static void add_trip(struct profile_trips *sum, const struct profile_trips *trip)
{
	sum->count += trip->count;
	sum->bytes += trip->bytes;
	sum->host_ns += trip->host_ns;
	sum->copy_ns += trip->copy_ns;
	sum->download_site = trip->download_site;
	sum->upload_site = trip->upload_site;
	sum->after = trip->after;
}

static void add(uint32_t index, const struct trace_copy *copy, uint32_t site)
{
	struct profile_buffer *buffer = &buffers[index].sums;
	struct profile_trips trip;
	enum round_trip kind = round_trips_copied(copy, index, site, &trip);

	if (kind != ROUND_TRIP_NONE)
		add_trip(kind == ROUND_TRIP_SAME ? &buffer->round_trips : &buffer->follows, &trip);
	trace_flow_add(copy->direction == TRACE_H2D ? &buffer->h2d : &buffer->d2h, copy);
	if ((int64_t)copy->block_bytes > buffer->largest_bytes)
		buffer->largest_bytes = (int64_t)copy->block_bytes;
	if (copy->memory == TRACE_PROMOTED) {
		buffer->promoted_bytes += (int64_t)copy->bytes;
		buffer->saved_ns += (int64_t)copy->gain_ns;
	} else if (copy->memory == TRACE_PAGEABLE) {
		buffer->could_save_ns += (int64_t)copy->gain_ns;
	}
}

uint32_t host_buffers_add(const struct trace_copy *copy, uint32_t site)
{
	struct module_place place;
	uint64_t key = key_of(copy, &place);

	assert(hp_lock_held(HP_LOCK_trace));
	if (key != latest_key) {
		uint32_t buffer = keys_find(&keys, key);

		if (buffer == KEYS_NONE || !buffers[buffer].named)
			return HOST_BUFFERS_UNSEEN;
		latest_key = key;
		latest = buffer;
	}
	add(latest, copy, site);
	return latest;
}

uint32_t host_buffers_copied(const struct trace_copy *copy, uint32_t site)
{
	struct module_place place = { MODULES_NOWHERE, 0 };
	struct host_buffer fresh = { .named = true, .sums = { .kind = "heap" } };

	hp_lock(HP_LOCK_trace);
	uint32_t buffer = host_buffers_add(copy, site);
	uint64_t key = key_of(copy, &place);
	hp_unlock(HP_LOCK_trace);
	if (buffer != HOST_BUFFERS_UNSEEN)
		return buffer;
	if (copy->allocator != 0) {
		callers_find(copy->allocator, &fresh.way);
	} else {
		fresh.sums.kind = "static";
		fresh.way = (struct callers_way){ .depth = 1, .frame = { place } };
	}
	hp_lock(HP_LOCK_trace);
	buffer = find_or_add(key, &fresh);
	if (buffer != OTHER && !buffers[buffer].named) {
		buffers[buffer].named = true;
		buffers[buffer].way = fresh.way;
	}
	add(buffer, copy, site);
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
			allocator, &(struct host_buffer){ .sums = { .kind = "heap" } })];

		buffer->sums.pins += begins;
		buffer->sums.pin_ns += (int64_t)ns;
	}
	hp_unlock(HP_LOCK_trace);
}

size_t host_buffers_count(void)
{
	hp_lock(HP_LOCK_trace);
	size_t known = keys.rows;
	hp_unlock(HP_LOCK_trace);
	return known;
}

void host_buffers_read(size_t index, struct host_buffer *ret)
{
	hp_lock(HP_LOCK_trace);
	*ret = buffers[index];
	hp_unlock(HP_LOCK_trace);
}
