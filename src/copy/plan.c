/*
 * plan.c - from facts to a route.
 *
 * Borders and gains of staging are those of copies of a static array, medians on an H200 with 16
 * cores, plain against staged (us):
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
 * Those were copies in a tight loop.  One at a time, with other work between them, the driver's
 * synchronous upload is over before its last bytes have left the host, and the crew has to wake up:
 * an upload of a static array takes, plain and staged by four workers, 50 and 94 us (1 MiB), 230
 * and 341 (4 MiB), 923 and 853 (16 MiB), 3721 and 2013 (64 MiB); asynchronous and waited for, 253
 * and 284 (4 MiB), 943 and 983 (16 MiB), 3724 and 1807 (64 MiB).  Downloads gain there, too.
 *
 * In a tight loop more than four workers gain nothing, unless they take page faults: D2H of 64 MiB
 * into untouched memory takes 33 ms plain, 13.0 with 2 workers, 6.5 with 4 and 3.6 with 8.  One at
 * a time, what was copied out of the caches meanwhile, they do, on another machine with an H200, us
 * (two runs each, rows of 8 KiB with gaps as long):
 *
 *                    D2H, run             D2H, rows     H2D, run              H2D, rows
 *              4 MiB  16   64    256      64    256     16    64    256       64    256
 *   4 workers  243    925  3190  12690    5025  19320   931   3245  14440     3770  16490
 *   8          297    695  1970  8160     3660  14100   924   2330  7630      2400  9190
 *   plain      334   1245  4367  20140    4426  18560   1192  7672  31180     7873  42130
 *
 * Downloads in one piece are one synchronous call into the ring and a memcpy(), plain and so, us:
 * 7.7 and 7.6 (4 KiB), 9.4 and 8.1 (16), 13.0 and 10.0 (32), 18.7 and 12.8 (64), 27.7 and 18.8
 * (128); whoever has workers or none.  Among other copies 16 KiB gain nothing: 9.2 to 10.6 plain
 * and 9.6 to 12.0 so (static arrays, five processes of each).
 */
#include "copy/plan.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* Whatever its stream is at. */
static size_t bounced_most(const struct copy_facts *facts)
{
	return facts->asynchronous ? COPY_POCKET_MOST : COPY_STAGED_MOST;
}

static bool bounces(const struct copy_facts *facts)
{
	if (!facts->to_device || facts->extent > COPY_BLOCKS_FROM)
		return false;
	if (facts->linear ? facts->bytes <= bounced_most(facts) : facts->place == COPY_PIECES)
		return true;
	return facts->asynchronous && facts->behind_work && facts->bytes < COPY_BLOCKS_FROM;
}

/* Behind work the device must not be left to read a source that the program may write again. */
static bool is_taken_in(const struct copy_facts *facts)
{
	return facts->stageable && facts->to_device && facts->linear && facts->asynchronous &&
	       facts->behind_work && facts->bytes >= COPY_TAKEN_LEAST &&
	       facts->bytes < COPY_BLOCKS_FROM;
}

static bool is_pinned(const struct copy_facts *facts)
{
	return facts->place == COPY_PINNED || facts->place == COPY_PIECES ||
	       facts->place == COPY_STRADDLES;
}

static bool defers(const struct copy_facts *facts)
{
	return facts->deferrable && facts->linear &&
	       facts->bytes <= (is_pinned(facts) && !facts->behind_work ? COPY_DEFER_PINNED
									: COPY_DEFER_MOST);
}

enum copy_question copy_before_bounce(enum copy_place place, size_t bytes, bool followed)
{
	if (place < COPY_PINNED || bytes <= (followed ? COPY_STAGED_MOST : COPY_DEFER_PINNED))
		return COPY_ASK_NOTHING;
	return bytes <= COPY_OVER_MOST ? COPY_ASK_LEGACY_TOO : COPY_ASK_STREAM;
}

static bool comes_early(const struct copy_facts *facts)
{
	return facts->deferrable && facts->linear && facts->behind_work &&
	       facts->bytes >= COPY_EARLY_LEAST && facts->bytes <= COPY_EARLY_MOST;
}

