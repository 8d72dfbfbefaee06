/*
 * device_memory.c - finds the allocation of each free by its address.
 *
 * A record has the time when its call began.  So if one thread frees a block and another one gets
 * its address, the allocation's time may be the earlier one.
 */
#include "trace/device_memory.h"
#include "base/arena.h"
#include "trace/keys.h"
#include "trace/sort.h"

#include <stdatomic.h>
#include <string.h>

#define RECORDS_MOST 65536u
#define ENDS_MOST    32u

/* The longest time that an allocation is taken to wait for the free of the same address. */
#define OVERLAP_NS   100000000

struct record {
	struct device_memory_record it;
	uint64_t number; /* by arrival */
};

struct block {
	uint64_t bytes, at_ns; /* bytes 0: none */
	uint64_t older_bytes;  /* of the block before at this address, whose free has not come */
	uint32_t device;
};

struct device_memory {
	size_t used, ends_seen;
	uint64_t added;
	struct device_memory_sum sums[DEVICE_MEMORY_DEVICES];
	struct record records[RECORDS_MOST];
	struct keys keys; /* addresses of blocks */
	struct block blocks[DEVICE_MEMORY_BLOCKS_MOST];
};

/* The times when the last context ended; 0: not yet written.  Any thread. */
static _Atomic uint64_t ends[ENDS_MOST];
static _Atomic size_t ends_count;

void device_memory_all_gone(uint64_t at_ns)
{
	size_t at = atomic_fetch_add(&ends_count, 1);

	if (at < ENDS_MOST)
		atomic_store(&ends[at], at_ns);
}

struct device_memory *device_memory_create(void)
{
	struct device_memory *memory = hp_arena_alloc(sizeof(*memory));

	if (memory == NULL || keys_start(&memory->keys, DEVICE_MEMORY_BLOCKS_MOST) == 0)
		return memory;
	hp_arena_free(memory, sizeof(*memory));
	return NULL;
}

const struct device_memory_sum *device_memory_of(const struct device_memory *memory, size_t device)
{
	return &memory->sums[device];
}

/* Returns the sum of a device with its curve; NULL: there is no memory for that. */
static struct device_memory_sum *sum_of(struct device_memory *memory, uint32_t device)
{
	struct device_memory_sum *sum = &memory->sums[device];

	if (sum->curve == NULL)
		sum->curve = hp_arena_alloc(sizeof(*sum->curve));
	return sum->curve != NULL ? sum : NULL;
}

/* Of a device with a curve. */
static void change(struct device_memory *memory, uint32_t device, uint64_t at_ns, int64_t bytes)
{
	memory_curve_add(memory->sums[device].curve, at_ns, bytes);
}

/* Ends the block before this one, whose free has come or will not come. */
static void end_older(struct device_memory *memory, struct block *block, uint64_t at_ns)
{
	if (block->older_bytes != 0)
		change(memory, block->device, at_ns, -(int64_t)block->older_bytes);
	block->older_bytes = 0;
}

static void allocate(struct device_memory *memory, const struct device_memory_record *record)
{
	struct device_memory_sum *sum = sum_of(memory, record->device);
	uint32_t row = keys_find(&memory->keys, record->address);

	if (sum == NULL)
		return;
	if (record->address == 0 || record->bytes == 0 ||
	    (row == KEYS_NONE && (row = keys_add(&memory->keys, record->address)) == KEYS_NONE)) {
		sum->uncounted++;
		return;
	}
	struct block *block = &memory->blocks[row];
	if (block->bytes != 0) {
		end_older(memory, block, record->at_ns);
		block->older_bytes = block->bytes;
		if (block->device != record->device)
			end_older(memory, block, record->at_ns);
	}
	block->bytes = record->bytes;
	block->at_ns = record->at_ns;
	block->device = record->device;
	change(memory, block->device, block->at_ns, (int64_t)block->bytes);
}

static void release(struct device_memory *memory, const struct device_memory_record *record)
{
	uint32_t row = keys_find(&memory->keys, record->address);

	if (row == KEYS_NONE) {
		/* A free of address 0 frees nothing. */
		if (record->address != 0 && record->counts &&
		    sum_of(memory, record->device) != NULL)
			memory->sums[record->device].unknown_frees++;
		return;
	}
	struct block *block = &memory->blocks[row];
	uint64_t at_ns = record->at_ns > block->at_ns ? record->at_ns : block->at_ns;
	bool is_of_older = block->older_bytes != 0 && at_ns - block->at_ns < OVERLAP_NS;
	end_older(memory, block, at_ns);
	if (is_of_older)
		return;
	change(memory, block->device, at_ns, -(int64_t)block->bytes);
	*block = (struct block){ 0 };
	keys_remove(&memory->keys, row);
}

static void release_all(struct device_memory *memory, uint64_t at_ns)
{
	int64_t bytes[DEVICE_MEMORY_DEVICES] = { 0 };

	for (uint32_t row = 0; row < memory->keys.rows; row++) {
		struct block *block = &memory->blocks[row];

		if (block->bytes == 0)
			continue;
		bytes[block->device] += (int64_t)(block->bytes + block->older_bytes);
		*block = (struct block){ 0 };
		keys_remove(&memory->keys, row);
	}
	for (uint32_t device = 0; device < DEVICE_MEMORY_DEVICES; device++)
		if (bytes[device] != 0)
			change(memory, device, at_ns, -bytes[device]);
}

static bool is_before(const void *left, const void *right)
{
	const struct record *a = left, *b = right;

	return a->it.at_ns != b->it.at_ns ? a->it.at_ns < b->it.at_ns : a->number < b->number;
}

/* Ends all blocks if the last context ended before `at_ns`. */
static void see_ends(struct device_memory *memory, uint64_t at_ns)
{
	uint64_t end_ns;

	while (memory->ends_seen < ENDS_MOST &&
	       (end_ns = atomic_load(&ends[memory->ends_seen])) != 0 && end_ns <= at_ns) {
		release_all(memory, end_ns);
		memory->ends_seen++;
	}
}

/* Adds up the oldest `count` records. */
static void settle(struct device_memory *memory, size_t count)
{
	sort_heap(memory->records, memory->used, sizeof(memory->records[0]), is_before);
	for (size_t i = 0; i < count; i++) {
		const struct device_memory_record *record = &memory->records[i].it;

		see_ends(memory, record->at_ns);
		(record->frees ? release : allocate)(memory, record);
	}
	memory->used -= count;
	memmove(memory->records, &memory->records[count], memory->used * sizeof(struct record));
}

void device_memory_add(struct device_memory *memory, const struct device_memory_record *record)
{
	if (memory->used == RECORDS_MOST)
		settle(memory, RECORDS_MOST / 2);
	memory->records[memory->used++] = (struct record){ *record, memory->added++ };
}

void device_memory_settle(struct device_memory *memory)
{
	settle(memory, memory->used);
	see_ends(memory, UINT64_MAX);
}
