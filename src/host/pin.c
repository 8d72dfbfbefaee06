/*
 * pin.c - when and what we pin, and how much.
 *
 * BLOCK_PAGEABLE -> BLOCK_PINNING -> BLOCK_PINNED, and back by way of BLOCK_PINNING.  A state
 * changes under the locks pin and heap; while the driver is called neither is held, and others who
 * meet BLOCK_PINNING go on as with pageable memory.
 */
#include "host/pin.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/protections.h"
#include "host/behind.h"
#include "host/demote.h"
#include "host/huge.h"
#include "host/inside.h"
#include "host/keep.h"
#include "host/range.h"
#include "host/rates.h"
#include "host/register.h"
#include "host/season.h"
#include "host/site.h"
#include "host/span.h"
#include "host/touched.h"

#include <assert.h>
#include <sched.h>

/* After so many refusals in a row that are the process's fault, nothing is pinned any more. */
#define DENIALS_MOST 3

static _Atomic bool pinning_on, under_pressure;
static _Atomic int holds, questions;

_Atomic(pin_told_fn) pin_told;

/* Under the lock pin; the sums are read by anybody. */
static uint64_t budget;
static _Atomic uint64_t ceiling; /* the budget, or less while the driver is out of memory */
static uint64_t lean_until_ns;   /* by keep_now() */
static unsigned refusals, denials, shortages; /* in a row */
static uint64_t refused_ns;                   /* the last time, by keep_now() */
static _Atomic size_t pinned_now, pinned_most;
static size_t stuck; /* of that, what the driver would not unpin */

void pin_start(uint64_t most)
{
	rates_start();
	hp_lock(HP_LOCK_pin);
	budget = most;
	atomic_store(&ceiling, most);
	hp_unlock(HP_LOCK_pin);
	atomic_store(&pinning_on, most != 0);
}

void pin_stop(const char *why)
{
	if (atomic_exchange(&pinning_on, false))
		hp_debug("nothing more is pinned: %s", why);
}

/* Before the caller looks at any block: reserve() has its own order between these two. */
static void say_first(_Atomic int *count)
{
	atomic_fetch_add(count, 1);
	atomic_thread_fence(memory_order_seq_cst);
}

void pin_hold(void)
{
	say_first(&holds);
}

void pin_release(void)
{
	atomic_fetch_sub(&holds, 1);
}

void pin_ask_begin(void)
{
	say_first(&questions);
}

void pin_ask_end(void)
{
	atomic_fetch_sub(&questions, 1);
}

bool pin_is_held(void)
{
	return atomic_load(&holds) != 0 && hp_keeps(capture_pins_nothing);
}

bool pin_allowed(void)
{
	return atomic_load_explicit(&pinning_on, memory_order_relaxed) &&
	       !atomic_load_explicit(&under_pressure, memory_order_relaxed) && !pin_is_held();
}

size_t pin_room_left(void)
{
	uint64_t most = atomic_load_explicit(&ceiling, memory_order_relaxed);
	size_t now = atomic_load_explicit(&pinned_now, memory_order_relaxed);

	return now < most ? most - now : 0;
}

/* The lock pin is held. */
static bool may_ask_driver(uint64_t now_ns)
{
	if (now_ns >= lean_until_ns)
		atomic_store(&ceiling, budget);
	return refusals == 0 || now_ns - refused_ns >= heat_wait_ns(refusals);
}

/*
 * Takes the block's room out of the budget and the block into BLOCK_PINNING.  Who begins a capture,
 * or asks, says so first and looks at the block then, we the other way round: one of us sees the
 * other.
 */
