/*
 * heap.c - allocation and freeing of big blocks, from the cache (keep.c) or from free address
 * space (span.c).
 *
 * Runs inside malloc() of programs that are not ours: no malloc, no stdio, no driver, errno as it
 * was.  System calls on large ranges are made without the lock, on blocks that only this thread
 * can reach (BLOCK_LEAVING).
 */
#include "host/heap.h"
#include "base/counters.h"
#include "base/lock.h"
#include "host/inside.h"
#include "host/keep.h"
#include "host/limits.h"
#include "host/pages.h"
#include "host/span.h"
#include "host/stagger.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define MIB              ((size_t)1 << 20)
#define HUGE_PAGE        (2 * MIB)

/* Without a device the cache must not make a process larger than its libc would. */
#define PLAIN_KEPT       (64 * MIB)
#define PLAIN_BLOCK      (32 * MIB)
#define DEVICE_KEPT      (1024 * MIB)
#define DEVICE_KEPT_PART 8 /* of RAM */
#define HUGE_PART        16
#define PRESSED_PART     8

/* What one operation gives back at most of what is too old, and how often it looks. */
#define SWEEP_BYTES      (64 * MIB)
#define SWEEP_NS         ((uint64_t)500000000)

/* A block that shrinks by less than one part in so many keeps its room. */
#define SHRINK_PART      16

/* Copying less costs no more than to move it. */
#define MOVE_LEAST       MIB

static _Atomic bool started, device;

/* Under the lock heap. */
static bool prepared;
static enum heap_pressure pressure;
static size_t block_most; /* larger ones are for the kernel to refuse */
static size_t huge_most;  /* larger ones get small pages: a sparse user must not run out */
static size_t live_bytes;
static uint64_t next_sweep;
static unsigned turn; /* of the next fresh block, for stagger.h */

void heap_start(void)
{
	atomic_store(&started, true);
}

static void set_bounds(void)
{
	size_t part = limits_ram() / DEVICE_KEPT_PART, most = PLAIN_KEPT;

	if (atomic_load(&device))
		most = part < DEVICE_KEPT ? part : DEVICE_KEPT;
	if (pressure == HEAP_PRESSURE_SOME)
		most /= PRESSED_PART;
	else if (pressure == HEAP_PRESSURE_SEVERE || span_is_closed())
		most = 0;
	keep_set_hasty(pressure != HEAP_PRESSURE_NONE);
	keep_set_bounds(most, atomic_load(&device) ? SIZE_MAX : PLAIN_BLOCK);
}

void heap_set_device(bool is_there)
{
	/* Read from files, so not under the lock. */
	size_t ram = limits_ram(), left = limits_cgroup_left("");

	hp_lock(HP_LOCK_heap);
	atomic_store(&device, is_there);
	huge_most = (left < ram ? left : ram) / HUGE_PART;
	if (prepared)
		set_bounds();
	hp_unlock(HP_LOCK_heap);
}

/* The lock heap is held. */
static bool prepare(void)
{
	if (!prepared) {
		prepared = true;
		block_most = limits_ram_and_swap();
		set_bounds();
		span_start();
	}
	return span_start();
}

/* Blocks that are BLOCK_LEAVING, a list by `next`, become free space. */
static void give_back(struct block *list)
{
	while (list != NULL) {
		struct block *block = list;

		list = block->next;
		bool clean = span_is_closed() || pages_purge(block);
		hp_lock(HP_LOCK_heap);
		if (clean)
			span_give(block);
		else
			keep_put(block, keep_now());
		hp_unlock(HP_LOCK_heap);
	}
}

/* The lock heap is held. */
static struct block *sweep(uint64_t now)
{
	if (now < next_sweep && !keep_is_over())
		return NULL;
	next_sweep = now + SWEEP_NS;
	return keep_take_expired(now, SWEEP_BYTES);
}

static struct block *take(size_t room, size_t alignment, bool *ret_clean)
{
	size_t natural = room >= HUGE_PAGE ? HUGE_PAGE : SPAN_UNIT;

	if (alignment < natural)
		alignment = natural;

