/*
 * demote.c - unpinning while the device has nothing to do.
 *
 * Freed blocks first.  Blocks in use only where memory is short, or where a hotter one has paid for
 * the exchange.  A copy that goes straight to a block's memory must not meet its end, so each one
 * is counted (pin_use_begin()): while any runs no block in use is unpinned, and while one is, the
 * next copy waits.
 */
#include "host/demote.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/protections.h"
#include "host/heat.h"
#include "host/inside.h"
#include "host/keep.h"
#include "host/pin.h"
#include "host/rates.h"
#include "host/register.h"
#include "host/season.h"

#include <limits.h>

#define WISHES_MOST  8
#define VICTIMS_MOST 16

static _Atomic unsigned users;   /* copies that run */
static _Atomic uint32_t leaving; /* 1: a block in use is being unpinned */
static _Atomic bool oust_wanted; /* a wish may be paid for */

/* Under the lock pin.  A wish whose block is another's by now is dropped when it is looked at. */
static struct wish {
	struct block *block;
	uintptr_t base;
	uint64_t since_ns, seen_ns; /* by keep_now() */
	uint64_t paid, price;       /* rent since then; what pinning costs */
} wishes[WISHES_MOST];

void pin_use_begin(void)
{
	hp_uncancellable_begin();
	for (;;) {
		atomic_fetch_add(&users, 1);
		if (!atomic_load(&leaving))
			return;
		atomic_fetch_sub(&users, 1);
		/* unpin_in_use() wakes. */
		while (atomic_load(&leaving))
			hp_wait_until(&leaving, 1, UINT64_MAX);
	}
}

void pin_use_end(void)
{
	atomic_fetch_sub(&users, 1);
	hp_uncancellable_end();
}

bool pin_is_only_user(void)
{
	return atomic_load(&users) == 1;
}

/* Ends our registration of a block that is BLOCK_PINNING by pin_ending(). */
static int end_pin(struct block *block, uintptr_t owner)
{
	uint64_t begun = hp_now_ns();
	int error = register_end(block, owner);
	uint64_t ns = hp_now_ns() - begun;

	hp_lock(HP_LOCK_pin);
	/* Pages that the driver still holds must neither go back nor serve anybody. */
	pin_ended(block, error, BLOCK_PAGEABLE);
	hp_unlock(HP_LOCK_pin);
	hp_count(unpins);
	if (error == 0)
		rates_learn_unpin(block->huge, block->room, ns);
	pin_tell(block, false, ns);
	return error;
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
	if (ours)
		end_pin(block, owner);
}

/* A block in use, if it is pinned still and no copy runs.  Returns the bytes unpinned. */
static size_t unpin_in_use(struct block *block)
{
	size_t room = 0;

	if (atomic_exchange(&leaving, 1))
		return 0;
	hp_lock(HP_LOCK_pin);
	bool may = (atomic_load(&users) == 0 || !hp_keeps(no_pin_ends_under_a_copy)) &&
		   !pin_is_held() && block->pin == BLOCK_PINNED && block->state == BLOCK_LIVE;
	uintptr_t owner = may ? pin_ending(block) : 0;
	hp_unlock(HP_LOCK_pin);
	if (may) {
		room = block->room;
		end_pin(block, owner);
	}
	atomic_store(&leaving, 0);
	hp_wake(&leaving, INT_MAX);
	return room;
}

/* The pinned blocks in use that were copied longest ago, the coldest first. */
struct victims {
	uint64_t before_ns; /* only those copied before */
	unsigned count;
	struct block *blocks[VICTIMS_MOST];
	uint64_t copied_ns[VICTIMS_MOST];
};

static void gather(struct block *block, void *arg)
{
	struct victims *victims = arg;
	uint64_t copied_ns = atomic_load_explicit(&block->copied_ns, memory_order_relaxed);
	unsigned at = victims->count;

	if (block->pin != BLOCK_PINNED || block->state != BLOCK_LIVE ||
	    copied_ns >= victims->before_ns)
		return;
	if (at == VICTIMS_MOST) {
		if (copied_ns >= victims->copied_ns[at - 1])
			return;
		at--;
	} else {
		victims->count++;
	}
	for (; at > 0 && victims->copied_ns[at - 1] > copied_ns; at--) {
		victims->blocks[at] = victims->blocks[at - 1];
		victims->copied_ns[at] = victims->copied_ns[at - 1];
	}
	victims->blocks[at] = block;
	victims->copied_ns[at] = copied_ns;
}

static bool is_valid(const struct wish *wish)
{
	return wish->block != NULL && wish->block->base == wish->base &&
	       wish->block->state == BLOCK_LIVE && wish->block->pin == BLOCK_PAGEABLE;
}

