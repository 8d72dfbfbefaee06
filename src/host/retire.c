/*
 * retire.c - the ways out: to the cache, to the kernel, and at whose bidding.
 *
 * System calls on large ranges are made without the lock, on blocks that only this thread can
 * reach (BLOCK_LEAVING).
 */
#include "host/retire.h"
#include "base/lock.h"
#include "host/heap.h"
#include "host/huge.h"
#include "host/inside.h"
#include "host/keep.h"
#include "host/limits.h"
#include "host/pages.h"
#include "host/quick.h"
#include "host/span.h"

#include <assert.h>
#include <errno.h>

#define MIB              ((size_t)1 << 20)

/* Without a device the cache must not make a process larger than its libc would. */
#define PLAIN_KEPT       (60 * MIB)
#define DEVICE_KEPT      (1024 * MIB)
#define DEVICE_KEPT_PART 8 /* of RAM */
#define PRESSED_PART     8

/* What one operation gives back at most of what is too old, and how often it looks. */
#define SWEEP_BYTES      (64 * MIB)
#define SWEEP_NS         ((uint64_t)500000000)

/* What waits in slots for longer than this goes before anything else does. */
#define STALE_NS         ((uint64_t)20000000)

/* Changed under the lock heap, read by anybody. */
static _Atomic bool grown;

/* Under the lock heap. */
static bool device, attended = true;
static enum heap_pressure pressure;
static uint64_t next_sweep;
static size_t yields_below, given_back; /* the latter while nobody attends, of what was too much */

void retire_set_bound(void)
{
	size_t part = limits_ram() / DEVICE_KEPT_PART, most = PLAIN_KEPT;

	assert(hp_lock_held(HP_LOCK_heap));
	if (device && attended)
		most = part < DEVICE_KEPT ? part : DEVICE_KEPT;
	if (pressure == HEAP_PRESSURE_SOME)
		most /= PRESSED_PART;
	else if (pressure == HEAP_PRESSURE_SEVERE || span_is_closed())
		most = 0;
	keep_set_hasty(pressure != HEAP_PRESSURE_NONE);
	keep_set_bound(most);
}

void retire_set_device(bool is_there)
{
	assert(hp_lock_held(HP_LOCK_heap));
	device = is_there;
	retire_set_bound();
}

void retire_set_attended(bool is)
{
	assert(hp_lock_held(HP_LOCK_heap));
	attended = is;
	if (is)
		given_back = 0;
	retire_set_bound();
}

void retire_set_yielding(size_t below)
{
	assert(hp_lock_held(HP_LOCK_heap));
	yields_below = below;
}

bool retire_yields(size_t bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return bytes < yields_below && given_back > PLAIN_KEPT;
}

static size_t bytes_of(const struct block *list)
{
	size_t bytes = 0;

	for (; list != NULL; list = list->next)
		bytes += list->room;
	return bytes;
}

struct block *retire_sweep(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (now < next_sweep && keep_over() == 0)
		return NULL;
	next_sweep = now + SWEEP_NS;
	/* What is only about to be free makes room for what is, and what lies idle for the rest. */
	if (keep_over() > 0)
		keep_put_all(quick_drain(QUICK_IN_USE, 0, now));
	if (keep_over() > 0)
		keep_put_all(quick_drain(QUICK_IDLE, now - STALE_NS, now));
	bool over = keep_over() > 0;
	struct block *leaving = keep_take_expired(now, SWEEP_BYTES);
	if (over && !attended)
		given_back += bytes_of(leaving);
	return leaving;
}