static bool reserve(struct block *block, uint64_t gain, size_t piece)
{
	hp_lock(HP_LOCK_pin);
	bool may = may_ask_driver(keep_now());
	size_t room = may ? heap_pin_begin(block, piece) : 0;
	bool fits = room <= pin_room_left() || !hp_keeps(pin_budget);
	bool asked = atomic_load(&questions) != 0 && hp_keeps(asked_while_none_begins);
	bool begun = room != 0 && fits && pin_allowed() && !asked;
	if (begun) {
		pinned_now += room;
		if (pinned_now > pinned_most)
			pinned_most = pinned_now;
	} else if (room != 0) {
		heap_set_pin(block, BLOCK_PAGEABLE);
	}
	if (!fits) {
		hp_count(pins_over_budget);
		if (room <= ceiling) {
			heap_hurry(room - pin_room_left());
			oust_wish(block, gain);
		}
	}
	hp_unlock(HP_LOCK_pin);
	return begun;
}

uintptr_t pin_ending(struct block *block)
{
	uintptr_t owner = block->pin_owner;

	assert(hp_lock_held(HP_LOCK_pin));
	block->pin_owner = 0;
	heap_set_pin(block, BLOCK_PINNING);
	return owner;
}

void pin_ended(struct block *block, int error, enum block_pin then)
{
	assert(hp_lock_held(HP_LOCK_pin));
	if (error == 0)
		pinned_now -= block->room;
	else
		stuck += block->room;
	season_unpinned(block);
	heap_set_pin(block, error == 0 ? then : BLOCK_FOREIGN);
}

void pin_lost(struct block *block)
{
	assert(hp_lock_held(HP_LOCK_pin));
	pinned_now -= block->room;
	block->pin_owner = 0;
	season_unpinned(block);
	keep_set_pin(block, BLOCK_PAGEABLE);
}

void pin_settle(struct block *block)
{
	assert(hp_lock_held(HP_LOCK_pin));
	while (block->pin == BLOCK_PINNING) {
		hp_unlock(HP_LOCK_pin);
		sched_yield();
		hp_lock(HP_LOCK_pin);
	}
}

void pin_take_off(struct block *block, enum block_pin then)
{
	uintptr_t owner = pin_ending(block);

	hp_unlock(HP_LOCK_pin);
	int error = register_end(block, owner);
	hp_count(unpins);
	hp_lock(HP_LOCK_pin);
	pin_ended(block, error, then);
}

/*
 * The lock pin is held.  `error` of register_end() as in pin_ended().  True: the driver will not
 * have it, now or ever.
 */
static bool note_refusal(struct block *block, CUresult result, int error)
{
	bool out_of_memory = result == CUDA_ERROR_OUT_OF_MEMORY;
	bool denied = result == CUDA_ERROR_NOT_PERMITTED || result == CUDA_ERROR_NOT_SUPPORTED;

	if (error == 0) {
		pinned_now -= block->room;
		heap_set_pin(block, out_of_memory ? BLOCK_PAGEABLE : BLOCK_REFUSED);
	} else {
		stuck += block->room;
		heap_set_pin(block, BLOCK_FOREIGN);
	}
	refusals++;
	denials = denied ? denials + 1 : 0;
	refused_ns = keep_now();
	if (out_of_memory) {
		uint64_t least = pinned_now + block->room / 2;

		if (least < ceiling)
			atomic_store(&ceiling, least);
		lean_until_ns = refused_ns + heat_lean_ns(++shortages);
	}
	return denials >= DENIALS_MOST;
}

/* What large blocks of small pages look like tells more about their site than about them. */
static bool is_there(const struct block *block)
{
	if (block->huge || block->room < TOUCHED_WORTH_ASKING || !hp_keeps(sparse_unpinned))
		return true;

	unsigned percent = touched_percent(block->start, block->size);
	site_note_dense(block->site, percent == 100);
	return percent >= TOUCHED_LEAST;
}

/* It would grow the process by pages that nobody has touched. */
static void leave_sparse(struct block *block)
{
	season_not_bought(block);
	hp_lock(HP_LOCK_pin);
	pinned_now -= block->room;
	heap_set_pin(block, BLOCK_PAGEABLE);
	hp_unlock(HP_LOCK_pin);
}

