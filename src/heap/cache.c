/*
 * cache.c - a list of free blocks for each class, and lists of the cached ones by age.
 *
 * A program that allocates, copies and frees in a loop pays for page faults and for pinning once.
 * Unpinned blocks go back by age, down to a floor, and at once above the bound.  Pinned blocks only
 * become due: giving pages back under a registration would corrupt data, so a thread that may call
 * the driver unpins them first.
 *
 * System calls on large ranges run without the lock, on blocks that only one thread can reach
 * (BLOCK_LEAVING).
 */
#include "heap/cache.h"
#include "base/bounds.h"
#include "base/clock.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "base/protections.h"
#include "heap/map.h"
#include "heap/pages.h"
#include "heap/shards.h"

#include <assert.h>

/* Number of cached blocks of a class that are looked at: some may be pinned for smaller sizes. */
#define LOOK_AT    16

/* One part in so many of the bound is given back in addition to what must go back. */
#define SLACK_PART 16

/* Free blocks of a class: BLOCK_CACHED, the newest first, and then BLOCK_EMPTY. */
struct class_list {
	struct block *first, *last;
};

/* BLOCK_CACHED, by freed_ns. */
struct age_list {
	struct block *oldest, *newest;
	size_t bytes;
};

/* Under the lock heap. */
static struct class_list lists[MAP_CLASSES];
static struct age_list loose, pinned;
static size_t target_bytes;
struct cache_bound cache_bound;

static void list_insert(struct block *block, bool at_end)
{
	struct class_list *list = &lists[block->size_class];

	block->previous = at_end ? list->last : NULL;
	block->next = at_end ? NULL : list->first;
	*(block->previous != NULL ? &block->previous->next : &list->first) = block;
	*(block->next != NULL ? &block->next->previous : &list->last) = block;
}

static void list_remove(struct block *block)
{
	struct class_list *list = &lists[block->size_class];

	*(block->previous != NULL ? &block->previous->next : &list->first) = block->next;
	*(block->next != NULL ? &block->next->previous : &list->last) = block->previous;
	block->next = block->previous = NULL;
}

/* Searches from the late end. */
static void age_insert(struct age_list *list, struct block *block)
{
	struct block *older = list->newest;

	while (older != NULL && older->freed_ns > block->freed_ns)
		older = older->older;
	block->older = older;
	block->newer = older != NULL ? older->newer : list->oldest;
	*(block->newer != NULL ? &block->newer->older : &list->newest) = block;
	*(older != NULL ? &older->newer : &list->oldest) = block;
	list->bytes += block->touched;
}

static void age_remove(struct age_list *list, struct block *block)
{
	*(block->older != NULL ? &block->older->newer : &list->oldest) = block->newer;
	*(block->newer != NULL ? &block->newer->older : &list->newest) = block->older;
	block->older = block->newer = NULL;
	list->bytes -= block->touched;
}

static bool is_loose(const struct block *block)
{
	return !block->kept_pinned || !hp_keeps(pinned_pages_stay);
}

static void age_add(struct block *block)
{
	enum block_pin pin = block_pin(block);

	/* The word may change while the block is in a list. */
	block->kept_pinned = pin != BLOCK_PAGEABLE && pin != BLOCK_ALTERED;
	age_insert(is_loose(block) ? &loose : &pinned, block);
}

static void detach(struct block *block)
{
	list_remove(block);
	age_remove(is_loose(block) ? &loose : &pinned, block);
	atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_release);
}

size_t cache_unpinned(void)
{
	return loose.bytes + shards_allowed();
}

size_t cache_room(void)
{
	return hp_above(cache_bound.most, cache_unpinned());
}

bool cache_is_pinned_over(void)
{
	return pinned.bytes > cache_bound.most;
}

/*
 * True if the pages of the free block suit the request.  A block that is being pinned or unpinned,
 * or whose context ends, is left alone: calls that change it would wait for that.
 */
