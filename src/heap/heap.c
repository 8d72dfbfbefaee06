/*
 * heap.c - allocates, resizes and frees big blocks: from a shard (shards.c), the free cache
 * (cache.c) or new addresses (map.c).
 *
 * Runs inside malloc() of other programs: no malloc, no stdio, no driver call; errno is kept.
 */
#include "heap/heap.h"
#include "base/bounds.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "base/protections.h"
#include "heap/cache.h"
#include "heap/limits.h"
#include "heap/map.h"
#include "heap/pages.h"
#include "heap/reclaim.h"
#include "heap/shards.h"

#include <errno.h>
#include <string.h>

/* More than any machine has, and small enough that sums do not overflow. */
#define BYTES_MOST  ((size_t)1 << 44)

/* A block that shrinks by less than one part in so many keeps its pages. */
#define SHRINK_PART 16

/*
 * A block that grows moves to a class of so many times its size, or of what counts as its size: it
 * will go on growing, and addresses cost nothing while half of them are free.  Copying it is what
 * costs: growing in steps of 64 KiB to 8 MiB took three times as long with three moves as with one.
 * A block that shrinks to less than one part in so many moves, too.
 */
#define GROW_TIMES  4
#define GROW_LEAST  ((size_t)8 << 20)
#define LEAST_PART  8

/* Copying less is not slower than moving pages. */
#define MOVE_LEAST  ((size_t)1 << 20)

/*
 * Address coloring: new blocks begin at different offsets, which repeat after so many turns.
 *
 * Programs that walk several arrays side by side are slow if all of them begin at multiples of 2
 * MiB: a load waits for an earlier store whose address agrees in the low bits, 21 of them on 2 MiB
 * pages and 12 on others.  A prefix sum over two such arrays took 33 ms instead of 2 ms (Xeon,
 * model 207).  Starts 4 KiB or 64 bytes apart cost nothing.  A step of a large block changes both;
 * a small block must not touch more pages than necessary.
 */
#define TURNS       16
#define LARGE_STEP  ((size_t)4096 + 256)
#define SMALL_STEP  ((size_t)256)

static _Atomic unsigned turn; /* of the next new block, for its offset */

void heap_set_device(bool is_there)
{
	hp_lock(HP_LOCK_heap);
	atomic_store(&huge_device, is_there);
	if (is_there)
		map_start();
	hp_unlock(HP_LOCK_heap);
	if (is_there)
		heap_look();
}

static size_t offset_of_turn(unsigned at, size_t bytes, size_t alignment)
{
	size_t step = bytes >= HP_HUGE_PAGE_BYTES ? LARGE_STEP : SMALL_STEP;

	return at % TURNS * step & ~(alignment - 1);
}

/* Fills *request.  False: no block can be so large, or so aligned. */
static bool make_request(struct request *request, size_t bytes, size_t alignment, uint32_t site)
{
	if (bytes > BYTES_MOST)
		return false;

	unsigned size_class = map_class(bytes + offset_of_turn(TURNS - 1, bytes, alignment));
	*request = (struct request){
		.bytes = bytes,
		.alignment = alignment,
		.size_class = size_class,
		.huge = huge_decide(bytes, site),
		.site = site,
	};
	return alignment <= HP_PAGE_BYTES || alignment <= map_alignment(size_class);
}

/* Returns the room for `bytes` in a block that keeps its offset. */
static size_t room_for(const struct block *block, size_t bytes)
{
	return (bytes + (block->start - block->base) + HP_PAGE_BYTES - 1) & -HP_PAGE_BYTES;
}

static void choose_start(struct block *block, const struct request *request)
{
	unsigned at = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed);
	size_t offset = offset_of_turn(at, request->bytes, request->alignment);

	atomic_store_explicit(&block->start, block->base + offset, memory_order_relaxed);
}

static void set_user(struct block *block, const struct request *request)
{
	atomic_store_explicit(&block->site, request->site, memory_order_relaxed);
	atomic_store_explicit(&block->size, request->bytes, memory_order_relaxed);
}

/* Prepares a BLOCK_LEAVING block for the program.  Requires the lock heap. */
static void hand_out(struct block *block, const struct request *request)
{
	/* Otherwise the block begins where it began before: those pages are resident. */
	if (block->touched == 0 || !cache_start_suits(block, block->bytes, request))
		choose_start(block, request);
	if (block_pin(block) == BLOCK_PAGEABLE)
		atomic_store_explicit(&block->room, room_for(block, request->bytes),
				      memory_order_relaxed);
	set_user(block, request);
}

/* Returns a block for the request, in the state `then`, or NULL. */
static struct block *take(const struct request *request, enum block_state then)
{
	struct block *block = NULL, *leaving = NULL;
	uint64_t now = hp_now_coarse_ns();
	bool wants_huge = false;

