/*
 * plan.c - chooses the route of a copy from facts about the copy.
 *
 * The thresholds and gains of staging come from copies of a static array: medians on an H200 with
 * 16 cores, plain and staged (us):
 *
 *                    64 KiB     256 KiB    1 MiB    4 MiB    16 MiB   64 MiB     256 MiB
 *   H2D plain        19.7       22.5       69       234      902      4080       26340
 *     alone          11.3       22.3       60       233      903      3740       23550
 *     2 workers      12.7       21.6       46       126      463      1808       9200
 *     4 workers      12.5       21.6       49       126      407      1416       5304
 *   D2H plain        12.2       25.7       82       250      886      3467       13920
 *     alone          9.9        20.4       55       242      917      3629       14150
 *     2 workers      10.3       18.3       45       142      463      1782       6893
 *     4 workers      10.3       18.4       44       128      384      1401       5233
 *
 * Those copies ran in a tight loop.  Single uploads, with other work between them, gain less.  The
 * driver's synchronous upload returns before its last bytes have left the host, and copy workers
 * must wake up.  Single downloads still gain.  Single uploads of a static array (us):
 *
 *                                1 MiB    4 MiB    16 MiB   64 MiB
 *   synchronous, plain           50       230      923      3721
 *     4 workers                  94       341      853      2013
 *   asynchronous and wait, plain          253      943      3724
 *     4 workers                           284      983      1807
 *
 * In a tight loop more than four workers gain nothing, unless they take page faults.  D2H of 64 MiB
 * into untouched memory takes 33 ms plain, 13.0 with 2 workers, 6.5 with 4 and 3.6 with 8.  Single
 * copies with cold caches gain from eight workers.  On another machine with an H200, us (two runs
 * each; rows of 8 KiB with gaps as long):
 *
 *                    D2H, run             D2H, rows     H2D, run              H2D, rows
 *              4 MiB  16   64    256      64    256     16    64    256       64    256
 *   4 workers  243    925  3190  12690    5025  19320   931   3245  14440     3770  16490
 *   8          297    695  1970  8160     3660  14100   924   2330  7630      2400  9190
 *   plain      334   1245  4367  20140    4426  18560   1192  7672  31180     7873  42130
 *
 * A download in one piece is one synchronous call into staging memory and a memcpy(), with or
 * without workers (us):
 *
 *                    4 KiB      16 KiB     32 KiB     64 KiB     128 KiB
 *   plain            7.7        9.4        13.0       18.7       27.7
 *   staged           7.6        8.1        10.0       12.8       18.8
 *
 * Among other copies 16 KiB gain nothing: 9.2 to 10.6 plain and 9.6 to 12.0 staged (static arrays,
 * five processes of each).
 */
#include "engine/plan.h"
#include "base/protections.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static bool is_pinned(const struct copy_facts *facts)
{
	return facts->host_memory == COPY_PINNED;
}

static bool is_busy(const struct copy_facts *facts)
{
	return facts->stream_busy || facts->legacy_busy;
}

/*
 * True for an upload so small that the driver stages pageable memory inside the call, and returns
 * before earlier work has completed: an asynchronous upload, or one on the thread's own stream that
 * waits for the legacy stream only.
 */
static bool is_staged_by_the_driver(const struct copy_facts *facts)
{
	bool is_small = facts->asynchronous ? facts->bytes < COPY_BLOCKS_FROM
					    : facts->own_stream && facts->bytes <= COPY_LEGACY_MOST;

	return is_small && facts->to_device && facts->extent <= COPY_BLOCKS_FROM;
}

/* True if the copy is bounced whether or not the stream has work. */
static bool always_bounces(const struct copy_facts *facts)
{
	if (!facts->to_device || !facts->linear)
		return false;
	return facts->bytes <= (facts->asynchronous ? COPY_SLOTS_MOST : COPY_STAGED_MOST);
}

