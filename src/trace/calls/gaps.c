/*
 * gaps.c - finds the place of a call only if a long gap is next to it.
 *
 * Only the thread's next call shows that a long gap followed.  By then the stack of the earlier
 * call is gone.  So each thread marks the calls that long gaps have followed, by stack slot and
 * return address.  It finds the places of marked calls when they return, and of all calls at first.
 * A long gap pays for a number of looks at calls of its mark.  An interrupt between two calls also
 * makes a long gap, and would otherwise have each later call of a loop looked at.
 */
#define _GNU_SOURCE
#include "trace/calls/gaps.h"
#include "base/hash.h"
#include "base/lock.h"
#include "trace/calls/capture_range.h"
#include "trace/keys.h"
#include "trace/python/python_places.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MARKS_BITS 6
/* The number of looks of each thread at calls of a mark that no gap has paid for. */
#define FREE_LOOKS 8u
/*
 * A long gap pays for a look with each such part of it.  A look takes some 20 ns, so looks take at
 * most a fifth of the time of these gaps.
 */
#define LOOK_NS    100u
/* The number of short gaps that a thread collects before it passes them on. */
#define SHORT_MOST 64u

/* Under the lock trace. */
static struct gap *gaps;
static struct keys keys; /* hashes of pairs */
static struct gaps_counts counts;

static uint64_t process_began_ns; /* constant after gaps_start() */

/* The calling thread's latest call.  All fields before `paid` are in one cache line. */
static __thread struct {
	uint64_t leave_ns;                 /* 0: there is none; UINT64_MAX: no gap follows */
	uint64_t total_ns;                 /* of all gaps before it */
	uint64_t hash;                     /* of the way up; 0: the way is unknown */
	struct profile_gap_sum short_ones; /* not yet passed on */
	uint32_t function;
	uint8_t mark;
	uint16_t paid[1 << MARKS_BITS]; /* by mark: looks that are free, or paid for by long gaps */
	struct frames_way way;
} latest __attribute__((tls_model("initial-exec"), aligned(64)));

int gaps_start(uint64_t began_ns)
{
	process_began_ns = began_ns;
	gaps = keys_start(&keys, GAPS_MOST, sizeof(*gaps));
	return gaps != NULL ? 0 : -ENOMEM;
}

static void add_up(struct profile_gap_sum *sum, uint64_t ns)
{
	sum->count++;
	sum->total_ns += (int64_t)ns;
	if ((int64_t)ns > sum->longest_ns)
		sum->longest_ns = (int64_t)ns;
}

static void add_sum(struct profile_gap_sum *to, const struct profile_gap_sum *sum)
{
	to->count += sum->count;
	to->total_ns += sum->total_ns;
	if (sum->longest_ns > to->longest_ns)
		to->longest_ns = sum->longest_ns;
}

/* With the lock, when all rows are used: removes the pair with the least time. */
static void evict(void)
{
	uint32_t least = 0;

	for (uint32_t i = 1; i < GAPS_MOST; i++)
		if (gaps[i].sum.total_ns < gaps[least].sum.total_ns)
			least = i;
	add_sum(&counts.dropped, &gaps[least].sum);
	keys_remove(&keys, least);
}

/* With the lock.  `way` is NULL if it is unknown. */
static struct gap_end end_of(uint32_t function, const struct frames_way *way)
{
	struct gap_end end = { .function = function };

	if (way != NULL)
		end.place = frames_place(way);
	return end;
}

/*
 * Adds the gap of `ns` between the thread's latest call and a call by `way`; NULL: an unknown
 * place.
 */
static void add(uint32_t function, const struct frames_way *way, uint64_t ns)
{
	const struct frames_way *before = latest.hash != 0 ? &latest.way : NULL;
	uint64_t hash =
		hp_mix(hp_mix(hp_mix(latest.hash, latest.function), way != NULL ? way->hash : 0),
		       function);

	hp_lock(HP_LOCK_trace);
	uint32_t row = keys_find(&keys, hash);
	if (row == KEYS_NONE) {
		if (keys.rows == GAPS_MOST)
			evict();
		row = keys_add(&keys, hash);
		gaps[row] = (struct gap){ .before = end_of(latest.function, before),
					  .after = end_of(function, way) };
	}
	add_up(&gaps[row].sum, ns);
	hp_unlock(HP_LOCK_trace);
}

/* Passes on the thread's short gaps since the last time, with the lock. */
static void pass_short(void)
{
	add_sum(&counts.short_ones, &latest.short_ones);
	latest.short_ones = (struct profile_gap_sum){ 0 };
}

/* Nearly every call follows a short gap, so the lock is taken once for many gaps. */
static void add_short(uint64_t ns)
{
	add_up(&latest.short_ones, ns);
	if (__builtin_expect(latest.short_ones.count < SHORT_MOST, 1))
		return;
	hp_lock(HP_LOCK_trace);
	pass_short();
	hp_unlock(HP_LOCK_trace);
}