	reclaim_look();
	hp_lock(HP_LOCK_heap);
	if (map_start() && map_could_hold(request->bytes)) {
		block = cache_take(request);
		if (block == NULL)
			block = shards_steal(request);
		if (block != NULL)
			hp_count(blocks_reused);
		else if (!reclaim_yields(request->bytes))
			block = cache_take_new(request->size_class);
		reclaim_note_taken(now);
		leaving = reclaim_sweep(now);
	}
	if (block != NULL) {
		hand_out(block, request);
		if (block->touched == 0)
			atomic_store_explicit(&block->huge, request->huge, memory_order_relaxed);
		wants_huge = block->huge && block->touched < block->room;
		atomic_store_explicit(&block->state, then, memory_order_release);
	}
	cache_purge(leaving);
	if (block != NULL)
		hp_count(blocks_served);
	if (wants_huge)
		pages_want_huge(block->base + block->touched, block->base + block->room);
	return block;
}

void *heap_alloc(size_t bytes, size_t alignment, bool zeroed, uint32_t site)
{
	struct request request;

	if (!make_request(&request, bytes, alignment != 0 ? alignment : 1, site)) {
		hp_count(heap_fallbacks);
		return NULL;
	}

	struct block *block = shards_take(&request);
	if (block != NULL) {
		set_user(block, &request);
	} else {
		block = take(&request, BLOCK_LIVE);
		if (block == NULL) {
			hp_count(heap_fallbacks);
			return NULL;
		}
	}
	if (zeroed && block->base + block->touched > block->start) {
		uintptr_t end = block->start + bytes, dirty = block->base + block->touched;

		pages_clear(block, block->start, end < dirty ? end : dirty);
	}
	if (block->touched < block->room)
		block->touched = block->room;
	return (void *)block->start;
}

bool heap_holds(const void *address)
{
	struct block *block = map_at((uintptr_t)address);
	int state = block != NULL ? atomic_load_explicit(&block->state, memory_order_acquire)
				  : BLOCK_EMPTY;

	if (!heap_owns(address) ||
	    (map_is_closed() &&
	     (state < BLOCK_LIVE || (uintptr_t)address - block->base >= block->bytes)))
		return false;
	return state < BLOCK_LIVE || !block_is_altered(block);
}

/* Returns blocks for cache_purge().  Requires the lock heap. */
static struct block *release(struct block *block)
{
	uint64_t now = hp_now_coarse_ns();
	bool goes = block_pin(block) == BLOCK_ALTERED || huge_would_be_better(block);

	atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_relaxed);
	if (!goes && !shards_put_more(block, now))
		cache_put(block, now);
	struct block *leaving = reclaim_sweep(now);
	if (!goes)
		return leaving;
	block->next = leaving;
	return block;
}

int heap_free(void *address)
{
	struct block *block = range_starting_at(address);

	if (block == NULL)
		return -EINVAL;
	if (!huge_would_be_better(block) && shards_put(block))
		return 0;

	hp_lock(HP_LOCK_heap);
	/* If two threads free the same block, one of them fails here. */
	bool in_use = block->state == BLOCK_LIVE;
	cache_purge(in_use ? release(block) : NULL);
	reclaim_look();
	return in_use ? 0 : -EINVAL;
}

/* True if the block is unpinned and its mapping is ours.  Requires the lock heap. */
static bool is_bare(const struct block *block)
{
	return !hp_keeps(grown_unpinned) || block_pin(block) == BLOCK_PAGEABLE;
}

/* Gives the block another room, if its pin allows that.  False: the block must move. */
static bool set_room(struct block *block, size_t room)
{
	hp_lock(HP_LOCK_heap);
	bool bare = is_bare(block);
	/* The next block of the class would waste what is above; a closed heap may have less. */
	size_t most =
		bare ? hp_least(block->bytes, map_class_bytes(block->size_class)) : block->room;
	bool fits = block->state == BLOCK_LIVE && room <= most && room >= block->room / LEAST_PART;
	bool shrinks = room < block->room;
	if (fits && bare)
		atomic_store_explicit(&block->room, room, memory_order_relaxed);
	hp_unlock(HP_LOCK_heap);
	if (!fits || !bare)
		return fits;

	/* No pin covers these pages. */
	if (shrinks) {
		pages_drop_tail(block, room);
		hp_lock(HP_LOCK_heap);
		cache_cut(block);
		hp_unlock(HP_LOCK_heap);
	}
	if (block->touched < room && (block->huge || huge_decide(room, block->site))) {
		atomic_store_explicit(&block->huge, true, memory_order_relaxed);
		pages_want_huge(block->base + block->touched, block->base + room);
	}
	if (block->touched < room)
		block->touched = room;
	return true;
}

