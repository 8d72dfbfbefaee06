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
#include "host/heat.h"
#include "host/inside.h"
#include "host/keep.h"
#include "host/register.h"
#include "host/span.h"

#include <assert.h>

/* After so many refusals in a row that are not the block's fault, nothing is pinned any more. */
#define REFUSALS_MOST 3

/* Shorter copies say more about the call than about the rate. */
#define LEARN_FROM    ((size_t)1 << 20)

/* What heat_rates holds, each learned on its own by any thread. */
static _Atomic uint32_t pageable_h2d, pageable_d2h, pinned_rate, pin_small, pin_huge;

static _Atomic bool pinning_on, under_pressure;
static _Atomic int holds;

/* Under the lock pin; the sums are read by anybody. */
static uint64_t budget;
static unsigned refusals;
static _Atomic size_t pinned_now, pinned_most;
static size_t stuck; /* of that, what the driver would not unpin */

void pin_start(uint64_t most)
{
	hp_lock(HP_LOCK_pin);
	budget = most;
	hp_unlock(HP_LOCK_pin);
	pageable_h2d = heat_rates_default.pageable_h2d;
	pageable_d2h = heat_rates_default.pageable_d2h;
	pinned_rate = heat_rates_default.pinned;
	pin_small = heat_rates_default.pin_small;
	pin_huge = heat_rates_default.pin_huge;
	atomic_store(&pinning_on, most != 0);
}

void pin_stop(const char *why)
{
	if (atomic_exchange(&pinning_on, false))
		hp_debug("nothing more is pinned: %s", why);
}

void pin_hold(void)
{
	atomic_fetch_add(&holds, 1);
}

void pin_release(void)
{
	atomic_fetch_sub(&holds, 1);
}

static uint32_t rate_of(const _Atomic uint32_t *rate)
{
	return atomic_load_explicit(rate, memory_order_relaxed);
}

static struct heat_rates rates_now(void)
{
	return (struct heat_rates){
		.pageable_h2d = rate_of(&pageable_h2d),
		.pageable_d2h = rate_of(&pageable_d2h),
		.pinned = rate_of(&pinned_rate),
		.pin_small = rate_of(&pin_small),
		.pin_huge = rate_of(&pin_huge),
		.pin_floor_ns = heat_rates_default.pin_floor_ns,
		.copy_floor_ns = heat_rates_default.copy_floor_ns,
	};
}

/* Two threads may learn at once; then one of the two samples is lost. */
static void learn(_Atomic uint32_t *rate, size_t bytes, uint64_t ns, uint32_t floor_ns)
{
	if (bytes < LEARN_FROM || ns <= floor_ns)
		return;
	atomic_store_explicit(rate, heat_learn(rate_of(rate), bytes, ns - floor_ns),
			      memory_order_relaxed);
}