static bool promote_begin(struct pin_pieces *ret, struct block *block, uintptr_t context,
			  uint64_t gain, size_t piece)
{
	if (!reserve(block, gain, piece))
		return false;
	if (!is_there(block)) {
		leave_sparse(block);
		return false;
	}
	*ret = (struct pin_pieces){
		.block = block, .context = context, .gain = gain, .price = season_price(block)
	};
	return true;
}

bool pin_pieces_reach(struct pin_pieces *pieces, const void *address)
{
	struct block *block = pieces->block;

	while (pieces->refused == CUDA_SUCCESS &&
	       block->base + pieces->done <= (uintptr_t)address) {
		size_t left = block->room - pieces->done;
		size_t bytes = left < block->piece ? left : block->piece;
		uint64_t begun = hp_now_ns();

		pieces->refused = register_begin(block->base + pieces->done, bytes);
		pieces->ns += hp_now_ns() - begun;
		if (pieces->refused == CUDA_SUCCESS)
			pieces->done += bytes;
	}
	return pieces->refused == CUDA_SUCCESS;
}

static bool promote_refused(struct pin_pieces *pieces)
{
	struct block *block = pieces->block;
	int error = register_end_some(block, pieces->done, pieces->context);

	hp_lock(HP_LOCK_pin);
	bool enough = note_refusal(block, (CUresult)pieces->refused, error);
	hp_unlock(HP_LOCK_pin);
	hp_count(pins_refused);
	hp_debug("%zu bytes at %p not pinned: CUDA error %d", block->room, (void *)block->base,
		 pieces->refused);
	if (enough)
		pin_stop("the driver refused too often");
	return false;
}

static bool promote_end(struct pin_pieces *pieces)
{
	struct block *block = pieces->block;

	if (!pin_pieces_reach(pieces, (void *)(block->base + block->room - 1)))
		return promote_refused(pieces);
	hp_lock(HP_LOCK_pin);
	refusals = denials = shortages = 0;
	block->pin_owner = pieces->context;
	season_bought(block, pieces->gain, pieces->price);
	heap_set_pin(block, BLOCK_PINNED);
	oust_granted(block);
	hp_unlock(HP_LOCK_pin);
	hp_count(pins);
	rates_learn_pin(block->huge, block->room, pieces->ns);
	pin_tell(block, true, pieces->ns);
	return true;
}

bool pin_promote(struct block *block, uintptr_t context, uint64_t gain)
{
	struct pin_pieces whole;

	return promote_begin(&whole, block, context, gain, 0) && promote_end(&whole);
}

bool pin_pieces_end(struct pin_pieces *pieces)
{
	bool pinned = promote_end(pieces);

	if (!pinned)
		season_rented(pieces->block, pieces->gain);
	return pinned;
}

bool pin_would_hand_over(const struct block *block)
{
	return atomic_load_explicit(&block->pin, memory_order_relaxed) == BLOCK_PAGEABLE &&
	       pin_allowed() && register_piece(block->room) < block->room;
}

/*
 * Takes the block for this thread to register while it copies.  Others who copy from or to it would
 * name pieces of both kinds in one call, which the driver refuses: those who begin later see
 * BLOCK_PINNING and the pieces, and who has begun already is seen here.
 */
static bool hand_over(struct pin_pieces *ret, struct block *block, uintptr_t context, uint64_t gain)
{
	size_t piece = register_piece(block->room);

	if (!promote_begin(ret, block, context, gain, piece))
		return false;
	if (!pin_is_only_user() && hp_keeps(handed_over_alone))
		block->piece = block->room;
	if (block->piece < block->room)
		return false;
	bool pinned = promote_end(ret);
	ret->block = NULL;
	return pinned;
}

bool pin_before_copy(struct block *block, bool to_device, size_t bytes,
		     struct pin_pieces *ret_pieces)
{
	int pin = atomic_load_explicit(&block->pin, memory_order_acquire);
	bool pinned = pin == BLOCK_PINNED;
	uintptr_t context;