/* Returns the route that needs no memory of hotpin's. */
static enum copy_step last_route(const struct copy_facts *facts)
{
	if (facts->host_memory == COPY_TAKEN)
		return COPY_BOUNCE;
	if (!is_pinned(facts))
		return COPY_PASS;
	return facts->asynchronous ? COPY_WAIT : COPY_DIRECT;
}

static bool knows(const struct copy_facts *facts, enum copy_step question)
{
	return (facts->answered >> question & 1) != 0;
}

/*
 * The plans, one for each kind of copy.  Each is called again after every answer and runs from its
 * first line: it asks for the first fact that it lacks, or takes a route.
 */

/* True if the copy is large enough to count the workers for it. */
static bool is_worth_staging(const struct copy_facts *facts)
{
	return facts->has_device &&
	       (facts->bytes >= copy_stage_least(facts->to_device, facts->asynchronous) ||
		facts->forced == COPY_STAGE);
}

/*
 * Plans a copy of pageable memory in either direction: through staging memory if that gains time,
 * otherwise by the driver (COPY_PASS).
 */
static enum copy_step plan_pageable(const struct copy_facts *facts)
{
	if (is_worth_staging(facts) && !knows(facts, COPY_ASK_WORKERS))
		return COPY_ASK_WORKERS;
	if (copy_stage_gain_ns(facts) == 0)
		return COPY_PASS;
	if (!knows(facts, COPY_ASK_STAGING))
		return COPY_ASK_STAGING;
	return facts->stageable ? COPY_STAGE : COPY_PASS;
}

/*
 * Plans a copy by the kind of its host memory.  The plans below call this for copies that they do
 * not treat specially.
 */
static enum copy_step plan_by_host_memory(const struct copy_facts *facts)
{
	if (facts->host_memory == COPY_TAKEN) {
		enum copy_step step = plan_pageable(facts);

		return step == COPY_PASS ? COPY_BOUNCE : step;
	}
	if (!is_pinned(facts))
		return plan_pageable(facts);
	return always_bounces(facts) ? COPY_BOUNCE : last_route(facts);
}

/* Plans a synchronous upload that is so small that it can be deferred. */
static enum copy_step plan_small_upload(const struct copy_facts *facts)
{
	size_t most = facts->downloads_follow ? COPY_STAGED_MOST : COPY_DEFER_PINNED;

	if (!knows(facts, COPY_ASK_DEFERRAL))
		return COPY_ASK_DEFERRAL;
	if (facts->in_block && !knows(facts, COPY_ASK_HOST_MEMORY))
		return COPY_ASK_HOST_MEMORY;
	if (!facts->deferrable)
		return plan_by_host_memory(facts);
	/* On an idle stream, a larger pinned source is faster without a copy of it. */
	if (facts->bytes <= most || !is_pinned(facts))
		return COPY_DEFER;
	if (!knows(facts, COPY_ASK_STREAM))
		return COPY_ASK_STREAM;
	return facts->stream_busy ? COPY_DEFER : plan_by_host_memory(facts);
}

/* Plans an upload that returns at once natively, because the driver stages it. */
static enum copy_step plan_staged_by_the_driver(const struct copy_facts *facts)
{
	if (facts->in_block && !knows(facts, COPY_ASK_HOST_MEMORY))
		return COPY_ASK_HOST_MEMORY;
	if (!is_pinned(facts) || always_bounces(facts))
		return plan_by_host_memory(facts);
	if (!knows(facts, COPY_ASK_STREAM))
		return COPY_ASK_STREAM;
	if (!facts->stream_busy && !knows(facts, COPY_ASK_LEGACY))
		return COPY_ASK_LEGACY;
	return is_busy(facts) ? COPY_BOUNCE : plan_by_host_memory(facts);
}

/*
 * Plans all other copies: downloads, large uploads, rows, and copies whose other side is not linear
 * device memory.
 */
static enum copy_step plan_other(const struct copy_facts *facts)
{
	if (facts->in_block && !knows(facts, COPY_ASK_HOST_MEMORY))
		return COPY_ASK_HOST_MEMORY;
	return plan_by_host_memory(facts);
}