	struct block *block = keep_take(room, alignment);
	*ret_clean = block == NULL;
	if (block == NULL) {
		block = span_take(room, alignment);
		if (block != NULL)
			block->huge =
				room >= HUGE_PAGE && room <= huge_most && atomic_load(&device);
	}
	return block;
}

/*
 * A kept block begins where it began before, if that will do: those pages are there.  One that was
 * cut or joined meanwhile may have its old start outside.
 */
static bool start_suits(const struct block *block, size_t bytes, size_t alignment)
{
	size_t offset = block->start - block->base;

	return block->start % alignment == 0 && offset <= block->room &&
	       bytes <= block->room - offset;
}

void *heap_alloc(size_t bytes, size_t alignment, bool zeroed, uint32_t site)
{
	struct block *block = NULL, *leaving = NULL;
	bool clean = true;
	int saved = errno;

	if (!atomic_load_explicit(&started, memory_order_relaxed))
		return NULL;
	if (alignment == 0)
		alignment = 1;

	hp_lock(HP_LOCK_heap);
	if (prepare() && bytes <= block_most) {
		block = take(span_room(bytes + stagger_most(bytes, alignment)), alignment, &clean);
		leaving = sweep(keep_now());
	}
	if (block != NULL) {
		live_bytes += block->room;
		if (clean || !start_suits(block, bytes, alignment))
			block->start = block->base + stagger_offset(turn++, bytes, alignment);
		block->site = site;
		atomic_store_explicit(&block->size, bytes, memory_order_relaxed);
		atomic_store_explicit(&block->state, BLOCK_LIVE, memory_order_release);
	}
	hp_unlock(HP_LOCK_heap);

	give_back(leaving);
	errno = saved;
	if (block == NULL) {
		hp_count(heap_fallbacks);
		return NULL;
	}
	hp_count(blocks_served);
	if (!clean)
		hp_count(blocks_reused);
	else if (block->huge)
		pages_want_huge(block->base, block->base + block->room);
	if (!clean && zeroed)
		memset((void *)block->start, 0, bytes);
	return (void *)block->start;
}

bool heap_holds(const void *address)
{
	struct block *block = span_at((uintptr_t)address);
	int state = block != NULL ? atomic_load_explicit(&block->state, memory_order_acquire)
				  : BLOCK_SPACE;

	if (!heap_owns(address) || (state < BLOCK_LIVE && span_is_closed()))
		return false;
	return state < BLOCK_LIVE || !atomic_load_explicit(&block->altered, memory_order_relaxed);
}

/* The block in use that starts at `address`, or NULL. */
static struct block *find_live(const void *address)
{
	struct block *block = span_at((uintptr_t)address);

	if (block == NULL ||
	    atomic_load_explicit(&block->state, memory_order_acquire) != BLOCK_LIVE)
		return NULL;
	return block->start == (uintptr_t)address ? block : NULL;
}

/* A block in use becomes free.  The lock heap is held.  Returns what give_back() shall have. */
static struct block *retire(struct block *block)
{
	uint64_t now = keep_now();

	live_bytes -= block->room;
	atomic_store_explicit(&block->size, 0, memory_order_relaxed);
	if (block->pin == BLOCK_FOREIGN) {
		atomic_store_explicit(&block->state, BLOCK_HELD, memory_order_release);
		return sweep(now);
	}
	if (!keep_wants(block)) {
		atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_release);
		block->next = sweep(now);
		return block;
	}
	keep_put(block, now);
	return sweep(now);
}

int heap_free(void *address)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	struct block *block = find_live(address);
	struct block *leaving = block != NULL ? retire(block) : NULL;
	hp_unlock(HP_LOCK_heap);

	give_back(leaving);
	errno = saved;
	return block != NULL ? 0 : -EINVAL;
}

size_t heap_usable(const void *address)
{
	struct block *block = find_live(address);

	return block != NULL ? block->room - (block->start - block->base) : 0;
}

/* The room for `bytes` in a block that keeps its start. */
static size_t room_for(const struct block *block, size_t bytes)
{
	return span_room(bytes + (block->start - block->base));
}

/* Does nothing pin it?  The lock heap is held. */
static bool is_bare(const struct block *block)
{
	return block->pin == BLOCK_PAGEABLE || block->pin == BLOCK_REFUSED;
}