/* Can the route that a test asks for carry this copy out, with every promise kept? */
static bool is_possible(const struct copy_facts *facts, enum copy_route route)
{
	switch (route) {
	case COPY_PASS:
		/* An asynchronous copy of pinned memory would come back too early. */
		return !is_pinned(facts) || (facts->place == COPY_PINNED && !facts->asynchronous);
	case COPY_DIRECT:
		return facts->place == COPY_PINNED && !facts->asynchronous;
	case COPY_WAIT:
		return facts->place == COPY_PINNED && facts->asynchronous;
	case COPY_BOUNCE:
		return (facts->place == COPY_PINNED || facts->place == COPY_PIECES) &&
		       facts->to_device && facts->bytes <= COPY_BLOCKS_FROM &&
		       facts->extent <= COPY_BLOCKS_FROM;
	case COPY_SPLIT:
		return is_pinned(facts) && facts->linear;
	case COPY_SEND:
		return facts->place == COPY_PIECES && facts->sendable;
	case COPY_STAGE:
		return facts->stageable;
	case COPY_EARLY:
		return facts->stageable && comes_early(facts);
	case COPY_DEFER:
		return defers(facts);
	default:
		return false;
	}
}

static enum copy_route plan_unpinned(const struct copy_facts *facts)
{
	return facts->stageable && copy_stage_gain_ns(facts) > 0 ? COPY_STAGE : COPY_PASS;
}

enum copy_route copy_plan(const struct copy_facts *facts)
{
	if (facts->bytes == 0)
		return COPY_PASS;
	if (is_possible(facts, facts->forced))
		return facts->forced;
	if (defers(facts))
		return COPY_DEFER;
	if (facts->stageable && comes_early(facts))
		return COPY_EARLY;
	if (!is_pinned(facts))
		return plan_unpinned(facts);
	if (facts->place == COPY_STRADDLES && facts->linear)
		return COPY_SPLIT;
	if (is_taken_in(facts))
		return COPY_STAGE;
	if (bounces(facts))
		return COPY_BOUNCE;
	if (facts->place == COPY_PIECES && !facts->linear && facts->stageable)
		return COPY_STAGE;
	if (facts->place == COPY_PIECES && facts->sendable)
		return COPY_SEND;
	return copy_plan_fallback(facts);
}

enum copy_route copy_plan_fallback(const struct copy_facts *facts)
{
	if (!is_pinned(facts))
		return COPY_PASS;
	if (facts->place != COPY_PINNED && facts->linear)
		return COPY_SPLIT;
	if (facts->place == COPY_PIECES)
		return COPY_PASS;
	return facts->asynchronous ? COPY_WAIT : COPY_DIRECT;
}

bool copy_gains_from_pinning(bool to_device, bool asynchronous, size_t bytes)
{
	return !(to_device && asynchronous && bytes < COPY_BLOCKS_FROM);
}

static bool gains_alone(const struct copy_facts *facts)
{
	return !facts->to_device && facts->bytes < 4 * MIB;
}

static bool gains_with_help(const struct copy_facts *facts)
{
	const size_t least = facts->asynchronous ? 2 * COPY_STAGE_LEAST : COPY_STAGE_LEAST;

	return !facts->to_device || facts->bytes >= least;
}

uint64_t copy_stage_gain_ns(const struct copy_facts *facts)
{
	if (facts->bytes == 0)
		return 0;
	if (facts->forced == COPY_STAGE)
		return COPY_RING_COST_NS;
	/* Then there is not to be a ring at all. */
	if (facts->forced == COPY_PASS || facts->bytes < copy_stage_least(facts->to_device))
		return 0;
	if (facts->workers < 2 ? !gains_alone(facts) : !gains_with_help(facts))
		return 0;
	if (facts->bytes < 64 * KIB)
		return 3000;
	if (facts->bytes < MIB)
		return 5000;
	return facts->workers < 2 ? 9000 : facts->bytes / 26;
}

bool copy_stages_rather_than_pins(const struct copy_facts *facts)
{
	return facts->stageable && facts->untouched && !facts->to_device && facts->workers >= 2;
}

uint64_t copy_patience_ns(size_t bytes)
{
	return bytes / 40;
}

bool copy_asks_again(uint8_t *asked)
{
	const uint8_t first = 2 * COPY_ASK_RARELY, second = first + COPY_ASK_RARELY + 1;

	*asked = *asked < second ? *asked + 1 : COPY_ASK_RARELY + 1;
	return *asked <= COPY_ASK_RARELY || *asked == first || *asked == second;
}

size_t copy_piece(bool to_device, size_t bytes)
{
	if (bytes < MIB)
		return 128 * KIB;
	if (bytes < 4 * MIB)
		return 256 * KIB;
	if (bytes < 16 * MIB)
		return to_device ? 512 * KIB : 256 * KIB;
	return to_device || bytes >= 64 * MIB ? MIB : 512 * KIB;
}

unsigned copy_hands(bool to_device, size_t bytes, bool untouched, unsigned workers)
{
	unsigned most = untouched || bytes >= (to_device ? 32 : 16) * MIB ? 8 : 4;

	return workers < most ? workers : most;
}