/* Could anybody's place be worth it?  At the least that is another pin of the same kind. */
static bool is_paid(const struct wish *wish)
{
	return wish->block != NULL && wish->paid >= 2 * wish->price;
}

void oust_wish(struct block *block, uint64_t gain)
{
	struct wish *wish = &wishes[0];

	for (int i = 0; i < WISHES_MOST; i++) {
		if (wishes[i].block == block && wishes[i].base == block->base) {
			wish = &wishes[i];
			break;
		}
		if (wishes[i].seen_ns < wish->seen_ns)
			wish = &wishes[i];
	}

	uint64_t now_ns = keep_now();
	if (wish->block != block || wish->base != block->base)
		*wish = (struct wish){ .block = block, .base = block->base, .since_ns = now_ns };
	wish->seen_ns = now_ns;
	wish->paid += gain;
	wish->price = season_price(block);
	if (is_paid(wish))
		atomic_store(&oust_wanted, true);
}

void oust_granted(const struct block *block)
{
	bool any = false;

	for (int i = 0; i < WISHES_MOST; i++) {
		if (wishes[i].block == block)
			wishes[i] = (struct wish){ 0 };
		any = any || is_paid(&wishes[i]);
	}
	if (!any)
		atomic_store(&oust_wanted, false);
}

/*
 * Takes the victims that `wish` needs out of the candidates: enough of them, and paid for.  The
 * lock pin is held.  Otherwise none; if time alone will not help, the wish starts anew.
 */
static unsigned choose_victims(struct wish *wish, struct victims *victims)
{
	size_t room = wish->block->room, found = pin_room_left();
	uint64_t prices = wish->price;
	unsigned needed = 0;

	victims->before_ns = wish->since_ns;
	victims->count = 0;
	heap_each(gather, victims);
	while (found < room && needed < victims->count) {
		found += victims->blocks[needed]->room;
		prices += season_price(victims->blocks[needed++]);
	}
	if (found >= room && (needed == 0 || heat_may_oust(wish->paid, wish->since_ns,
							   victims->copied_ns[needed - 1], prices)))
		return needed;
	if (found < room) {
		wish->since_ns = keep_now();
		wish->paid = 0;
	}
	return 0;
}

/* One wish that can be granted is: makes room for its block.  Returns the bytes unpinned. */
static size_t oust(void)
{
	struct victims victims;
	unsigned needed = 0;
	size_t bytes = 0;

	atomic_store(&oust_wanted, false);
	hp_lock(HP_LOCK_pin);
	for (int i = 0; i < WISHES_MOST && needed == 0; i++) {
		if (!is_valid(&wishes[i]))
			wishes[i] = (struct wish){ 0 };
		else if (is_paid(&wishes[i]))
			needed = choose_victims(&wishes[i], &victims);
		if (needed != 0)
			wishes[i] = (struct wish){ 0 };
	}
	hp_unlock(HP_LOCK_pin);
	for (unsigned i = 0; i < needed; i++)
		bytes += unpin_in_use(victims.blocks[i]);
	return bytes;
}

static size_t unpin_due(size_t bytes_most)
{
	size_t done = 0;

	while (done < bytes_most && !pin_is_held()) {
		struct block *block = heap_take_due();

		if (block == NULL)
			break;
		done += block->room;
		unpin_leaving(block);
		heap_return(block);
	}
	return done;
}

size_t pin_when_idle(size_t bytes_most)
{
	size_t done = unpin_due(bytes_most);

	if (done == 0 && atomic_load(&oust_wanted) && !pin_is_held())
		done = oust();
	return done;
}

bool pin_wants_idle(void)
{
	uint64_t due = atomic_load_explicit(&keep_due_at, memory_order_relaxed);

	return (due != UINT64_MAX && due <= keep_now()) ||
	       atomic_load_explicit(&oust_wanted, memory_order_relaxed);
}

size_t pin_relieve(size_t bytes)
{
	heap_hurry(bytes);

	size_t done = unpin_due(bytes), turn = 1;
	while (done < bytes && turn != 0 && !pin_is_held()) {
		struct victims victims = { .before_ns = UINT64_MAX };

		hp_lock(HP_LOCK_pin);
		heap_each(gather, &victims);
		hp_unlock(HP_LOCK_pin);
		turn = 0;
		for (unsigned i = 0; i < victims.count && done + turn < bytes; i++)
			turn += unpin_in_use(victims.blocks[i]);
		done += turn;
	}
	return done;
}

void demote_after_fork_child(void)
{
	atomic_store(&users, 0);
	atomic_store(&leaving, 0);
	atomic_store(&oust_wanted, false);
	for (int i = 0; i < WISHES_MOST; i++)
		wishes[i] = (struct wish){ 0 };
}
