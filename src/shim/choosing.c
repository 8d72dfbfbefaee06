/*
 * choosing.c - the facts about one copy, and the route that copy/plan.c makes of them.
 *
 * Whatever costs more than a load is asked only where the answer can matter, the cheap before the
 * dear: most copies have nothing to gain from us.
 */
#include "shim/choosing.h"
#include "base/clock.h"
#include "base/options.h"
#include "base/protections.h"
#include "host/pin.h"
#include "host/range.h"
#include "shim/bouncing.h"
#include "shim/deferring.h"

/*
 * shim_copy_behind_work() of copies that take little longer than the question: a thread that was
 * told COPY_ASK_RARELY times in a row that there is none, on legacy streams or on its own, of
 * whatever context, asks rarely there from then on.  "None" only ever makes it the driver's own
 * copy, which waits as in plain CUDA: that the answer is old, or another context's, costs time and
 * no promise.
 */
static bool seems_behind_work(const struct shim_copy *copy)
{
	static __thread uint8_t idle[2] __attribute__((tls_model("initial-exec")));
	uint8_t *asked = &idle[copy->per_thread];

	if (copy->bytes <= COPY_ASK_ALWAYS && !copy_asks_again(asked))
		return false;
	if (!shim_copy_behind_work(copy))
		return false;
	*asked = 0;
	return true;
}

/* Still, after as long as it would take to put the copy into the ring? */
static bool stays_behind_work(const struct shim_copy *copy)
{
	uint64_t end_ns = 0;

	while (shim_copy_behind_work(copy)) {
		uint64_t now_ns = hp_now_ns();

		if (end_ns == 0)
			end_ns = now_ns + copy_patience_ns(copy->bytes);
		if (now_ns >= end_ns)
			return true;
	}
	return false;
}

/*
 * A graph keeps pageable memory's promises only for nodes that were made of pageable memory: one
 * made of a promoted block reads its source when the graph runs, not when it is launched, and
 * kills the context if the block has been unpinned by then (error 719).  So the block is unpinned
 * before the driver sees the call; it may be pinned again later, which nodes do not mind.
 */
static bool goes_into_a_graph(struct shim_copy *copy)
{
	if (atomic_load(&shim_captures) == 0 || !copy->asynchronous ||
	    !shim_stream_captures(copy->stream, copy->per_thread))
		return false;
	copy->captured = true;
	if (!hp_keeps(captured_unpinned))
		return true;
	shim_unpin(copy->host, shim_copy_extent(copy));
	if (copy->other != NULL)
		shim_unpin(copy->other, copy->bytes);
	return true;
}

/* Most of a block that could be pinned piece by piece while it is copied? */
static bool can_be_handed_over(const struct shim_copy *copy)
{
	return pin_would_hand_over(copy->block) && copy->bytes >= copy->block->room / 2 &&
	       range_covers(copy->block, copy->host, copy->bytes) &&
	       (hp_options->route == COPY_AUTO || hp_options->route == COPY_SEND) &&
	       shim_may_send(copy);
}

/* One that comes back early gains as little as an asynchronous one. */
bool shim_gains_from_pinning(const struct shim_copy *copy)
{
	return copy->block != NULL &&
	       copy_gains_from_pinning(copy->direction == TRACE_H2D,
				       copy->asynchronous || copy->lane != NULL, copy->bytes);
}

/* Counts the copy, and pins the block if that pays now. */
static bool is_pinned(struct shim_copy *copy, bool to_device)
{
	if (shim_gains_from_pinning(copy))
		return pin_before_copy(copy->block, to_device, copy->bytes,
				       can_be_handed_over(copy) ? &copy->pieces : NULL);
	return atomic_load(&copy->block->pin) == BLOCK_PINNED;
}

/* Where a block of ours lies for the driver. */
static enum copy_place find_place(struct shim_copy *copy, struct copy_facts *facts)
{
	bool to_device = facts->to_device;
	bool pinned = is_pinned(copy, to_device);

	if (copy->pieces.block != NULL)
		return COPY_PIECES;
	/* While another thread pins it some pieces are registered, perhaps, and others are not. */
	int pin = atomic_load(&copy->block->pin);
	if (!pinned && pin != BLOCK_PINNING && pin != BLOCK_PINNED)
		return COPY_PAGEABLE;
	if (!range_covers(copy->block, copy->host, shim_copy_extent(copy))) {
		/* Cut in two, a copy that the driver refuses would have half its effect. */
		if (!pinned || copy->rows || copy->far == 0 || shim_may_send(copy))
			return pinned && hp_keeps(straddling) ? COPY_STRADDLES
			       : pinned                       ? COPY_PINNED
							      : COPY_PAGEABLE;
		shim_unpin(copy->host, shim_copy_extent(copy));
		return COPY_PAGEABLE;
	}
	/* Who had begun to pin it may have done so by the time that the driver looks. */
	if (shim_copy_extent(copy) <= range_run(copy->block, copy->host) || !hp_keeps(pieces_cut))
		return pinned || copy->taken_in ? COPY_PINNED : COPY_PAGEABLE;
	/*
	 * Unpinning would wait for every kernel there is: where rows can be bounced they are, and
	 * where they can go through the ring they do.
	 */
	if (!copy->rows || (to_device && shim_copy_extent(copy) <= COPY_BLOCKS_FROM))
		return COPY_PIECES;
	facts->stageable = shim_stage_across(copy);
	if (facts->stageable)
		return COPY_PIECES;
	shim_unpin(copy->host, shim_copy_extent(copy));
	return COPY_PAGEABLE;
}

/* A synchronous upload that is small enough to come back early, whatever may speak against it. */
static bool may_come_back(const struct shim_copy *copy)
{
	return copy->direction == TRACE_H2D && !copy->asynchronous && !copy->rows &&
	       copy->far != 0 && copy->bytes <= COPY_DEFER_MOST;
}

