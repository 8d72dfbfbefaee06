/*
 * promote.c - which copy's block is pinned, and how: at once, piece by piece, or by others.
 */
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
#include "host/pin.h"
#include "host/rates.h"
#include "host/register.h"
#include "host/season.h"
#include "host/site.h"
#include "host/touched.h"

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
	pin_give_back(block);
}

static bool promote_begin(struct pin_pieces *ret, struct block *block, uintptr_t context,
			  uint64_t gain, size_t piece)
{
	if (!pin_reserve(block, gain, piece))
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
	bool enough = pin_note_refusal(block, pieces->refused, error);
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
	pin_note_success();
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