static bool park(struct block *block, uint64_t now)
{
	struct block *evicted = NULL;
	bool lengthened = block->lengthened;

	/*
	 * What grew by realloc() begins small again: cut from these pages, which are in the caches,
	 * and not beside a slot that holds them back.
	 */
	block->lengthened = false;
	if (lengthened && block->pin == BLOCK_PAGEABLE)
		return false;
	if (block->room > keep_spare())
		keep_put_all(quick_drain(QUICK_IN_USE, 0, now));

	bool done = block->room <= keep_spare() && quick_adopt(block, now, &evicted);
	keep_put_all(evicted);
	if (done && block->pin != BLOCK_PAGEABLE && block->pin != BLOCK_REFUSED)
		keep_note_parked();
	return done;
}

struct block *retire_block(struct block *block)
{
	uint64_t now = keep_now();

	assert(hp_lock_held(HP_LOCK_heap));
	assert(block->state == BLOCK_LEAVING);
	quick_leave(block);
	atomic_store_explicit(&block->size, 0, memory_order_relaxed);
	if (block->pin == BLOCK_FOREIGN) {
		atomic_store_explicit(&block->state, BLOCK_HELD, memory_order_release);
	} else if (block->altered) {
		if (block->pin == BLOCK_REFUSED) {
			block->next = retire_sweep(now);
			return block;
		}
		keep_put(block, now);
	} else if (huge_would_be_better(block)) {
		block->next = retire_sweep(now);
		return block;
	} else if (!park(block, now)) {
		keep_put(block, now);
	}
	if (keep_is_above_floor())
		atomic_store(&grown, true);
	return retire_sweep(now);
}

bool heap_wants_care(void)
{
	return atomic_load(&grown) || atomic_load(&keep_due_at) != UINT64_MAX;
}

void retire_list(struct block *list)
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

size_t retire_all(void)
{
	size_t bytes = 0;

	hp_lock(HP_LOCK_heap);
	keep_put_all(quick_drain(QUICK_IDLE, UINT64_MAX, keep_now()));
	size_t turns = keep_bytes() / SWEEP_BYTES + 1;
	hp_unlock(HP_LOCK_heap);
	/* Counted: what the kernel will not take is kept again. */
	while (turns-- > 0) {
		hp_lock(HP_LOCK_heap);
		struct block *leaving = keep_take_expired(keep_now(), SWEEP_BYTES);
		hp_unlock(HP_LOCK_heap);
		bytes += bytes_of(leaving);
		retire_list(leaving);
	}
	return bytes;
}

uint64_t heap_expire(uint64_t now_ns)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	uint64_t before = pressure != HEAP_PRESSURE_NONE ? UINT64_MAX : now_ns - KEEP_SEEN_NS;
	keep_put_all(quick_drain(QUICK_IDLE, before, now_ns));
	struct block *leaving = keep_take_expired(now_ns, SWEEP_BYTES);
	uint64_t due = keep_next_expiry(now_ns);
	if (due == UINT64_MAX)
		atomic_store(&grown, false);
	hp_unlock(HP_LOCK_heap);

	retire_list(leaving);
	errno = saved;
	return due <= now_ns ? 0 : due;
}

void heap_press(enum heap_pressure level)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	pressure = level;
	retire_set_bound();
	hp_unlock(HP_LOCK_heap);
	if (level != HEAP_PRESSURE_NONE)
		retire_all();
	errno = saved;
}

bool heap_trim(size_t left)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	if (left < keep_bound())
		keep_set_bound(left);
	hp_unlock(HP_LOCK_heap);
	bool any = retire_all() > 0;
	hp_lock(HP_LOCK_heap);
	retire_set_bound();
	hp_unlock(HP_LOCK_heap);
	errno = saved;
	return any;
}

void heap_close(void)
{
	int saved = errno;

	/*
	 * First all goes to the kernel: what is free space by then leaves in few large pieces, and
	 * from the upper end without trace.
	 */
	hp_lock(HP_LOCK_heap);
	keep_set_bound(0);
	hp_unlock(HP_LOCK_heap);
	retire_all();
	hp_lock(HP_LOCK_heap);
	span_close();
	retire_set_bound();
	hp_unlock(HP_LOCK_heap);
	retire_all();
	errno = saved;
}