/* How many more of this thread's uploads go straight: COPY_FOLLOWED. */
static __thread uint8_t straight_left __attribute__((tls_model("initial-exec")));

void shim_upload_followed(void)
{
	straight_left = COPY_FOLLOWED;
}

/* A direct copy is better.  Counts down. */
static bool bounces_in_vain(const struct shim_copy *copy, struct copy_facts *facts)
{
	enum copy_question question =
		copy_before_bounce(copy->place, copy->bytes, straight_left != 0);

	if (copy->lane == NULL || question == COPY_ASK_NOTHING)
		return false;
	/* Larger ones ask anyway. */
	if (straight_left != 0 && copy->bytes <= COPY_DEFER_PINNED)
		straight_left--;
	facts->behind_work = seems_behind_work(copy) ||
			     (question == COPY_ASK_LEGACY_TOO && shim_copy_behind_legacy(copy));
	return !facts->behind_work;
}

/* A larger one. */
static bool may_come_early(const struct shim_copy *copy)
{
	return copy->direction == TRACE_H2D && !copy->asynchronous && !copy->rows &&
	       copy->far != 0 && copy->bytes >= COPY_EARLY_LEAST &&
	       copy->bytes <= COPY_EARLY_MOST && hp_options->async && !shim_somebody_captures();
}

/* Asked in the order of what it costs. */
static bool comes_early(struct shim_copy *copy, struct copy_facts *facts)
{
	if (!may_come_early(copy) || copy->pieces.block != NULL || !seems_behind_work(copy))
		return false;
	copy->lane = shim_defer_lane(copy->per_thread);
	if (copy->lane == NULL || !stays_behind_work(copy) ||
	    !shim_stage_early(copy, copy->place >= COPY_PINNED)) {
		copy->lane = NULL;
		return false;
	}
	facts->deferrable = facts->behind_work = facts->stageable = true;
	return true;
}

void shim_fall_back(struct shim_copy *copy)
{
	copy->route = copy->fallback;
	/* All rows go by one call: no two registrations may be in its way. */
	if (copy->rows && copy->place == COPY_PIECES)
		shim_unpin(copy->host, shim_copy_extent(copy));
}

/*
 * Of pageable memory the driver takes it in and returns, whatever runs.  Was the block pinned while
 * it did, that would have to be waited for.
 */
static void keep_off_pinning(struct shim_copy *copy)
{
	copy->taken_in = copy->asynchronous && copy->direction == TRACE_H2D &&
			 copy->bytes < COPY_BLOCKS_FROM && hp_keeps(taken_in_unpinned);
	if (copy->taken_in)
		atomic_fetch_add(&copy->block->taken_in, 1);
}

static void make_plan(struct shim_copy *copy)
{
	bool to_device = copy->direction == TRACE_H2D;
	struct copy_facts facts = {
		.place = COPY_ELSEWHERE,
		.to_device = to_device,
		.linear = !copy->rows,
		.asynchronous = copy->asynchronous,
		.bytes = copy->bytes,
		.extent = shim_copy_extent(copy),
		.forced = (enum copy_route)hp_options->route,
	};

	if (may_come_back(copy))
		copy->lane = shim_defer_lane(copy->per_thread);
	facts.deferrable = copy->lane != NULL;
	if (copy->block != NULL) {
		copy->place = COPY_PAGEABLE;
		if (goes_into_a_graph(copy))
			return;
		keep_off_pinning(copy);
		if (!shim_stage_wins(copy, &facts))
			copy->place = find_place(copy, &facts);
		facts.place = copy->place;
		if (bounces_in_vain(copy, &facts)) {
			copy->lane = NULL;
			facts.deferrable = false;
		}
		facts.sendable = copy->place == COPY_PIECES &&
				 (copy->pieces.block != NULL || shim_may_send(copy));
	}
	copy->fallback = copy_plan_fallback(&facts);
	if (!comes_early(copy, &facts) && !facts.stageable &&
	    (copy->block == NULL || copy->place == COPY_PAGEABLE))
		shim_stage_look(copy, &facts);
	copy->route = copy_plan(&facts);
	if (copy->route != COPY_EARLY && copy->other != NULL &&
	    pin_crosses(copy->other, copy->bytes) && hp_keeps(other_side_cut))
		copy->route = COPY_SPLIT;
	/* Asked only where it matters: it is a call into the driver. */
	if (copy->asynchronous && to_device && copy->bytes < COPY_BLOCKS_FROM &&
	    facts.extent <= COPY_BLOCKS_FROM &&
	    (copy->route == COPY_WAIT || copy->route == COPY_SEND || copy->route == COPY_SPLIT)) {
		facts.behind_work = shim_copy_held_up(copy);
		if (facts.behind_work && facts.linear && copy->bytes >= COPY_TAKEN_LEAST)
			facts.stageable = shim_stage_early(copy, true);
		copy->route = copy_plan(&facts);
	}
}

/* A look at the size first: small copies of memory that is not ours pay for nothing else. */
static bool may_be_staged(const struct shim_copy *copy)
{
	return copy->far != 0 && (copy->bytes >= copy_stage_least(copy->direction == TRACE_H2D) ||
				  hp_options->route != COPY_AUTO);
}

/*
 * Where it begins decides: the driver takes a range that begins in unregistered memory for
 * pageable, whatever follows.
 */
void shim_choose(struct shim_copy *copy)
{
	copy->block = range_find(copy->host);
	if (copy->block != NULL) {
		pin_use_begin();
		copy->in_use = true;
	}
	if (copy->block != NULL || may_be_staged(copy) || may_come_back(copy) ||
	    may_come_early(copy))
		make_plan(copy);
}