	huge_before_copy(block, to_device, bytes);
	atomic_store_explicit(&block->copied_ns, keep_now(), memory_order_relaxed);
	if (pinned ? !season_is_owed(block) : pin != BLOCK_PAGEABLE || !pin_allowed())
		return pinned;

	struct heat_rates rates = rates_now();
	uint64_t gain = heat_gain_ns(&rates, to_device, bytes);
	if (pinned) {
		season_spared(block, gain);
		return true;
	}

	uint64_t price = heat_price_ns(&rates, block->room, block->huge);
	bool behind = behind_possible() && block->room <= pin_room_left();
	enum heat_verdict verdict = season_choose(block, gain, price, behind);
	if (verdict != HEAT_RENT && register_possible(&context) &&
	    (verdict == HEAT_PIN || !behind_add(block, context))) {
		pinned = ret_pieces != NULL ? hand_over(ret_pieces, block, context, gain)
					    : pin_promote(block, context, gain);
		if (pinned || (ret_pieces != NULL && ret_pieces->block != NULL))
			return pinned;
	}
	season_rented(block, gain);
	return false;
}

uint64_t pin_gain_ns(bool to_device, size_t bytes)
{
	struct heat_rates rates = rates_now();

	return heat_gain_ns(&rates, to_device, bytes);
}

void pin_after_copy(bool to_device, size_t bytes, bool pinned, uint64_t ns)
{
	rates_learn_copy(to_device, pinned, bytes, ns);
}

bool pin_covers_any(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address, end = range_end(address, bytes);

	for (struct block *block; (block = span_walk(&at, end)) != NULL;) {
		int pin = atomic_load_explicit(&block->pin, memory_order_acquire);

		if (pin == BLOCK_PINNED || pin == BLOCK_PINNING)
			return true;
	}
	return false;
}

bool pin_crosses(const void *address, size_t bytes)
{
	uintptr_t from = (uintptr_t)address, at = from, end = range_end(address, bytes);

	for (struct block *block; (block = span_walk(&at, end)) != NULL;) {
		int pin = atomic_load_explicit(&block->pin, memory_order_acquire);

		if ((pin == BLOCK_PINNED || pin == BLOCK_PINNING) &&
		    (from < block->base || range_run(block, address) < end - from))
			return true;
	}
	return false;
}

static void forget_any(struct block *block, void *arg)
{
	(void)arg;
	if (block->pin == BLOCK_PAGEABLE || block->pin == BLOCK_REFUSED)
		return;
	block->pin_owner = 0;
	block->foreign = 0;
	keep_set_pin(block, BLOCK_PAGEABLE);
	if (block->state == BLOCK_HELD)
		keep_put(block, keep_now());
}

void pin_after_fork_child(void)
{
	pin_stop("this is the child of a fork");
	hp_lock(HP_LOCK_pin);
	behind_after_fork_child();
	demote_after_fork_child();
	if (pinned_most != 0 || foreign_any()) {
		heap_each(forget_any, NULL);
		pinned_now = stuck = 0;
	}
	hp_unlock(HP_LOCK_pin);
}

void pin_press(bool pressed)
{
	atomic_store(&under_pressure, pressed);
}

uint64_t pin_due_ns(void)
{
	return atomic_load_explicit(&keep_due_at, memory_order_relaxed);
}

void pin_stats(size_t *ret_now, size_t *ret_most)
{
	*ret_now = pinned_now;
	*ret_most = pinned_most;
}

static void add_pinned(struct block *block, void *arg)
{
	if (block->pin == BLOCK_PINNED || block->pin == BLOCK_PINNING)
		*(size_t *)arg += block->room;
}

int pin_check(void)
{
	size_t sum = 0;

	hp_lock(HP_LOCK_pin);
	heap_each(add_pinned, &sum);
	int failed = sum + stuck != pinned_now || pinned_now > budget || pinned_now > pinned_most
			     ? __LINE__
			     : 0;
	hp_unlock(HP_LOCK_pin);
	return failed;
}