static bool is_of_use(const struct block *block, const struct request *request)
{
	const uint32_t word = atomic_load_explicit(&block->word, memory_order_relaxed);

	return (word & (WORD_FOREIGN | WORD_TAKEN)) == 0 &&
	       huge_suits(block, request->huge, request->site);
}

bool cache_suits_as_it_is(const struct block *block, const struct request *request)
{
	return cache_start_suits(block, block->room, request) && is_of_use(block, request);
}

bool cache_suits(const struct block *block, const struct request *request)
{
	return block_pin(block) == BLOCK_PAGEABLE ? is_of_use(block, request)
						  : cache_suits_as_it_is(block, request);
}

void cache_put(struct block *block, uint64_t freed_ns)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (block_pin(block) == BLOCK_USER_REGISTERED) {
		atomic_store_explicit(&block->state, BLOCK_HELD, memory_order_release);
		return;
	}
	block->freed_ns = freed_ns;
	list_insert(block, false);
	age_add(block);
	atomic_store_explicit(&block->state, BLOCK_CACHED, memory_order_release);
}

struct block *cache_take(const struct request *request)
{
	struct block *block = lists[request->size_class].first;

	assert(hp_lock_held(HP_LOCK_heap));
	for (int looked = 0; looked < LOOK_AT && block != NULL && block->state == BLOCK_CACHED;
	     looked++, block = block->next) {
		if (cache_suits(block, request)) {
			detach(block);
			return block;
		}
	}
	return NULL;
}

struct block *cache_take_new(unsigned size_class)
{
	struct block *block = lists[size_class].last;

	assert(hp_lock_held(HP_LOCK_heap));
	if (block == NULL || block->state != BLOCK_EMPTY)
		return map_create(size_class);
	list_remove(block);
	atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_release);
	return block;
}

/* Threads read the coarse clock at different times: a date in the future is not old. */
static bool is_old(const struct block *block, uint64_t now)
{
	return cache_bound.floor == 0 || hp_above(now, block->freed_ns) >= CACHE_NS;
}

struct block *cache_take_old(size_t most, uint64_t now)
{
	struct block *list = NULL, *block;

	assert(hp_lock_held(HP_LOCK_heap));
	most = hp_least(most, cache_bound.most);
	/* With slack: otherwise each free() from now on would make a system call. */
	if (cache_unpinned() > most)
		most -= most / SLACK_PART;
	while ((block = loose.oldest) != NULL) {
		if (!block_is_altered(block) && cache_unpinned() <= most &&
		    (!is_old(block, now) || cache_unpinned() <= cache_bound.floor))
			break;
		detach(block);
		block->next = list;
		list = block;
	}
	return list;
}

/* A block whose pages read as zero begins like a new one.  In a closed heap it ends. */
static void put_empty(struct block *block)
{
	if (map_is_closed()) {
		/* First, because another thread may map, and free, memory at these addresses. */
		atomic_store_explicit(&block->state, BLOCK_EMPTY, memory_order_release);
		hp_unmap((void *)block->base, block->bytes);
		return;
	}
	block->touched = 0;
	atomic_store_explicit(&block->huge, false, memory_order_relaxed);
	atomic_store_explicit(&block->copied_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&block->copied_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&block->state, BLOCK_EMPTY, memory_order_release);
	list_insert(block, true);
}

size_t cache_purge(struct block *list)
{
	size_t bytes = 0;

	hp_section_begin();
	hp_unlock(HP_LOCK_heap);
	while (list != NULL) {
		struct block *block = list;
		size_t had = block->touched;

		list = block->next;
		bool gone = pages_purge(block);
		bytes += gone ? had : 0;
		hp_lock(HP_LOCK_heap);
		if (gone)
			put_empty(block);
		else
			cache_put(block, hp_now_coarse_ns());
		hp_unlock(HP_LOCK_heap);
	}
	hp_section_end();
	return bytes;
}

