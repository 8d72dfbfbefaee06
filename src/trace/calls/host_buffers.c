/*
 * host_buffers.c - a table of fixed size, by allocation site or by the place of static memory.
 */
#include "trace/calls/host_buffers.h"
#include "base/arena.h"
#include "base/lock.h"
#include "trace/calls/calls.h"
#include "trace/keys.h"
#include "trace/places/sites.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define OTHER     0 /* the first buffer stands for all other memory; its key is 0 */

/* Bits of keys. */
#define OF_STATIC ((uint64_t)1 << 63)
#define OF_PINNED ((uint64_t)1 << 62)
#define OF_FILE   ((uint64_t)1 << 61) /* of no other key that has neither bit above */

/* A block that the program has pinned. */
struct pinned {
	uintptr_t from, to;
	uint32_t buffer;
	bool counts;      /* the call was in the capture range */
	uint64_t reached; /* bytes up to the last one that a copy reached */
	uint32_t site;    /* of the latest asynchronous download into it */
	uint64_t waits;   /* waits() then; CALLS_UNKNOWN: none, or not known */
};

/* Under the lock trace. */
static struct host_buffer *buffers;
static struct keys keys;
static struct pinned *pinned; /* by address, without overlaps; NULL: none yet */
static size_t pinned_count;
static uint64_t completed; /* copies that had completed when their calls returned, perhaps */

/*
 * Under the lock trace: the buffer of the latest copy, which is mostly also that of the next copy.
 */
static uint64_t latest_key;
static uint32_t latest;