bool heap_resize(void *address, size_t bytes)
{
	struct block *leaving = NULL;
	uintptr_t grown_from = 0, grown_to = 0;
	bool done = false;
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	struct block *block = find_live(address);
	if (block != NULL && bytes <= block_most) {
		size_t room = room_for(block, bytes), old = block->room;

		if (room <= old && room >= old - old / SHRINK_PART) {
			done = true;
		} else if (!is_bare(block) || block->altered) {
			done = room < old && room >= old / 2;
		} else if (room < old) {
			leaving = span_cut(block, room);
			done = true;
		} else {
			done = span_extend(block, room);
			grown_from = done && block->huge ? block->base + old : 0;
			grown_to = block->base + room;
		}
		live_bytes += block->room - old;
		if (done)
			atomic_store_explicit(&block->size, bytes, memory_order_relaxed);
	}
	hp_unlock(HP_LOCK_heap);

	give_back(leaving);
	if (grown_from != 0)
		pages_want_huge(grown_from, grown_to);
	errno = saved;
	return done;
}

/* What is known of the pages goes with them. */
static void inherit(struct block *to, struct block *from)
{
	to->start = to->base + (from->start - from->base);
	to->huge = from->huge;
	to->moved = true;
	to->site = from->site;
	to->h2d_bytes = from->h2d_bytes;
	to->d2h_bytes = from->d2h_bytes;
	to->copies = from->copies;
	to->excess_ns = atomic_exchange(&from->excess_ns, 0);
	to->drawn_ns = atomic_exchange(&from->drawn_ns, 0);
	to->copied_ns = from->copied_ns;
}

/* A block in use is taken from its owner; *ret_to is where it shall go.  NULL: it may not. */
static struct block *move_begin(const void *address, size_t bytes, struct block **ret_to)
{
	hp_lock(HP_LOCK_heap);
	struct block *from = find_live(address), *to = NULL;
	if (from != NULL && is_bare(from) && !from->altered && from->room >= MOVE_LEAST &&
	    bytes <= block_most && room_for(from, bytes) > from->room)
		to = span_take(room_for(from, bytes), HUGE_PAGE);
	if (to != NULL) {
		live_bytes -= from->room;
		atomic_store_explicit(&from->state, BLOCK_LEAVING, memory_order_release);
	}
	hp_unlock(HP_LOCK_heap);
	*ret_to = to;
	return to != NULL ? from : NULL;
}

/* The pages are in `to`, or still in `from`: that one is in use from now on. */
static void move_end(struct block *from, struct block *to, size_t bytes, bool moved)
{
	hp_lock(HP_LOCK_heap);
	if (moved) {
		inherit(to, from);
		atomic_store_explicit(&to->size, bytes, memory_order_relaxed);
	} else {
		span_give(to);
	}
	live_bytes += moved ? to->room : from->room;
	atomic_store_explicit(moved ? &to->state : &from->state, BLOCK_LIVE, memory_order_release);
	hp_unlock(HP_LOCK_heap);
}

void *heap_move(void *address, size_t bytes)
{
	int saved = errno;
	struct block *to, *from = move_begin(address, bytes, &to);
	bool moved = from != NULL && pages_move(from, to);

	if (from != NULL)
		move_end(from, to, bytes, moved);
	errno = saved;
	if (!moved)
		return NULL;
	if (to->huge)
		pages_want_huge(to->base + from->room, to->base + to->room);
	from->next = NULL;
	give_back(from);
	return (void *)to->start;
}

uint64_t heap_expire(uint64_t now_ns)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	struct block *leaving = keep_take_expired(now_ns, SWEEP_BYTES);
	uint64_t due = keep_next_expiry();
	hp_unlock(HP_LOCK_heap);

	give_back(leaving);
	errno = saved;
	return due <= now_ns ? 0 : due;
}

