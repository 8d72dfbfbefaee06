/*
 * slots.c - parks freed blocks in slots, by one atomic operation.
 *
 * A program that allocates, fills and frees in a loop pays neither for a lock nor for a search, and
 * its threads do not contend (slots in doc/measurements.md).
 *
 * Only one race matters: a slot is taken away while its block is being freed.  The freeing thread
 * parks the block first and then checks that the slot exists.  The other thread takes the slot away
 * first and then checks whether the block is parked.  One of them sees the other, and the thread
 * that moves the state from BLOCK_PARKED to BLOCK_LEAVING owns the block.  All four operations are
 * sequentially consistent.
 */
#include "heap/slots.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "heap/expiry.h"
#include "heap/map.h"

#include <assert.h>
#include <sys/single_threaded.h>

#define SHARDS   32
#define SLOTS    16

/* A slot whose block was not parked for so long may go to another block. */
#define SPARE_NS ((uint64_t)20000000)

struct shard {
	/* Changed under the lock heap, read by any thread. */
	_Atomic uint32_t units[SLOTS]; /* rooms of the blocks below; 0: no block */
	struct block *_Atomic blocks[SLOTS];
} __attribute__((aligned(128)));

/* Under the lock heap. */
struct seen {
	uint32_t turns;    /* block->turns at the last look */
	uint32_t counted;  /* turns that slots_count() has counted */
	uint64_t since_ns; /* the block has not changed since then */
};

static struct shard shards[SHARDS];
static struct seen seen[SHARDS][SLOTS];

static size_t slot_bytes;

unsigned slots_shard(void)
{
	static __thread unsigned mine __attribute__((tls_model("initial-exec")));
	static _Atomic unsigned turn;

	if (mine == 0)
		mine = 1 + atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) % SHARDS;
	return mine - 1;
}

static int state_of(const struct block *block)
{
	return atomic_load_explicit(&block->state, memory_order_acquire);
}

/*
 * The thread that succeeds owns the block.  A process with one thread needs no atomic operation,
 * which would cost as much as all the rest.  glibc's malloc() takes no locks then either.
 */
static bool change_state(struct block *block, int from, int to)
{
	if (__libc_single_threaded) {
		if (atomic_load_explicit(&block->state, memory_order_relaxed) != from)
			return false;
		atomic_store_explicit(&block->state, to, memory_order_relaxed);
		return true;
	}
	return atomic_compare_exchange_strong(&block->state, &from, to);
}

/* Not an atomic addition: only the owner writes it. */
static void turn(struct block *block)
{
	uint32_t turns = atomic_load_explicit(&block->turns, memory_order_relaxed);

	atomic_store_explicit(&block->turns, turns + 1, memory_order_relaxed);
}

static bool stands(const struct block *block, size_t alignment)
{
	return (atomic_load_explicit(&block->base, memory_order_relaxed) & (alignment - 1)) == 0;
}

bool slots_suits(const struct block *block, const struct request *request)
{
	size_t room = atomic_load_explicit(&block->room, memory_order_relaxed);

	return room >= request->room && room <= request->most && stands(block, request->stand) &&
	       huge_suits(block, request->room, request->huge) &&
	       (atomic_load_explicit(&block->word, memory_order_relaxed) & WORD_FOREIGN) == 0;
}

struct block *slots_take(const struct request *request)
{
	struct shard *shard = &shards[slots_shard()];

	size_t least = request->room / MAP_UNIT, most = request->most / MAP_UNIT;

	for (unsigned i = 0; i < SLOTS; i++) {
		size_t count = atomic_load_explicit(&shard->units[i], memory_order_relaxed);

		if (count < least || count > most)
			continue;

		struct block *block = atomic_load_explicit(&shard->blocks[i], memory_order_acquire);
		if (block != NULL && state_of(block) == BLOCK_PARKED &&
		    stands(block, request->stand) &&
		    huge_suits(block, request->room, request->huge) &&
		    change_state(block, BLOCK_PARKED, BLOCK_LIVE)) {
			turn(block);
			return block;
		}
	}
	return NULL;
}

bool slots_park(struct block *block)
{
	if (!atomic_load_explicit(&block->has_slot, memory_order_relaxed))
		return false;

	uint32_t word = atomic_load_explicit(&block->word, memory_order_acquire);
	bool pinned = (word & (WORD_PINNED | WORD_TAKEN)) != 0;

	if (word & WORD_FOREIGN)
		return false;
	/* Most blocks need no clock: they are dated at the first look. */
	atomic_store_explicit(&block->parked_ns, pinned ? hp_now_coarse_ns() : 0,
			      memory_order_relaxed);
	turn(block);
	if (!change_state(block, BLOCK_LIVE, BLOCK_PARKED))
		return false;
	if (pinned)
		expiry_note_parked();
	if (atomic_load(&block->has_slot))
		return true;
	/*
	 * The slot has just been taken away.  No other thread can reach the block, or one owns it
	 * by now.
	 */
	return !change_state(block, BLOCK_PARKED, BLOCK_LIVE);
}

/* The block was parked when it got the slot, so every other turn was an allocation. */
static void count(struct seen *at, const struct block *block)
{
	uint32_t turns = atomic_load_explicit(&block->turns, memory_order_relaxed);
	uint32_t served = turns / 2 + turns % 2;

	hp_count_add(blocks_served, served - at->counted);
	hp_count_add(blocks_reused, served - at->counted);
	at->counted = served;
}

/*
 * Empties the slot.  Returns its block if that was parked and is now owned by the caller; else
 * NULL.
 */