/* Takes the block's room out of the budget and the block into BLOCK_PINNING. */
static bool reserve(struct block *block)
{
	bool begun = false;

	hp_lock(HP_LOCK_pin);
	size_t room = heap_pin_begin(block);
	if (room == 0) {
		begun = false;
	} else if (pinned_now + room > budget) {
		heap_set_pin(block, BLOCK_PAGEABLE);
		hp_count(pins_over_budget);
		if (room <= budget)
			heap_hurry(pinned_now + room - budget);
	} else {
		begun = true;
		pinned_now += room;
		if (pinned_now > pinned_most)
			pinned_most = pinned_now;
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
	heap_set_pin(block, error == 0 ? then : BLOCK_FOREIGN);
}

static bool is_nobodys_fault(CUresult result)
{
	return result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_NOT_PERMITTED ||
	       result == CUDA_ERROR_NOT_SUPPORTED;
}

static bool promote(struct block *block)
{
	uintptr_t context;

	if (!register_possible(&context) || !reserve(block))
		return false;

	uint64_t begun = hp_now_ns();
	CUresult result = register_begin(block->base, block->room);
	uint64_t ns = hp_now_ns() - begun;

	hp_lock(HP_LOCK_pin);
	if (result == CUDA_SUCCESS) {
		refusals = 0;
		block->pin_owner = context;
		heap_set_pin(block, BLOCK_PINNED);
	} else {
		refusals = is_nobodys_fault(result) ? refusals + 1 : 0;
		pin_ended(block, 0, BLOCK_REFUSED);
	}
	bool enough = refusals >= REFUSALS_MOST;
	hp_unlock(HP_LOCK_pin);

	if (result == CUDA_SUCCESS) {
		hp_count(pins);
		learn(block->huge ? &pin_huge : &pin_small, block->room, ns,
		      heat_rates_default.pin_floor_ns);
		return true;
	}
	hp_count(pins_refused);
	hp_debug("%zu bytes at %p not pinned: CUDA error %d", block->room, (void *)block->base,
		 (int)result);
	if (enough)
		pin_stop("the driver refused too often");
	return false;
}

bool pin_before_copy(struct block *block, bool to_device, size_t bytes)
{
	int pin = atomic_load_explicit(&block->pin, memory_order_acquire);

	atomic_fetch_add_explicit(to_device ? &block->h2d_bytes : &block->d2h_bytes, bytes,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&block->copies, 1, memory_order_relaxed);
	if (pin != BLOCK_PAGEABLE)
		return pin == BLOCK_PINNED;
	if (!atomic_load_explicit(&pinning_on, memory_order_relaxed) ||
	    atomic_load_explicit(&under_pressure, memory_order_relaxed))
		return false;

	struct heat_rates rates = rates_now();
	uint64_t rent = atomic_load_explicit(&block->excess_ns, memory_order_relaxed);
	if (heat_worth_pinning(&rates, rent, to_device, bytes, block->room, block->huge) &&
	    atomic_load(&holds) == 0 && promote(block))
		return true;
	atomic_fetch_add_explicit(&block->excess_ns, heat_excess_ns(&rates, to_device, bytes),
				  memory_order_relaxed);
	return false;
}

void pin_after_copy(struct block *block, bool to_device, size_t bytes, bool pinned, uint64_t ns)
{
	_Atomic uint32_t *rate = pinned ? &pinned_rate : to_device ? &pageable_h2d : &pageable_d2h;

	(void)block;
	learn(rate, bytes, ns, heat_rates_default.copy_floor_ns);
}

bool pin_covers_any(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address;
	uintptr_t end = bytes < UINTPTR_MAX - at ? at + bytes : UINTPTR_MAX;

	for (struct block *block; (block = span_walk(&at, end)) != NULL;) {
		int pin = atomic_load_explicit(&block->pin, memory_order_acquire);

		if (pin == BLOCK_PINNED || pin == BLOCK_PINNING)
			return true;
	}
	return false;
}

/*
 * What a context that ends had pinned is in doubt while the driver is at it: BLOCK_PINNING with an
 * owner, which no other block of that state has.  Pages given back too early would be silent
 * corruption should the context live on.
 */
static void doubt(struct block *block, void *arg)
{
	if (block->pin == BLOCK_PINNED && block->pin_owner == *(uintptr_t *)arg)
		keep_set_pin(block, BLOCK_PINNING);
}

static void believe_pinned(struct block *block, void *arg)
{
	if (block->pin == BLOCK_PINNING && block->pin_owner == *(uintptr_t *)arg)
		keep_set_pin(block, BLOCK_PINNED);
}

static void believe_gone(struct block *block, void *arg)
{
	if (block->pin != BLOCK_PINNING || block->pin_owner != *(uintptr_t *)arg)
		return;
	pinned_now -= block->room;
	block->pin_owner = 0;
	keep_set_pin(block, BLOCK_PAGEABLE);
}

void pin_context_ending(uintptr_t owner)
{
	hp_lock(HP_LOCK_pin);
	if (owner != 0)
		heap_each(doubt, &owner);
	hp_unlock(HP_LOCK_pin);
}

void pin_context_ended(uintptr_t owner, bool gone)
{
	hp_lock(HP_LOCK_pin);
	if (owner != 0)
		heap_each(gone ? believe_gone : believe_pinned, &owner);
	hp_unlock(HP_LOCK_pin);
}

void pin_forget_context(uintptr_t owner)
{
	pin_context_ending(owner);
	pin_context_ended(owner, true);
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
	if (pinned_most != 0 || foreign_any()) {
		heap_each(forget_any, NULL);
		pinned_now = stuck = 0;
	}
	hp_unlock(HP_LOCK_pin);
}

/*
 * Only this thread has the block.  Its registration ends, unless it has ended already or its
 * context is just ending.
 */
static void unpin_leaving(struct block *block)
{
	hp_lock(HP_LOCK_pin);
	bool ours = block->pin == BLOCK_PINNED;
	uintptr_t owner = ours ? pin_ending(block) : 0;
	hp_unlock(HP_LOCK_pin);
	if (!ours)
		return;

	/* Pages that the driver still holds must neither go back nor serve anybody. */
	int error = register_end(block->base, owner);

	hp_lock(HP_LOCK_pin);
	pin_ended(block, error, BLOCK_PAGEABLE);
	hp_unlock(HP_LOCK_pin);
	hp_count(unpins);
}

size_t pin_when_idle(size_t bytes_most)
{
	size_t done = 0;

	while (done < bytes_most && atomic_load(&holds) == 0) {
		struct block *block = heap_take_due();

		if (block == NULL)
			break;
		done += block->room;
		unpin_leaving(block);
		heap_return(block);
	}
	return done;
}

bool pin_wants_idle(void)
{
	uint64_t due = atomic_load_explicit(&keep_due_at, memory_order_relaxed);

	return due != UINT64_MAX && due <= keep_now();
}

bool pin_wants_pinning(void)
{
	return false;
}

size_t pin_in_background(size_t bytes_most)
{
	(void)bytes_most;
	return 0;
}

size_t pin_relieve(size_t bytes)
{
	heap_hurry(bytes);
	return pin_when_idle(bytes);
}

void pin_press(bool pressed)
{
	atomic_store_explicit(&under_pressure, pressed, memory_order_relaxed);
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
