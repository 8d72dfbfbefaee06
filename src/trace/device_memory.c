/*
 * device_memory.c - finds the allocation of each free by its address.
 *
 * A record has the time when its call began.  So if one thread frees a block and another one gets
 * its address, the allocation's time may be the earlier one.
 */
#include "trace/device_memory.h"
#include "base/arena.h"
#include "trace/sort.h"

#include <stdatomic.h>
#include <string.h>

#define RECORDS_MOST 65536u
#define SLOTS        (2 * DEVICE_MEMORY_BLOCKS_MOST)
#define ENDS_MOST    32u

/* The longest time that an allocation is taken to wait for the free of the same address. */
#define OVERLAP_NS   100000000

struct record {
	struct device_memory_record it;
	uint64_t number; /* by arrival */
};

struct block {
	uint64_t address; /* 0: a free slot */
	uint64_t bytes, at_ns;
	uint64_t older_bytes; /* of the block before at this address, whose free has not come */
	uint32_t device;
};

struct device_memory {
	size_t used, blocks_used, ends_seen;
	uint64_t added;
	struct device_memory_sum sums[DEVICE_MEMORY_DEVICES];
	struct record records[RECORDS_MOST];
	struct block blocks[SLOTS];
};

/* The times when the last context ended; 0: not yet written. */
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
	return hp_arena_alloc(sizeof(struct device_memory));
}

const struct device_memory_sum *device_memory_of(const struct device_memory *memory, size_t device)
{
	return &memory->sums[device];
}

static size_t home_of(uint64_t address)
{
	return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SLOTS;
}

/* Returns the slot of the address, or the free slot for it. */
static size_t slot_of(const struct device_memory *memory, uint64_t address)
{
	size_t at = home_of(address);

	while (memory->blocks[at].address != 0 && memory->blocks[at].address != address)
		at = (at + 1) % SLOTS;
	return at;
}

/* Moves up the blocks behind the slot that could otherwise not be found. */
static void free_slot(struct device_memory *memory, size_t at)
{
	for (size_t next = (at + 1) % SLOTS; memory->blocks[next].address != 0;
	     next = (next + 1) % SLOTS) {
		size_t home = home_of(memory->blocks[next].address);

		if ((next - home) % SLOTS < (next - at) % SLOTS)
			continue;
		memory->blocks[at] = memory->blocks[next];
		at = next;
	}
	memory->blocks[at] = (struct block){ 0 };
	memory->blocks_used--;
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
	struct block *block = &memory->blocks[slot_of(memory, record->address)];

	if (sum == NULL)
		return;
	if (record->address == 0 || record->bytes == 0 ||
	    (block->address == 0 && memory->blocks_used == DEVICE_MEMORY_BLOCKS_MOST)) {
		sum->uncounted++;
		return;
	}
	if (block->address != 0) {
		end_older(memory, block, record->at_ns);
		block->older_bytes = block->bytes;
		if (block->device != record->device)
			end_older(memory, block, record->at_ns);
	} else {
		memory->blocks_used++;
	}
	block->address = record->address;
	block->bytes = record->bytes;
	block->at_ns = record->at_ns;
	block->device = record->device;
	change(memory, block->device, block->at_ns, (int64_t)block->bytes);
}

static void release(struct device_memory *memory, const struct device_memory_record *record)
{
	size_t slot = slot_of(memory, record->address);
	struct block *block = &memory->blocks[slot];
	uint64_t at_ns = record->at_ns > block->at_ns ? record->at_ns : block->at_ns;

	if (block->address == 0) {
		/* A free of address 0 frees nothing. */
		if (record->address != 0 && record->counts &&
		    sum_of(memory, record->device) != NULL)
			memory->sums[record->device].unknown_frees++;
		return;
	}
	bool is_of_older = block->older_bytes != 0 && at_ns - block->at_ns < OVERLAP_NS;
	end_older(memory, block, at_ns);
	if (is_of_older)
		return;
	change(memory, block->device, at_ns, -(int64_t)block->bytes);
	free_slot(memory, slot);
}

static void release_all(struct device_memory *memory, uint64_t at_ns)
{
	int64_t bytes[DEVICE_MEMORY_DEVICES] = { 0 };

	if (memory->blocks_used == 0)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		bytes[memory->blocks[i].device] +=
			(int64_t)(memory->blocks[i].bytes + memory->blocks[i].older_bytes);
	for (uint32_t device = 0; device < DEVICE_MEMORY_DEVICES; device++)
		if (bytes[device] != 0)
			change(memory, device, at_ns, -bytes[device]);
	memset(memory->blocks, 0, sizeof(memory->blocks));
	memory->blocks_used = 0;
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
