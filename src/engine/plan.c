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
 *
 * The smallest asynchronous upload that is staged: fresh shared memory that another process has
 * filled, until it was on the device, plain and staged by four workers (us):
 *
 *                    4 MiB        8 MiB         16 MiB        25 MB
 *   one H200         826  863     1595  1244    3012  1706    5008  2681
 *   another, static  253  284                   943   983
 *
 * An asynchronous upload of pageable memory of 1 MiB and less is staged by the driver at once, even
 * behind a kernel; the driver's own threshold is between 1 MiB and COPY_BLOCKS_FROM.
 *
 * Bounced and direct uploads of pinned memory take 5.8 and 6.4 us at 64 B.  Asynchronous ones on an
 * idle stream, us until the call returns and until the copy is complete, by a program that makes
 * these calls without hotpin:
 *
 *                    32 KiB      64 KiB      128 KiB     256 KiB
 *   plain            3.8  12.4   7.0  18.0   10.5 20.8   18.3 30.9
 *   pageable buffer  4.6  13.2   8.8  18.0   14.2 24.4   26.3 39.0
 *   pinned buffer    3.0  12.9   4.7  16.0   7.3  21.1   12.8 32.6
 *   direct and wait  9.0  12.3   9.6  12.9   10.8 14.2   13.1 16.4
 *
 * The pinned buffers were units of 64 KiB with an event each; the ring has replaced them.
 *
 * Synchronous and deferred uploads, us.  The driver stages some 4 MiB of asynchronous copies at
 * once, even behind a kernel; from 256 KiB on the second copy blocks:
 *
 *                    16 KiB        32 KiB        64 KiB        128 KiB
 *   idle             4.2   3.4     4.9   4.1     7.6   6.2     10.6  9.2
 *   in a row         8.5   3.4     11.1  3.8     17.8  7.2     21.4  12.6
 *   behind work      8.5   3.8     8.8   3.8     12.8  6.2     15.7  9.5
 *
 * Through large staging memory, idle: 15 (64 KiB) and 22 (128 KiB).  From pinned memory, 64 KiB
 * take 8.7 us plain, 10.0 direct, 5.8 deferred; 128 KiB 12.2, 10.8 and 7.1, but are complete
 * after 22.3, 14.2 and 21.5.  One upload and one download of 64 KiB take 51 us plain, 17.2
 * direct, 27.4 deferred.
 *
 * Uploads into the ring behind work, until the call returns, plain, filled by one thread, and with
 * workers, us: 16, 23, 28 (256 KiB), 52, 93, 47 (1 MiB), 119, -, 61 (2 MiB).
 */
#include "engine/plan.h"
#include "engine/copy_state.h"

static unsigned ask(struct copy *copy, enum copy_fact fact)
{
	struct copy_facts *facts = &copy->facts;

	if ((facts->known >> fact & 1) == 0) {
		facts->known |= 1u << fact;
		facts->values[fact] = facts->find(copy, fact);
	}
	return facts->values[fact];
}

static bool is_pinned(struct copy *copy)
{
	return copy->block != NULL && ask(copy, COPY_HOST_MEMORY) == COPY_PINNED;
}

static bool is_upload(const struct copy *copy)
{
	return copy->request->direction == TRACE_H2D;
}

/*
 * True for an upload so small that the driver stages pageable memory inside the call, and returns
 * before earlier work has completed: an asynchronous upload, or one on the thread's own stream that
 * waits for the legacy stream only.
 */
static bool is_staged_by_the_driver(const struct copy *copy)
{
	const struct copy_request *request = copy->request;
	bool is_small = request->asynchronous
				? request->bytes < COPY_BLOCKS_FROM
				: request->per_thread && request->bytes <= COPY_LEGACY_MOST;

	return is_small && is_upload(copy) && request->extent <= COPY_BLOCKS_FROM;
}

/* True if the copy is bounced whether or not the stream has work. */
static bool always_bounces(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (!is_upload(copy) || request->rows)
		return false;
	return request->bytes <= (request->asynchronous ? COPY_BOUNCE_MOST : COPY_STAGED_MOST);
}

/* True if the copy is a synchronous upload that is so small that it can be deferred. */
static bool may_return_early(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	return is_upload(copy) && !request->rows && !request->asynchronous && request->far != 0 &&
	       request->bytes <= COPY_DEFER_MOST && !request->per_thread && copy->facts.may_defer &&
	       !copy->facts.captures;
}

