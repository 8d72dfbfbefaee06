/*
 * cache.c - the free cache by size; expiry.c has the same blocks by age.
 *
 * A program that allocates, copies and frees in a loop pays for page faults and for pinning once.
 * Unpinned blocks are joined with their neighbors and cut to size, as in any malloc().  A pinned
 * block stays whole until a thread that may call the driver has unpinned it: giving its pages back
 * under a registration would corrupt data.
 */
#include "heap/cache.h"
#include "base/bounds.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "base/protections.h"
#include "heap/bins.h"
#include "heap/expiry.h"
#include "heap/map.h"
#include "heap/slots.h"
#include "heap/span.h"

#include <assert.h>

/* Number of blocks that are looked at in a bin before the next bin. */
#define LOOK_AT     16

/* A block is lengthened only if it has at least this part of the request. */
#define LONGER_PART 4

/* Under the lock heap. */
static struct bins bins; /* of BLOCK_CACHED */

static void insert(struct block *block)
{
	bins_add(&bins, block);
	atomic_store_explicit(&block->state, BLOCK_CACHED, memory_order_release);
	expiry_add(block);
}

static void detach(struct block *block)
{
	bins_remove(&bins, block);
	atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_release);
	expiry_remove(block);
}

/* True if the cached `neighbor` and `block` may be joined. */
static bool may_join(const struct block *neighbor, const struct block *block)
{
	return neighbor != NULL && neighbor->state == BLOCK_CACHED &&
	       block_pin(neighbor) == BLOCK_PAGEABLE && neighbor->huge == block->huge;
}

/* Joins two neighbors.  The larger one keeps its freed_ns. */
static struct block *join(struct block *a, struct block *b)
{
	struct block *large = a->room >= b->room ? a : b, *small = a->room >= b->room ? b : a;

	large->copied_bytes += small->copied_bytes;
	large->moved = large->moved || small->moved;
	span_join(large, small);
	return large;
}

void cache_put(struct block *block, uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	block->freed_ns = block_is_altered(block) ? 0 : now;
	if (block_pin(block) == BLOCK_PAGEABLE || !hp_keeps(pinned_stays_whole)) {
		struct block *lower = map_at(block->base - 1);
		struct block *upper = map_at(block->base + block->room);

		if (may_join(lower, block)) {
			detach(lower);
			block = join(lower, block);
		}
		if (may_join(upper, block)) {
			detach(upper);
			block = join(block, upper);
		}
	}
	insert(block);
}

void cache_put_all(struct block *list)
{
	while (list != NULL) {
		struct block *block = list;

		list = block->next;
		cache_put(block, block->freed_ns);
	}
}

/*
 * Cuts a BLOCK_LEAVING block in two, and divides its count of copied bytes.  The smaller part
 * becomes a new block, because mapping costs in proportion to its size.  False: not cut.
 */
static bool split(struct block *block, size_t room, struct block **ret_lower,
		  struct block **ret_upper)
{
	size_t whole = block->room;
	bool below = room < whole - room;
	struct block *part = below ? span_cut_below(block, room) : span_cut(block, room);

	if (part == NULL)
		return false;
	part->freed_ns = block->freed_ns;
	part->copied_bytes = block->copied_bytes / (whole / MAP_UNIT) * (part->room / MAP_UNIT);
	block->copied_bytes -= part->copied_bytes;
	*ret_lower = below ? part : block;
	*ret_upper = below ? block : part;
	return true;
}

static size_t skipped(const struct block *block, size_t alignment)
{
	return -block->base & (alignment - 1);
}

/* True if the pages of the block suit the request. */
static bool is_of_use(const struct block *block, const struct request *request)
{
	return !block_is_altered(block) && huge_suits(block, request->room, request->huge);
}

static bool fits(const struct block *block, const struct request *request)
{
	size_t front = skipped(block, request->stand);

	if (!is_of_use(block, request) || front > block->room ||
	    block->room - front < request->room)
		return false;
	/* A pinned block stays whole. */
	return block_pin(block) == BLOCK_PAGEABLE || (front == 0 && block->room <= request->most);
}

/* Cuts off the first `front` bytes of a BLOCK_LEAVING block.  NULL: not possible. */
static struct block *without_front(struct block *block, size_t front)
{
	struct block *rest;

	if (front == 0)
		return block;
	if (!split(block, front, &rest, &block)) {
		insert(block);
		return NULL;
	}
	insert(rest);
	return block;
}