void cache_cut(struct block *block)
{
	size_t used = block->touched > block->room ? block->touched : block->room;
	size_t had = block->bytes;

	assert(hp_lock_held(HP_LOCK_heap));
	if (!map_is_closed() || used >= had)
		return;
	/* First, as in put_empty(). */
	block->bytes = used;
	hp_unmap((void *)(block->base + used), had - used);
}

void cache_close(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	for (struct block *block = NULL; (block = map_next(block)) != NULL;) {
		if (block->state == BLOCK_EMPTY) {
			list_remove(block);
			put_empty(block);
		} else if (block->state == BLOCK_LIVE) {
			cache_cut(block);
		}
	}
}

static bool is_due(const struct block *block, uint64_t now)
{
	return target_bytes != 0 || cache_is_pinned_over() || is_old(block, now);
}

bool heap_any_due(void)
{
	return hp_locked(HP_LOCK_heap,
			 pinned.oldest != NULL && is_due(pinned.oldest, hp_now_coarse_ns()));
}

struct block *heap_take_due(void)
{
	hp_lock(HP_LOCK_heap);
	struct block *block = pinned.oldest;
	/* Blocks that are changing are noted when that is done. */
	while (block != NULL && block_pin(block) != BLOCK_PINNED)
		block = block->newer;
	if (block == NULL) {
		target_bytes = 0;
	} else if (!is_due(block, hp_now_coarse_ns())) {
		block = NULL;
	} else {
		target_bytes -= hp_least(block->room, target_bytes);
		detach(block);
	}
	hp_unlock(HP_LOCK_heap);
	return block;
}

void heap_set_reclaim_target(size_t bytes)
{
	hp_lock(HP_LOCK_heap);
	if (pinned.bytes != 0 && bytes > target_bytes)
		target_bytes = bytes;
	hp_unlock(HP_LOCK_heap);
}

void cache_note_pin(struct block *block)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (block->state == BLOCK_CACHED) {
		detach(block);
		cache_put(block, block->freed_ns);
	} else if (block->state == BLOCK_HELD) {
		cache_put(block, hp_now_coarse_ns());
	}
}

/* Requires the lock heap. */
static bool may_pin(const struct block *block)
{
	return block->state == BLOCK_LIVE && !cache_is_pinned_over();
}

size_t heap_try_pin(struct block *block)
{
	size_t room = 0;

	hp_lock(HP_LOCK_heap);
	if (may_pin(block) && word_try_pin(&block->word))
		room = block->room;
	hp_unlock(HP_LOCK_heap);
	return room;
}

enum word_look heap_take_queued(struct block *block, size_t *ret_room)
{
	hp_lock(HP_LOCK_heap);
	enum word_look look = word_look(&block->word);
	*ret_room = look == WORD_ALONE && may_pin(block) ? block->room : 0;
	hp_unlock(HP_LOCK_heap);
	return look;
}

bool heap_alter(struct block *block, uint32_t bit, bool *ret_taken)
{
	hp_lock(HP_LOCK_heap);
	bool live = block->state == BLOCK_LIVE;
	if (live)
		*ret_taken = word_alter(&block->word, bit);
	hp_unlock(HP_LOCK_heap);
	return live;
}

bool heap_release(struct block *block, bool is_pinned, uint32_t *ret_saw)
{
	hp_lock(HP_LOCK_heap);
	bool done = word_release(&block->word, is_pinned, ret_saw);
	if (done)
		cache_note_pin(block);
	hp_unlock(HP_LOCK_heap);
	return done;
}

void heap_keep(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	word_keep(&block->word);
	cache_note_pin(block);
	hp_unlock(HP_LOCK_heap);
}

void heap_return(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	block->next = NULL;
	cache_purge(block);
}

void heap_unhold(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	word_restore(&block->word, WORD_REGISTERED);
	cache_note_pin(block);
	hp_unlock(HP_LOCK_heap);
}