/* Whether it can be deferred is asked first: pinning then gains less. */
static bool is_deferred(struct copy *copy)
{
	size_t most = copy->facts.downloads_follow ? COPY_STAGED_MOST : COPY_DEFER_PINNED_MOST;

	if (!may_return_early(copy) || !ask(copy, COPY_IS_DEFERRABLE))
		return false;
	/* On an idle stream, a larger pinned source is faster without a copy of it. */
	return !is_pinned(copy) || copy->request->bytes <= most || ask(copy, COPY_IS_BUSY);
}

/* True if the copy of a pinned block is an upload that native CUDA does not wait for. */
static bool is_bounced(struct copy *copy)
{
	return always_bounces(copy) ||
	       (is_staged_by_the_driver(copy) &&
		(ask(copy, COPY_IS_BUSY) || ask(copy, COPY_IS_BEHIND_LEGACY)));
}

static enum copy_route choose(struct copy *copy)
{
	if (is_deferred(copy))
		return COPY_DEFER;
	if (is_pinned(copy) && is_bounced(copy))
		return COPY_BOUNCE;
	if (copy_stage_gain_ns(copy) > 0 && ask(copy, COPY_IS_STAGEABLE))
		return COPY_STAGE;
	return copy_plan_fallback(copy);
}

/* True if the route that HOTPIN_ROUTE names can carry out this copy with unchanged semantics. */
static bool is_possible(struct copy *copy, enum copy_route route)
{
	const struct copy_request *request = copy->request;

	switch (route) {
	case COPY_PASS:
		/* An asynchronous copy of pinned memory would return too early. */
		return copy_plan_fallback(copy) == COPY_PASS ||
		       (is_pinned(copy) && !request->asynchronous);
	case COPY_DIRECT:
		return is_pinned(copy);
	case COPY_BOUNCE:
		return is_pinned(copy) && is_upload(copy) && request->bytes <= COPY_BLOCKS_FROM &&
		       request->extent <= COPY_BLOCKS_FROM;
	case COPY_STAGE:
		return copy_stage_gain_ns(copy) > 0 && ask(copy, COPY_IS_STAGEABLE);
	default:
		return false;
	}
}

enum copy_route copy_plan(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	enum copy_route forced = copy->facts.forced;

	if (request->bytes == 0)
		return COPY_PASS;
	if (copy->facts.captures && copy->block != NULL && request->asynchronous &&
	    ask(copy, COPY_IS_CAPTURED))
		return COPY_UNPIN;
	enum copy_route route = choose(copy);
	return forced != COPY_AUTO && is_possible(copy, forced) ? forced : route;
}

enum copy_route copy_plan_fallback(const struct copy *copy)
{
	static const enum copy_route routes[] = {
		[COPY_PAGEABLE] = COPY_PASS,
		[COPY_PINNED] = COPY_DIRECT,
		[COPY_TAKEN] = COPY_BOUNCE,
	};

	return routes[copy->facts.values[COPY_HOST_MEMORY]];
}

bool copy_gains_from_pinning(bool to_device, bool asynchronous, size_t bytes)
{
	return !(to_device && asynchronous && bytes < COPY_BLOCKS_FROM);
}

/* Returns what staging saves a copy of pageable memory, ns. */
static uint64_t stage_gain_of_pageable(struct copy *copy)
{
	size_t bytes = copy->request->bytes;
	bool to_device = is_upload(copy);

	if (bytes < copy_stage_least(to_device, copy->request->asynchronous))
		return 0;
	if ((to_device || bytes >= 4 * COPY_MIB) && ask(copy, COPY_WORKERS) < 2)
		return 0;
	if (bytes < 64 * COPY_KIB)
		return 3000;
	if (bytes < COPY_MIB)
		return 5000;
	return ask(copy, COPY_WORKERS) < 2 ? 9000 : bytes / 26;
}

uint64_t copy_stage_gain_ns(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	enum copy_route forced = copy->facts.forced;

	if (request->bytes == 0 || request->far == 0 || copy->facts.captures ||
	    (!is_upload(copy) && request->direction != TRACE_D2H) || is_pinned(copy))
		return 0;
	/* A copy that the driver stages returns at once; through the area it would wait. */
	if (forced == COPY_STAGE && !is_staged_by_the_driver(copy))
		return COPY_STAGING_COST_NS;
	return forced == COPY_PASS ? 0 : stage_gain_of_pageable(copy);
}