/* Takes a block out of the cache and caches what is left over below and above. */
static struct block *carve(struct block *block, const struct request *request)
{
	struct block *rest;

	detach(block);
	block = without_front(block, skipped(block, request->stand));
	if (block != NULL && block->room > request->most &&
	    split(block, request->room, &block, &rest))
		insert(rest);
	return block;
}

struct block *cache_take(const struct request *request)
{
	assert(hp_lock_held(HP_LOCK_heap));
	unsigned bin = bins_index(request->room);

	for (; (bin = bins_up(&bins, bin)) < BINS; bin++) {
		struct block *block = bins.first[bin];

		for (int looked = 0; block != NULL && looked < LOOK_AT; looked++) {
			if (fits(block, request))
				return carve(block, request);
			block = block->next;
		}
	}
	return NULL;
}

/* Returns the bytes of free addresses above the block. */
static size_t free_behind(const struct block *block)
{
	const struct block *after = map_at(block->base + block->room);

	return after != NULL && after->state == BLOCK_SPACE ? after->room : 0;
}

static bool could_be_longer(const struct block *block, const struct request *request)
{
	size_t front = skipped(block, request->stand);

	return block_pin(block) == BLOCK_PAGEABLE && block->huge == (request->huge != HUGE_NOT) &&
	       front < block->room && block->room - front >= request->room / LONGER_PART &&
	       block->room - front + free_behind(block) >= request->room;
}

/* Returns the largest of a few candidates. */
static struct block *find_longer(const struct request *request)
{
	unsigned least = bins_index(request->room / LONGER_PART), bin = BINS - 1;

	for (; (bin = bins_down(&bins, bin)) < BINS && bin >= least; bin--) {
		struct block *block = bins.first[bin];

		for (int looked = 0; block != NULL && looked < LOOK_AT; looked++) {
			if (could_be_longer(block, request))
				return block;
			block = block->next;
		}
		if (bin == 0)
			break;
	}
	return NULL;
}

struct block *cache_take_longer(const struct request *request, size_t *ret_used)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *block = find_longer(request);

	if (block == NULL)
		return NULL;
	detach(block);
	block = without_front(block, skipped(block, request->stand));
	if (block == NULL)
		return NULL;
	*ret_used = block->room;
	if (block->room >= request->room || span_extend(block, request->room))
		return block;
	insert(block);
	return NULL;
}

bool cache_extend(struct block *block, size_t room, uintptr_t *ret_fresh)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *upper = map_at(block->base + block->room), *rest;
	size_t lacking = room - block->room;

	if (may_join(upper, block)) {
		if (upper->room < lacking && upper->room + free_behind(upper) < lacking)
			return false;
		detach(upper);
		if (upper->room > lacking && split(upper, lacking, &upper, &rest))
			insert(rest);
		block->moved = block->moved || upper->moved;
		span_join(block, upper);
	}
	*ret_fresh = block->base + block->room;
	return block->room >= room || span_extend(block, room);
}

/* Takes at most about `bytes` of a cached block, its upper end; the rest stays. */
static struct block *take_upper(struct block *block, size_t bytes)
{
	size_t unit = block->huge ? HP_HUGE_PAGE_BYTES : MAP_UNIT;

	detach(block);
	if (block_pin(block) != BLOCK_PAGEABLE || bytes >= block->room)
		return block;

	/* No page may be cut in two. */
	uintptr_t at = (block->base + block->room - bytes) & -unit;
	struct block *rest;
	if (at > block->base && split(block, at - block->base, &rest, &block))
		insert(rest);
	return block;
}

struct block *cache_take_expired(uint64_t now, size_t bytes_most)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *list = NULL, *block;
	size_t taken = 0, bytes;

	/*
	 * A little more than necessary; otherwise each free() from now on would make a system
	 * call.
	 */
	size_t excess = expiry_excess();

	while (taken < bytes_most || taken < excess) {
		block = expiry_next(now, hp_above(excess, taken), hp_above(bytes_most, taken),
				    &bytes);
		if (block == NULL)
			break;
		block = take_upper(block, bytes);
		taken += block->room;
		block->next = list;
		list = block;
	}
	return list;
}

struct block *cache_take_due(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	cache_put_all(slots_drain(SLOTS_PINNED, expiry_due_before(now), now));

	struct block *block = expiry_next_due(now);
	if (block != NULL)
		detach(block);
	return block;
}
