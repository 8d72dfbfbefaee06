/*
 * quick.c - the slots.
 *
 * A program that allocates, fills and frees in a loop shall pay for neither a lock nor a search,
 * and several of its threads shall not meet.  One operation each for malloc() and free() is what
 * glibc needs at best in a program of one thread, and less than it needs in one of several.
 *
 * The race that decides everything: a slot is taken away while its block is being freed.  The
 * thread that frees parks first and asks then whether there is a slot still; the other takes the
 * slot away first and asks then whether the block is parked.  One of them sees the other, and
 * whoever moves the state from BLOCK_PARKED to BLOCK_LEAVING has the block.  All four are
 * sequentially consistent.
 */
#include "host/quick.h"
#include "base/counters.h"
#include "base/lock.h"
#include "host/keep.h"
#include "host/map.h"

#include <assert.h>
#include <sys/single_threaded.h>

#define SHARDS     32
#define SLOTS      16

#define TRUST_MOST 4
#define TRY_EVERY  16

/* A slot whose block was not parked for so long may go to another block. */
#define SPARE_NS   ((uint64_t)20000000)

struct shard {
	/* Changed under the lock heap, read by anybody. */
	_Atomic uint32_t units[SLOTS]; /* the rooms of the blocks below; 0: no block */
	struct block *_Atomic blocks[SLOTS];
} __attribute__((aligned(128)));

/* Under the lock heap. */
struct seen {
	uint32_t turns;    /* block->turns when this was last looked at */
	uint32_t counted;  /* up to which quick_count() has got */
	uint64_t since_ns; /* what has not changed since then has not since this time */
};

static struct shard shards[SHARDS];
static struct seen seen[SHARDS][SLOTS];

/*
 * Whether slots were of use to a shard lately: sizes that never come again are better served by
 * the cache, and a block that has to be fetched from its slot costs more than one without.
 */
static struct trust {
	int score;
	unsigned tries;
} trust[SHARDS];

static size_t slot_bytes;

unsigned quick_shard(void)
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

static int pin_of(const struct block *block)
{
	return atomic_load_explicit(&block->pin, memory_order_acquire);
}

/*
 * Whoever succeeds has the block.  In a process of one thread, where glibc's own malloc() does
 * without locks too, nobody competes, and an atomic operation would cost as much as all the rest.
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

/* Not by an atomic addition: only its owner writes it. */
static void turn(struct block *block)
{
	uint32_t turns = atomic_load_explicit(&block->turns, memory_order_relaxed);

	atomic_store_explicit(&block->turns, turns + 1, memory_order_relaxed);
}

static bool stands(const struct block *block, size_t alignment)
{
	return (atomic_load_explicit(&block->base, memory_order_relaxed) & (alignment - 1)) == 0;
}

bool quick_suits(const struct block *block, const struct need *need)
{
	size_t room = atomic_load_explicit(&block->room, memory_order_relaxed);

	return room >= need->room && room <= need->most && stands(block, need->stand) &&
	       huge_suits(block, need->room, need->huge) &&
	       !atomic_load_explicit(&block->altered, memory_order_relaxed) &&
	       pin_of(block) != BLOCK_FOREIGN;
}

struct block *quick_take(const struct need *need)
{
	struct shard *shard = &shards[quick_shard()];

	size_t least = need->room / MAP_UNIT, most = need->most / MAP_UNIT;

	for (unsigned i = 0; i < SLOTS; i++) {
		size_t count = atomic_load_explicit(&shard->units[i], memory_order_relaxed);

		if (count < least || count > most)
			continue;

		struct block *block = atomic_load_explicit(&shard->blocks[i], memory_order_acquire);
		if (block != NULL && state_of(block) == BLOCK_PARKED &&
		    stands(block, need->stand) && huge_suits(block, need->room, need->huge) &&
		    change_state(block, BLOCK_PARKED, BLOCK_LIVE)) {
			turn(block);
			return block;
		}
	}
	return NULL;
}