bool heap_resize(void *address, size_t bytes)
{
	struct block *block = range_starting_at(address);

	if (block == NULL || bytes > BYTES_MOST)
		return false;

	/* A block that changes by little needs no lock. */
	size_t room = room_for(block, bytes), old = block->room;
	if ((room > old || room < old - old / SHRINK_PART) && !set_room(block, room))
		return false;
	atomic_store_explicit(&block->size, bytes, memory_order_relaxed);
	return true;
}

/*
 * Moves the pages of `from`, in use, to `to`, which has none.  From then on no thread reaches
 * `from`.  False: nothing has changed.
 */
static bool move_pages(struct block *from, struct block *to, size_t bytes)
{
	size_t room = room_for(from, bytes);

	hp_lock(HP_LOCK_heap);
	/*
	 * Another thread may be freeing the block, by mistake.  A large block is mapped again when
	 * its pages go back (pages_purge()).
	 */
	bool may = from->room >= MOVE_LEAST && to->bytes >= HP_HUGE_PAGE_BYTES && is_bare(from) &&
		   room <= to->bytes && from->state == BLOCK_LIVE;
	if (may)
		atomic_store_explicit(&from->state, BLOCK_LEAVING, memory_order_relaxed);
	hp_unlock(HP_LOCK_heap);
	if (!may)
		return false;

	/* The child of a fork gives both back as it finds them. */
	to->touched = room;
	if (!pages_move(from, to, hp_least(from->room, room))) {
		to->touched = 0;
		atomic_store_explicit(&from->state, BLOCK_LIVE, memory_order_release);
		return false;
	}
	to->start = to->base + (from->start - from->base);
	to->room = room;
	return true;
}

/* Moves the contents of `from`, in use, to `to`, a BLOCK_LEAVING block.  Frees `from`. */
static void move_to(struct block *to, struct block *from, size_t bytes)
{
	bool moved = to->touched == 0 && move_pages(from, to, bytes);

	/* As above. */
	to->touched = to->touched < to->room ? to->room : to->touched;
	if (!moved) {
		size_t old = from->room - (from->start - from->base);

		memcpy((void *)to->start, (void *)from->start, bytes < old ? bytes : old);
	}
	to->copied_bytes = atomic_exchange(&from->copied_bytes, 0);
	to->copied_ns = from->copied_ns;
	atomic_store_explicit(&to->state, BLOCK_LIVE, memory_order_release);
	if (moved) {
		from->next = NULL;
		hp_lock(HP_LOCK_heap);
		cache_purge(from);
	} else {
		heap_free((void *)from->start);
	}
}

void *heap_move(void *address, size_t bytes)
{
	struct block *from = range_starting_at(address);
	struct request request;
	void *result = NULL;

	if (from == NULL || !make_request(&request, bytes, 1, from->site))
		return NULL;
	if (bytes > from->size && map_is_roomy())
		request.size_class =
			map_class(GROW_TIMES * (bytes > GROW_LEAST ? bytes : GROW_LEAST));
	if (from->huge)
		request.huge = true;
	hp_section_begin();
	/* No thread may pin it while pages move there. */
	struct block *to = take(&request, BLOCK_LEAVING);
	if (to != NULL) {
		move_to(to, from, bytes);
		result = (void *)to->start;
	}
	hp_section_end();
	return result;
}

size_t heap_usable(const void *address)
{
	struct block *block = range_starting_at(address);

	return block != NULL ? block->room - (block->start - block->base) : 0;
}

void heap_count(void)
{
	hp_lock(HP_LOCK_heap);
	shards_drain(hp_now_coarse_ns());
	hp_unlock(HP_LOCK_heap);
}

size_t heap_live(size_t *ret_blocks)
{
	size_t bytes = 0, blocks = 0;

	for (struct block *block = NULL; (block = map_next(block)) != NULL;) {
		if (block->state != BLOCK_LIVE)
			continue;
		bytes += block->room;
		blocks++;
	}
	*ret_blocks = blocks;
	return bytes;
}

void heap_after_fork_child(void)
{
	struct block *list = NULL;

	hp_lock(HP_LOCK_heap);
	shards_after_fork_child();
	for (struct block *block = NULL; (block = map_next(block)) != NULL;) {
		if (block->state == BLOCK_EMPTY)
			continue;
		word_reset(&block->word);
		block->user_registrations = 0;
		cache_note_pin(block);
		if (block->state != BLOCK_PARKED && block->state != BLOCK_LEAVING)
			continue;
		atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_relaxed);
		block->next = list;
		list = block;
	}
	cache_purge(list);
}