/* Returns the mark of a call with this return address in this slot. */
static uint8_t mark_of(const void *frame)
{
	const uintptr_t *slot = (const uintptr_t *)frame + 1;

	return (uint8_t)hp_hash((uintptr_t)slot << 20 ^ *slot, MARKS_BITS);
}

/*
 * The first call of the first thread also follows a gap: from the begin of the process, or of the
 * capture range.  A gap never begins before the range.
 */
static void begin(void)
{
	uint64_t range_ns = capture_range_began_ns();

	if (latest.leave_ns == 0) {
		latest.function = GAPS_NO_CALL;
		for (unsigned mark = 0; mark < 1 << MARKS_BITS; mark++)
			latest.paid[mark] = FREE_LOOKS;
		latest.leave_ns = syscall(SYS_gettid) != getpid() ? UINT64_MAX
				  : range_ns > process_began_ns   ? range_ns
								  : process_began_ns;
	}
	if (latest.leave_ns < range_ns)
		latest.leave_ns = UINT64_MAX;
}

/* The long gap of `ns` pays for looks at calls of the latest call's mark. */
static void pay(uint64_t ns)
{
	uint64_t looks = latest.paid[latest.mark] + ns / LOOK_NS;

	latest.paid[latest.mark] = (uint16_t)(looks < UINT16_MAX ? looks : UINT16_MAX);
}

/*
 * Stores the known way of a call, and adds the long gap of `ns` before the call unless `ns` is 0.
 */
static void called_by(const struct frames_way *way, uint32_t function, uint64_t ns)
{
	if (ns != 0) {
		pay(ns);
		add(function, way, ns);
	}
	if (latest.way.hash != way->hash)
		latest.way = *way;
	latest.hash = way->hash;
}

__attribute__((noinline)) static void look(const void *frame, uint32_t function, uint64_t ns,
					   uint8_t mark)
{
	struct frames_way way;

	python_places_climb(frame, &way);
	called_by(&way, function, ns);
	latest.paid[mark] -= latest.paid[mark] > 0;
}

/*
 * Adds the gap before a call if it is short.  Returns its time if it is long, else 0.  The thread's
 * first call, and a call of a time before the latest one, may follow no gap.
 */
__attribute__((noinline)) static uint64_t add_other(uint64_t enter_ns)
{
	begin();
	uint64_t ns = enter_ns > latest.leave_ns ? enter_ns - latest.leave_ns : 0;
	latest.total_ns += ns;
	if (ns >= GAPS_LEAST_NS)
		return ns;
	if (ns > 0)
		add_short(ns);
	return 0;
}

void gaps_called(uint32_t function, uint64_t enter_ns, uint64_t leave_ns, const void *frame,
		 const struct frames_way *way)
{
	uint64_t ns = enter_ns - latest.leave_ns, long_ns = 0;
	uint8_t mark = mark_of(frame);

	if (gaps == NULL)
		return;
	/* For a thread's first call, and for gaps of 0 and less, ns - 1 is too large. */
	if (ns - 1 < GAPS_LEAST_NS - 1) {
		latest.total_ns += ns;
		add_short(ns);
	} else {
		long_ns = add_other(enter_ns);
	}
	if (way != NULL)
		called_by(way, function, long_ns);
	else if (long_ns != 0 || latest.paid[mark] != 0)
		look(frame, function, long_ns, mark);
	else
		latest.hash = 0;
	latest.leave_ns = leave_ns;
	latest.function = function;
	latest.mark = mark;
}

uint64_t gaps_of_thread(uint64_t now_ns)
{
	if (gaps == NULL)
		return UINT64_MAX;
	begin();
	return latest.total_ns + (now_ns > latest.leave_ns ? now_ns - latest.leave_ns : 0);
}

void gaps_resumed(uint64_t now_ns)
{
	if (latest.leave_ns != 0)
		latest.leave_ns = now_ns;
}

void gaps_range_begins(uint64_t now_ns)
{
	if (gaps == NULL)
		return;
	begin();
	latest.function = GAPS_NO_CALL;
	latest.hash = 0;
	latest.leave_ns = now_ns;
}

void gaps_ended(uint64_t now_ns)
{
	if (gaps == NULL || latest.leave_ns == 0)
		return;
	begin();
	hp_lock(HP_LOCK_trace);
	pass_short();
	hp_unlock(HP_LOCK_trace);
	if (now_ns >= latest.leave_ns && now_ns - latest.leave_ns >= GAPS_LEAST_NS)
		add(GAPS_NO_CALL, NULL, now_ns - latest.leave_ns);
	latest.leave_ns = UINT64_MAX;
}

void gaps_count(struct gaps_counts *ret)
{
	*ret = hp_locked(HP_LOCK_trace, counts);
}

bool gaps_read(size_t index, struct gap *ret)
{
	return hp_locked(HP_LOCK_trace, index < keys.rows && (*ret = gaps[index], true));
}