bool quick_park(struct block *block)
{
	if (!atomic_load_explicit(&block->quick, memory_order_relaxed))
		return false;

	int pin = pin_of(block);
	bool pinned = pin == BLOCK_PINNED || pin == BLOCK_PINNING;

	if (pin == BLOCK_FOREIGN || atomic_load_explicit(&block->altered, memory_order_relaxed))
		return false;
	/* Most blocks do without the clock: they are dated when they are first looked at. */
	atomic_store_explicit(&block->parked_ns, pinned ? keep_now() : 0, memory_order_relaxed);
	turn(block);
	if (!change_state(block, BLOCK_LIVE, BLOCK_PARKED))
		return false;
	if (pinned)
		keep_note_parked();
	if (atomic_load(&block->quick))
		return true;
	/* The slot has just gone.  Nobody else can see the block, or has it by now. */
	return !change_state(block, BLOCK_PARKED, BLOCK_LIVE);
}

/* It was parked when it got the slot, so every other turn was one of malloc()'s. */
static void count(struct seen *at, const struct block *block)
{
	uint32_t turns = atomic_load_explicit(&block->turns, memory_order_relaxed);
	uint32_t served = turns / 2 + turns % 2;

	hp_count_add(blocks_served, served - at->counted);
	hp_count_add(blocks_reused, served - at->counted);
	at->counted = served;
}

/* The slot is taken away because another block is wanted, or might serve better. */
static void judge(unsigned shard, unsigned slot)
{
	const struct block *block = shards[shard].blocks[slot];
	bool used = atomic_load_explicit(&block->turns, memory_order_relaxed) != 0;
	int score = trust[shard].score + (used ? 1 : -1);

	if (score >= -TRUST_MOST && score <= TRUST_MOST)
		trust[shard].score = score;
}

/* The slot is nobody's.  Who had it, if it was parked and is the caller's now; else NULL. */
static struct block *clear(unsigned shard, unsigned slot)
{
	struct block *block = shards[shard].blocks[slot];
	count(&seen[shard][slot], block);
	slot_bytes -= block->room;
	atomic_store_explicit(&shards[shard].units[slot], 0, memory_order_relaxed);
	atomic_store_explicit(&shards[shard].blocks[slot], NULL, memory_order_relaxed);
	atomic_store(&block->quick, false);
	return change_state(block, BLOCK_PARKED, BLOCK_LEAVING) ? block : NULL;
}

/* Has nothing happened to the block since `before`? */
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

/* A slot of the shard that may be had; SLOTS: none. */
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

bool quick_adopt(struct block *block, uint64_t now, struct block **ret_evicted)
{
	assert(hp_lock_held(HP_LOCK_heap));
	assert(block->state == BLOCK_LEAVING && !block->quick);
	unsigned shard = block->home, slot;

	if (block->room / MAP_UNIT > UINT32_MAX)
		return false;
	if (trust[shard].score < -TRUST_MOST / 2 && ++trust[shard].tries % TRY_EVERY != 0)
		return false;
	slot = find_slot(shard, now);
	if (slot == SLOTS)
		return false;
	if (shards[shard].blocks[slot] != NULL) {
		judge(shard, slot);
		push(ret_evicted, clear(shard, slot), seen[shard][slot].since_ns);
	}
	atomic_store_explicit(&block->turns, 0, memory_order_relaxed);
	seen[shard][slot] = (struct seen){ .since_ns = now };
	slot_bytes += block->room;
	atomic_store_explicit(&block->quick, true, memory_order_relaxed);
	atomic_store(&block->state, BLOCK_PARKED);
	atomic_store_explicit(&shards[shard].units[slot], (uint32_t)(block->room / MAP_UNIT),
			      memory_order_relaxed);
	atomic_store_explicit(&shards[shard].blocks[slot], block, memory_order_release);
	return true;
}