void heap_press(enum heap_pressure level)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	pressure = level;
	if (prepared)
		set_bounds();
	size_t turns = level != HEAP_PRESSURE_NONE ? keep_bytes() / SWEEP_BYTES + 1 : 0;
	hp_unlock(HP_LOCK_heap);
	/* Counted: what the kernel will not take is kept again. */
	while (turns-- > 0) {
		hp_lock(HP_LOCK_heap);
		struct block *leaving = keep_take_expired(keep_now(), SWEEP_BYTES);
		hp_unlock(HP_LOCK_heap);
		give_back(leaving);
	}
	errno = saved;
}

static void empty_cache(void)
{
	hp_lock(HP_LOCK_heap);
	keep_set_bounds(0, 0);
	struct block *leaving = keep_take_expired(keep_now(), SIZE_MAX / 2);
	hp_unlock(HP_LOCK_heap);
	give_back(leaving);
}

void heap_close(void)
{
	/* What is free space by then goes in few large pieces, and from the upper end without
	 * trace. */
	empty_cache();
	hp_lock(HP_LOCK_heap);
	span_close();
	hp_unlock(HP_LOCK_heap);
	empty_cache();
}

void heap_stats(size_t *ret_live, size_t *ret_kept)
{
	hp_lock(HP_LOCK_heap);
	*ret_live = live_bytes;
	*ret_kept = keep_bytes();
	hp_unlock(HP_LOCK_heap);
}

int heap_check(void)
{
	size_t live = 0;

	hp_lock(HP_LOCK_heap);
	int failed = span_check();
	if (failed == 0)
		failed = keep_check();
	for (struct block *at = span_first(); at != NULL; at = span_next(at))
		live += at->state == BLOCK_LIVE ? at->room : 0;
	if (failed == 0 && live != live_bytes)
		failed = __LINE__;
	hp_unlock(HP_LOCK_heap);
	return failed;
}

size_t heap_pin_begin(struct block *block)
{
	size_t room = 0;

	assert(hp_lock_held(HP_LOCK_pin));
	hp_lock(HP_LOCK_heap);
	if (block->state == BLOCK_LIVE && block->pin == BLOCK_PAGEABLE) {
		keep_set_pin(block, BLOCK_PINNING);
		room = block->room;
	}
	hp_unlock(HP_LOCK_heap);
	return room;
}

bool heap_set_altered(struct block *block)
{
	assert(hp_lock_held(HP_LOCK_pin));
	hp_lock(HP_LOCK_heap);
	bool live = block->state == BLOCK_LIVE;
	if (live) {
		atomic_store_explicit(&block->altered, true, memory_order_release);
		if (block->pin == BLOCK_PAGEABLE)
			keep_set_pin(block, BLOCK_REFUSED);
	}
	hp_unlock(HP_LOCK_heap);
	return live;
}

void heap_set_pin(struct block *block, enum block_pin pin)
{
	assert(hp_lock_held(HP_LOCK_pin));
	hp_lock(HP_LOCK_heap);
	keep_set_pin(block, pin);
	hp_unlock(HP_LOCK_heap);
}

struct block *heap_take_due(void)
{
	hp_lock(HP_LOCK_heap);
	struct block *block = keep_take_due(keep_now());
	hp_unlock(HP_LOCK_heap);
	return block;
}

void heap_return(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	bool bare = is_bare(block);
	if (block->pin == BLOCK_FOREIGN)
		atomic_store_explicit(&block->state, BLOCK_HELD, memory_order_release);
	else if (!bare)
		keep_put(block, block->freed_ns);
	hp_unlock(HP_LOCK_heap);
	if (bare)
		give_back(block);
}

void heap_unhold(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	if (block->state == BLOCK_HELD && block->pin != BLOCK_FOREIGN)
		keep_put(block, keep_now());
	hp_unlock(HP_LOCK_heap);
}

void heap_hurry(size_t bytes)
{
	hp_lock(HP_LOCK_heap);
	keep_hurry(bytes);
	hp_unlock(HP_LOCK_heap);
}

void heap_each(void (*visit)(struct block *block, void *arg), void *arg)
{
	assert(hp_lock_held(HP_LOCK_pin));
	hp_lock(HP_LOCK_heap);
	for (struct block *at = span_first(); at != NULL; at = span_next(at))
		if (at->state > BLOCK_GONE)
			visit(at, arg);
	hp_unlock(HP_LOCK_heap);
}