static struct block *clear(unsigned shard, unsigned slot)
{
	struct block *block = shards[shard].blocks[slot];
	count(&seen[shard][slot], block);
	slot_bytes -= block->room;
	atomic_store_explicit(&shards[shard].units[slot], 0, memory_order_relaxed);
	atomic_store_explicit(&shards[shard].blocks[slot], NULL, memory_order_relaxed);
	atomic_store(&block->has_slot, false);
	return change_state(block, BLOCK_PARKED, BLOCK_LEAVING) ? block : NULL;
}

/* True if the block has not changed since `before`. */
static bool is_idle(unsigned shard, unsigned slot, uint64_t before, uint64_t now)
{
	const struct block *block = shards[shard].blocks[slot];
	uint32_t turns = atomic_load_explicit(&block->turns, memory_order_relaxed);
	struct seen *at = &seen[shard][slot];

	if (at->turns != turns) {
		at->turns = turns;
		at->since_ns = atomic_load_explicit(&block->parked_ns, memory_order_relaxed);
		if (at->since_ns == 0)
			at->since_ns = now;
	}
	return at->since_ns <= before;
}

static void push(struct block **list, struct block *block, uint64_t freed_ns)
{
	if (block == NULL)
		return;
	block->freed_ns = freed_ns;
	block->next = *list;
	*list = block;
}

/* Returns a slot of the shard that may be taken; SLOTS: none. */
static unsigned find_slot(unsigned shard, uint64_t now)
{
	for (unsigned slot = 0; slot < SLOTS; slot++)
		if (shards[shard].blocks[slot] == NULL)
			return slot;
	for (unsigned slot = 0; slot < SLOTS; slot++)
		if (is_idle(shard, slot, now - SPARE_NS, now))
			return slot;
	return SLOTS;
}

bool slots_adopt(struct block *block, uint64_t now, struct block **ret_evicted)
{
	assert(hp_lock_held(HP_LOCK_heap));
	assert(block->state == BLOCK_LEAVING && !block->has_slot);
	unsigned shard = block->home, slot;

	if (block->room / MAP_UNIT > UINT32_MAX)
		return false;
	slot = find_slot(shard, now);
	if (slot == SLOTS)
		return false;
	if (shards[shard].blocks[slot] != NULL)
		push(ret_evicted, clear(shard, slot), seen[shard][slot].since_ns);
	atomic_store_explicit(&block->turns, 0, memory_order_relaxed);
	seen[shard][slot] = (struct seen){ .since_ns = now };
	slot_bytes += block->room;
	atomic_store_explicit(&block->has_slot, true, memory_order_relaxed);
	atomic_store(&block->state, BLOCK_PARKED);
	atomic_store_explicit(&shards[shard].units[slot], (uint32_t)(block->room / MAP_UNIT),
			      memory_order_relaxed);
	atomic_store_explicit(&shards[shard].blocks[slot], block, memory_order_release);
	return true;
}

void slots_leave(struct block *block)
{
	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned slot = 0; block->has_slot && slot < SLOTS; slot++)
		if (shards[block->home].blocks[slot] == block)
			clear(block->home, slot);
}

struct block *slots_steal(const struct request *request)
{
	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned shard = 0; shard < SHARDS; shard++) {
		for (unsigned slot = 0; slot < SLOTS; slot++) {
			struct block *block = shards[shard].blocks[slot];

			if (block == NULL || state_of(block) != BLOCK_PARKED ||
			    !slots_suits(block, request) ||
			    !change_state(block, BLOCK_PARKED, BLOCK_LEAVING))
				continue;
			clear(shard, slot);
			return block;
		}
	}
	return NULL;
}

static bool is_meant(enum slots_which which, unsigned shard, unsigned slot, uint64_t before,
		     uint64_t now)
{
	const struct block *block = shards[shard].blocks[slot];
	bool idle = is_idle(shard, slot, before, now), parked = state_of(block) == BLOCK_PARKED;

	switch (which) {
	case SLOTS_IDLE:
		return idle;
	case SLOTS_PINNED:
		return idle && parked && block_pin(block) == BLOCK_PINNED;
	case SLOTS_IN_USE:
		return !parked;
	case SLOTS_MINE:
		return true;
	}
	return false;
}

struct block *slots_drain(enum slots_which which, uint64_t before, uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *list = NULL;
	unsigned first = which == SLOTS_MINE ? slots_shard() : 0;
	unsigned end = which == SLOTS_MINE ? first + 1 : SHARDS;

	for (unsigned shard = first; shard < end; shard++) {
		for (unsigned slot = 0; slot < SLOTS; slot++) {
			if (shards[shard].blocks[slot] == NULL ||
			    !is_meant(which, shard, slot, before, now))
				continue;
			push(&list, clear(shard, slot), seen[shard][slot].since_ns);
		}
	}
	return list;
}

size_t slots_mine(void)
{
	const struct shard *shard = &shards[slots_shard()];
	size_t count = 0;

	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned slot = 0; slot < SLOTS; slot++)
		count += shard->units[slot];
	return count * MAP_UNIT;
}

size_t slots_bytes(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return slot_bytes;
}

uint64_t slots_oldest(bool pinned)
{
	uint64_t oldest = UINT64_MAX;

	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned shard = 0; shard < SHARDS; shard++) {
		for (unsigned slot = 0; slot < SLOTS; slot++) {
			const struct block *block = shards[shard].blocks[slot];

			if (block != NULL && atomic_load(&block->state) == BLOCK_PARKED &&
			    (!pinned || block_pin(block) == BLOCK_PINNED) &&
			    seen[shard][slot].since_ns < oldest)
				oldest = seen[shard][slot].since_ns;
		}
	}
	return oldest;
}

void slots_count(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned shard = 0; shard < SHARDS; shard++)
		for (unsigned slot = 0; slot < SLOTS; slot++)
			if (shards[shard].blocks[slot] != NULL)
				count(&seen[shard][slot], shards[shard].blocks[slot]);
}