void quick_leave(struct block *block)
{
	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned slot = 0; block->quick && slot < SLOTS; slot++)
		if (shards[block->home].blocks[slot] == block)
			clear(block->home, slot);
}

struct block *quick_steal(const struct need *need)
{
	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned shard = 0; shard < SHARDS; shard++) {
		for (unsigned slot = 0; slot < SLOTS; slot++) {
			struct block *block = shards[shard].blocks[slot];

			if (block == NULL || state_of(block) != BLOCK_PARKED ||
			    !quick_suits(block, need) ||
			    !change_state(block, BLOCK_PARKED, BLOCK_LEAVING))
				continue;
			clear(shard, slot);
			return block;
		}
	}
	return NULL;
}

static bool is_meant(enum quick_which which, unsigned shard, unsigned slot, uint64_t before,
		     uint64_t now)
{
	const struct block *block = shards[shard].blocks[slot];
	bool idle = is_idle(shard, slot, before, now), parked = state_of(block) == BLOCK_PARKED;

	switch (which) {
	case QUICK_IDLE:
		return idle;
	case QUICK_PINNED:
		return idle && parked && pin_of(block) == BLOCK_PINNED;
	case QUICK_IN_USE:
		return !parked;
	case QUICK_MINE:
		return true;
	}
	return false;
}

struct block *quick_drain(enum quick_which which, uint64_t before, uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *list = NULL;
	unsigned first = which == QUICK_MINE ? quick_shard() : 0;
	unsigned end = which == QUICK_MINE ? first + 1 : SHARDS;

	for (unsigned shard = first; shard < end; shard++) {
		for (unsigned slot = 0; slot < SLOTS; slot++) {
			if (shards[shard].blocks[slot] == NULL ||
			    !is_meant(which, shard, slot, before, now))
				continue;
			if (which == QUICK_MINE)
				judge(shard, slot);
			push(&list, clear(shard, slot), seen[shard][slot].since_ns);
		}
	}
	return list;
}

size_t quick_mine(void)
{
	const struct shard *shard = &shards[quick_shard()];
	size_t count = 0;

	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned slot = 0; slot < SLOTS; slot++)
		count += shard->units[slot];
	return count * MAP_UNIT;
}

size_t quick_bytes(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return slot_bytes;
}

uint64_t quick_oldest(bool pinned)
{
	uint64_t oldest = UINT64_MAX;

	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned shard = 0; shard < SHARDS; shard++) {
		for (unsigned slot = 0; slot < SLOTS; slot++) {
			const struct block *block = shards[shard].blocks[slot];

			if (block != NULL && atomic_load(&block->state) == BLOCK_PARKED &&
			    (!pinned || pin_of(block) == BLOCK_PINNED) &&
			    seen[shard][slot].since_ns < oldest)
				oldest = seen[shard][slot].since_ns;
		}
	}
	return oldest;
}

void quick_count(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned shard = 0; shard < SHARDS; shard++)
		for (unsigned slot = 0; slot < SLOTS; slot++)
			if (shards[shard].blocks[slot] != NULL)
				count(&seen[shard][slot], shards[shard].blocks[slot]);
}

int quick_check(void)
{
	size_t bytes = 0;

	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned shard = 0; shard < SHARDS; shard++) {
		for (unsigned slot = 0; slot < SLOTS; slot++) {
			const struct block *block = shards[shard].blocks[slot];
			size_t room = shards[shard].units[slot] * MAP_UNIT;

			if (block == NULL ? room != 0 : room != block->room || !block->quick)
				return __LINE__;
			if (block != NULL && block->home != shard)
				return __LINE__;
			/* Asked for once: malloc() and free() change it meanwhile. */
			int state = block != NULL ? state_of(block) : BLOCK_PARKED;
			if (state != BLOCK_PARKED && state != BLOCK_LIVE && state != BLOCK_LEAVING)
				return __LINE__;
			bytes += room;
		}
	}
	return bytes == slot_bytes ? 0 : __LINE__;
}