int host_buffers_start(void)
{
	struct host_buffer *table = keys_start(&keys, HOST_BUFFERS_MOST, sizeof(*table));

	if (table == NULL)
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

/* With the lock held.  Returns the number of pinned blocks that begin at or before the address. */
static size_t pinned_up_to(uintptr_t address)
{
	size_t low = 0, high = pinned_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pinned[middle].from <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* With the lock held.  Returns the pinned block of an address; NULL: there is none. */
static struct pinned *pinned_at(const void *address)
{
	size_t at = pinned_up_to((uintptr_t)address);

	return at > 0 && (uintptr_t)address < pinned[at - 1].to ? &pinned[at - 1] : NULL;
}

/* With the lock held.  Returns the key of a copy's buffer; 0: it has no buffer of its own. */
static uint64_t key_of(const struct trace_copy *copy, struct module_place *ret_place)
{
	if (copy->allocator != 0)
		return copy->allocator;
	const struct pinned *block = pinned_at(copy->host);
	if (block != NULL)
		return keys.key[block->buffer];
	const struct mapped_file *file = mapped_files_at(copy->host);
	if (file != NULL)
		return OF_FILE | file->path >> 3;
	*ret_place = modules_find_held((uintptr_t)copy->host);
	if (ret_place->module == MODULES_NOWHERE)
		return 0;
	return OF_STATIC | (uint64_t)ret_place->module << 48 | ret_place->offset;
}

/*
 * With the lock held.  Returns the number of calls after which host code may read what was
 * downloaded before; CALLS_UNKNOWN: several threads may wait, or a call is not known.
 */
static uint64_t waits(void)
{
	uint64_t calls = calls_waits();

	return calls != CALLS_UNKNOWN ? calls + completed : CALLS_UNKNOWN;
}

/* Notes the latest download into a block that nothing has waited for when its call returns. */
static void note_download(const struct trace_copy *copy, uint32_t site)
{
	struct pinned *block = trace_copy_touched_host(copy) ? NULL : pinned_at(copy->host);

	if (block == NULL)
		completed++;
	else if (copy->direction == TRACE_D2H && copy->bytes > 0) {
		block->waits = waits();
		block->site = site;
	}
}

/* With the lock held.  True if no call can have waited for the block's latest download. */
static bool is_unwaited(const struct pinned *block)
{
	return block->waits != CALLS_UNKNOWN && block->waits == waits();
}

/* Notes that a copy has used a pinned block, which may be registered memory of the heap. */
static void use(const struct trace_copy *copy)
{
	struct pinned *block = pinned_at(copy->host);

	if (block == NULL || !block->counts || copy->bytes == 0)
		return;
	struct profile_pinned *sums = &buffers[block->buffer].sums.pinned;
	uint64_t room = block->to - block->from;
	uint64_t end = (uintptr_t)copy->host - block->from + copy->bytes;

	end = end < room ? end : room;
	if (end <= block->reached)
		return;
	sums->unused_blocks -= block->reached == 0;
	sums->used_bytes += (int64_t)(end - block->reached);
	block->reached = end;
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

	use(copy);
	note_download(copy, site);
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

/* With the lock held.  Adds the buffer of static data at `place`, or of a mapped file. */
static uint32_t add_unallocated(uint64_t key, const struct trace_copy *copy, uint32_t site,
				const struct module_place *place)
{
	struct host_buffer buffer = { .named = true, .sums = { .kind = "static" } };

	if (key >> 61 == OF_FILE >> 61) {
		const struct frames_place *copied_at = sites_place(site);

		buffer.sums.kind = "file";
		memcpy(buffer.file, mapped_files_at(copy->host)->name, sizeof(buffer.file));
		if (copied_at != NULL)
			buffer.place = *copied_at;
	} else {
		buffer.place = (struct frames_place){ .depth = 1, .frame = { *place } };
	}
	return find_or_add(key, &buffer);
}

uint32_t host_buffers_add(const struct trace_copy *copy, uint32_t site)
{
	struct module_place place;
	uint64_t key = key_of(copy, &place);

	assert(hp_lock_held(HP_LOCK_trace));
	if (key != latest_key) {
		uint32_t buffer = keys_find(&keys, key);

		if (buffer == KEYS_NONE && copy->allocator == 0)
			buffer = add_unallocated(key, copy, site, &place);
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
	struct frames_place place;
	bool guessed = callers_find(copy->allocator, &place);

	hp_lock(HP_LOCK_trace);
	uint32_t buffer =
		find_or_add(copy->allocator, &(struct host_buffer){ .sums = { .kind = "heap" } });
	if (!buffers[buffer].named) {
		buffers[buffer].named = true;
		buffers[buffer].guessed = guessed;
		buffers[buffer].place = place;
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

/* With the lock held. */
static void forget_pinned(struct pinned *block)
{
	struct pinned *end = pinned + --pinned_count;

	buffers[block->buffer].sums.pinned.held_bytes -= (int64_t)(block->to - block->from);
	memmove(block, block + 1, (size_t)(end - block) * sizeof(*block));
}

/* With the lock held. */
static void hold_pinned(uint32_t buffer, uintptr_t from, uint64_t bytes, bool counts)
{
	struct profile_pinned *sums = &buffers[buffer].sums.pinned;
	size_t at;

	/* The blocks of a context that has ended may be there still. */
	while ((at = pinned_up_to(from + bytes - 1)) > 0 && pinned[at - 1].to > from)
		forget_pinned(&pinned[at - 1]);
	if (pinned == NULL)
		pinned = hp_arena_alloc(HOST_BUFFERS_PINNED * sizeof(*pinned));
	if (pinned == NULL || pinned_count == HOST_BUFFERS_PINNED)
		return;
	memmove(&pinned[at + 1], &pinned[at], (pinned_count++ - at) * sizeof(*pinned));
	pinned[at] = (struct pinned){ .from = from,
				      .to = from + bytes,
				      .buffer = buffer,
				      .counts = counts,
				      .waits = CALLS_UNKNOWN };
	sums->held_bytes += (int64_t)bytes;
	if (sums->held_bytes > sums->most_bytes)
		sums->most_bytes = sums->held_bytes;
}

void host_buffers_program_pinned(const struct frames_way *way, const void *block, uint64_t bytes,
				 bool registered, bool counts, uint64_t ns)
{
	hp_lock(HP_LOCK_trace);
	uint32_t buffer = find_or_add(
		OF_PINNED | way->hash >> 2,
		&(struct host_buffer){
			.named = true,
			.place = frames_place(way),
			.sums = { .kind = "pinned", .pinned = { .registered = registered } } });
	if (buffer != OTHER) {
		struct profile_pinned *sums = &buffers[buffer].sums.pinned;

		sums->calls += counts;
		sums->unused_blocks += counts;
		sums->bytes += counts ? (int64_t)bytes : 0;
		sums->powers_of_two += counts && bytes > 4096 && (bytes & (bytes - 1)) == 0;
		sums->host_ns += counts ? (int64_t)ns : 0;
		hold_pinned(buffer, (uintptr_t)block, bytes, counts);
	}
	hp_unlock(HP_LOCK_trace);
}

void host_buffers_program_unpinned(const void *block, uint64_t ns)
{
	hp_lock(HP_LOCK_trace);
	/* Without memory for buffers, no block is known. */
	struct pinned *known = pinned_at(block);
	if (known != NULL) {
		struct profile_pinned *sums = &buffers[known->buffer].sums.pinned;

		sums->host_ns += (int64_t)ns;
		/* Unregistering waits for the device, and the memory stays. */
		if (!sums->registered && is_unwaited(known)) {
			sums->unwaited_frees++;
			sums->unwaited_site = known->site;
		}
		forget_pinned(known);
	}
	hp_unlock(HP_LOCK_trace);
}

void host_buffers_ended(void)
{
	hp_lock(HP_LOCK_trace);
	for (size_t i = 0; i < pinned_count; i++) {
		struct profile_pinned *sums = &buffers[pinned[i].buffer].sums.pinned;

		if (!is_unwaited(&pinned[i]))
			continue;
		sums->unwaited_at_end++;
		sums->unwaited_site = pinned[i].site;
	}
	hp_unlock(HP_LOCK_trace);
}

bool host_buffers_read(size_t index, struct host_buffer *ret)
{
	return hp_locked(HP_LOCK_trace, index < keys.rows && (*ret = buffers[index], true));
}