static enum copy_step plan_by_kind(const struct copy_facts *facts)
{
	bool may_return_early = facts->to_device && facts->linear && !facts->asynchronous &&
				facts->has_device && facts->may_defer && !facts->own_stream &&
				!facts->captures;

	if (may_return_early && facts->bytes <= COPY_DEFER_MOST)
		return plan_small_upload(facts);
	if (is_staged_by_the_driver(facts))
		return plan_staged_by_the_driver(facts);
	return plan_other(facts);
}

/* True if the route that HOTPIN_ROUTE names can carry out this copy with unchanged semantics. */
static bool is_possible(const struct copy_facts *facts, enum copy_step route)
{
	switch (route) {
	case COPY_PASS:
		/* An asynchronous copy of pinned memory would return too early. */
		return facts->host_memory < COPY_PINNED ||
		       (is_pinned(facts) && !facts->asynchronous);
	case COPY_DIRECT:
		return is_pinned(facts) && !facts->asynchronous;
	case COPY_WAIT:
		return is_pinned(facts) && facts->asynchronous;
	case COPY_BOUNCE:
		return is_pinned(facts) && facts->to_device && facts->bytes <= COPY_BLOCKS_FROM &&
		       facts->extent <= COPY_BLOCKS_FROM;
	case COPY_STAGE:
		/* A copy that the driver stages returns at once; through the area it would wait. */
		return facts->stageable && !is_staged_by_the_driver(facts);
	default:
		return false;
	}
}

/* Testing only: replaces the route of the plan by that of HOTPIN_ROUTE, if possible. */
static enum copy_step force(const struct copy_facts *facts, enum copy_step step)
{
	bool is_staging = facts->forced == COPY_STAGE && copy_stage_gain_ns(facts) > 0;

	if (step > COPY_ROUTES)
		return step;
	if (is_staging && !knows(facts, COPY_ASK_STAGING))
		return COPY_ASK_STAGING;
	return is_possible(facts, facts->forced) ? facts->forced : step;
}

enum copy_step copy_plan(const struct copy_facts *facts)
{
	if (facts->bytes == 0)
		return COPY_PASS;
	if (facts->captures && facts->in_block && facts->asynchronous &&
	    !knows(facts, COPY_ASK_CAPTURE))
		return COPY_ASK_CAPTURE;
	if (facts->captured)
		return COPY_UNPIN;
	enum copy_step step = plan_by_kind(facts);
	return facts->forced == COPY_AUTO ? step : force(facts, step);
}

enum copy_step copy_plan_fallback(const struct copy_facts *facts, enum copy_step route)
{
	switch (route) {
	case COPY_STAGE:
	case COPY_BOUNCE:
	case COPY_DEFER:
		return last_route(facts);
	default:
		return route;
	}
}

bool copy_gains_from_pinning(bool to_device, bool asynchronous, size_t bytes)
{
	return !(to_device && asynchronous && bytes < COPY_BLOCKS_FROM);
}

static bool gains_alone(const struct copy_facts *facts)
{
	return !facts->to_device && facts->bytes < 4 * MIB;
}

/* Returns what staging saves a copy of pageable memory, ns. */
static uint64_t stage_gain_of_pageable(const struct copy_facts *facts)
{
	if (facts->bytes < copy_stage_least(facts->to_device, facts->asynchronous))
		return 0;
	if (facts->workers < 2 && !gains_alone(facts))
		return 0;
	if (facts->bytes < 64 * KIB)
		return 3000;
	if (facts->bytes < MIB)
		return 5000;
	return facts->workers < 2 ? 9000 : facts->bytes / 26;
}

uint64_t copy_stage_gain_ns(const struct copy_facts *facts)
{
	if (facts->bytes == 0 || !facts->has_device || facts->captures ||
	    (!facts->to_device && !facts->to_host))
		return 0;
	if (facts->forced == COPY_STAGE && !is_pinned(facts) && !is_staged_by_the_driver(facts))
		return COPY_STAGING_COST_NS;
	if (is_pinned(facts) || facts->forced == COPY_PASS)
		return 0;
	return stage_gain_of_pageable(facts);
}
