/*
 * shards.c - parks freed blocks under small locks that are tried, never waited for.
 *
 * A program that allocates, fills and frees in a loop pays neither for the lock heap nor for a
 * search, and its threads do not contend (doc/measurements.md#slots).
 *
 * A parked block keeps its room and its start, so a request gets it only if it fits.  Its room may
 * change under the lock heap only, because a thread of ours may have begun to pin the block before
 * it was freed.
 *
 * The bytes that a shard may hold are counted as cached whether it holds them or not, so that the
 * bound of the cache holds without a common counter.
 */
#include "heap/shards.h"
#include "base/bounds.h"
#include "base/counters.h"
#include "base/lock.h"

#include <assert.h>
#include <sys/single_threaded.h>

#define SHARDS  16
#define ENTRIES 16

struct shard {
	_Atomic uint32_t held; /* a thread is inside */

	/* Of the thread inside. */
	unsigned count;
	uint64_t served;          /* allocations since the last look */
	size_t bytes;             /* of the pages that the entries may have */
	uint8_t classes[ENTRIES]; /* of the blocks below */
	struct block *entries[ENTRIES];

	/* Changed by the thread inside, under the lock heap. */
	size_t allowed;
} __attribute__((aligned(64)));

static struct shard shards[SHARDS];

static unsigned shard_of_thread(void)
{
	static __thread unsigned mine __attribute__((tls_model("initial-exec")));
	static _Atomic unsigned turn;

	if (mine == 0)
		mine = 1 + atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) % SHARDS;
	return mine - 1;
}

/*
 * A process with one thread needs no atomic operation, which would cost as much as all the rest.
 * glibc's malloc() takes no locks then either.  A signal handler may find the shard taken.
 */
static bool enter(struct shard *shard)
{
	hp_section_begin();
	if (atomic_load_explicit(&shard->held, memory_order_relaxed) == 0 &&
	    (__libc_single_threaded ||
	     atomic_exchange_explicit(&shard->held, 1, memory_order_acquire) == 0)) {
		atomic_store_explicit(&shard->held, 1, memory_order_relaxed);
		return true;
	}
	hp_section_end();
	return false;
}

static void leave(struct shard *shard)
{
	atomic_store_explicit(&shard->held, 0, memory_order_release);
	hp_section_end();
}

/* Enters this thread's shard, or the next one that no thread is inside.  NULL: there is none. */
static struct shard *enter_any(void)
{
	unsigned mine = shard_of_thread();

	for (unsigned i = 0; i < SHARDS; i++)
		if (enter(&shards[(mine + i) % SHARDS]))
			return &shards[(mine + i) % SHARDS];
	return NULL;
}

static void add(struct shard *shard, struct block *block)
{
	unsigned at = shard->count++;

	shard->classes[at] = (uint8_t)block->size_class;
	shard->entries[at] = block;
	shard->bytes += block->touched;
	atomic_store_explicit(&block->state, BLOCK_PARKED, memory_order_release);
}

/* The last entry takes the place of the one that is removed. */
static struct block *remove_at(struct shard *shard, unsigned at)
{
	struct block *block = shard->entries[at];
	unsigned last = --shard->count;

	shard->classes[at] = shard->classes[last];
	shard->entries[at] = shard->entries[last];
	shard->bytes -= block->touched;
	return block;
}

typedef bool suits_request(const struct block *block, const struct request *request);

/* Removes a block that suits the request.  NULL: there is none. */
static inline struct block *find(struct shard *shard, const struct request *request,
				 suits_request *suits)
{
	for (unsigned i = shard->count; i-- > 0;)
		if (shard->classes[i] == request->size_class && suits(shard->entries[i], request))
			return remove_at(shard, i);
	return NULL;
}

struct block *shards_take(const struct request *request)
{
	struct shard *shard = enter_any();

	if (shard == NULL)
		return NULL;
	struct block *block = find(shard, request, cache_suits_as_it_is);
	if (block != NULL) {
		shard->served++;
		atomic_store_explicit(&block->state, BLOCK_LIVE, memory_order_release);
	}
	leave(shard);
	return block;
}

bool shards_put(struct block *block)
{
	struct shard *shard = block_pin(block) == BLOCK_PAGEABLE ? enter_any() : NULL;

	if (shard == NULL)
		return false;
	bool fits = shard->count < ENTRIES && shard->bytes + block->touched <= shard->allowed &&
		    atomic_load_explicit(&block->state, memory_order_relaxed) == BLOCK_LIVE;
	if (fits)
		add(shard, block);
	leave(shard);
	return fits;
}

/* Leaves all blocks to the cache, and may hold none until one is freed under the lock. */
static void give_up(struct shard *shard, uint64_t now)
{
	for (unsigned i = 0; i < shard->count; i++)
		cache_put(shard->entries[i], now);
	shard->count = 0;
	shard->bytes = shard->allowed = 0;
}

bool shards_put_more(struct block *block, uint64_t now)
{
	struct shard *shard = &shards[shard_of_thread()];

	assert(hp_lock_held(HP_LOCK_heap));
	if (block_pin(block) != BLOCK_PAGEABLE || !enter(shard))
		return false;
	if (shard->count == ENTRIES ||
	    hp_above(shard->bytes + block->touched, shard->allowed) > cache_room())
		give_up(shard, now);
	size_t lacks = hp_above(shard->bytes + block->touched, shard->allowed);
	bool fits = lacks <= cache_room();
	if (fits) {
		shard->allowed += lacks;
		add(shard, block);
	}
	leave(shard);
	return fits;
}

struct block *shards_steal(const struct request *request)
{
	struct block *block = NULL;

	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned i = 0; i < SHARDS && block == NULL; i++) {
		if (!enter(&shards[i]))
			continue;
		block = find(&shards[i], request, cache_suits);
		if (block != NULL)
			atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_release);
		leave(&shards[i]);
	}
	return block;
}

bool shards_drain(uint64_t now)
{
	bool used = false;

	assert(hp_lock_held(HP_LOCK_heap));
	for (struct shard *shard = shards; shard < shards + SHARDS; shard++) {
		if (!enter(shard)) {
			used = true;
			continue;
		}
		used = used || shard->served != 0;
		give_up(shard, now);
		hp_count_add(blocks_served, shard->served);
		hp_count_add(blocks_reused, shard->served);
		shard->served = 0;
		leave(shard);
	}
	return used;
}

size_t shards_allowed(void)
{
	size_t sum = 0;

	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned i = 0; i < SHARDS; i++)
		sum += shards[i].allowed;
	return sum;
}

void shards_after_fork_child(void)
{
	for (struct shard *shard = shards; shard < shards + SHARDS; shard++)
		*shard = (struct shard){ .served = 0 };
}
