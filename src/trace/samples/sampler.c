/*
 * sampler.c - opens one event or timer for each thread when the thread is first seen.
 *
 * A seccomp filter may end the process for an unexpected system call, so hotpin tries none under a
 * filter.
 */
#define _GNU_SOURCE
#include "trace/samples/sampler.h"
#include "base/clock.h"
#include "base/options.h"
#include "base/thread.h"
#include "trace/calls/capture_range.h"
#include "trace/collect/details.h"
#include "trace/collect/events.h"
#include "trace/samples/chains.h"
#include "trace/samples/perf_event.h"
#include "trace/samples/samples.h"
#include "trace/samples/signals.h"
#include "trace/samples/tasks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_NS      400000000u /* the turns of the reading thread are not exact */
#define LIVING_MOST  4096
#define PERIOD_NS    (1000000000u / PERF_EVENT_HZ)
#define ROTATE_TURNS 4 /* turns for which a thread is sampled, if threads take turns */

static const struct means {
	const char *mode;
	int (*start)(pid_t tid, struct perf_ring *ret);
	void (*stop)(const struct perf_ring *ring);
} perf = { "perf", perf_event_start, perf_event_stop },
  signals = { "signal", signals_sample, signals_end };

static struct watched {
	pid_t tid;      /* 0: free */
	unsigned track; /* of the timeline, plus 1; 0: not known yet */
	struct perf_ring ring;
} watched[SAMPLER_MOST];

static const struct means *means; /* NULL: nothing is sampled */
static char why[200];
static struct profile_sampling sums = { .mode = "none", .why = why, .hz = PERF_EVENT_HZ };
static struct perf_ring_sums records;
static uint64_t turned_ns;

/* The first copy or launch and the end of the last one, 0: none.  Any thread. */
static _Atomic uint64_t first_work_ns, last_work_ns;
static uint64_t work_seen_ns; /* last_work_ns, as of the latest turn */
static size_t turns;

size_t sampler_choose(const pid_t *living, size_t count, size_t most, size_t turn, pid_t *ret)
{
	if (count <= most) {
		memcpy(ret, living, count * sizeof(*ret));
		return count;
	}
	if (most == 0)
		return 0;
	ret[0] = living[0];
	for (size_t i = 1; i < most; i++)
		ret[i] = living[1 + (turn * (most - 1) + i - 1) % (count - 1)];
	return most;
}

void sampler_why(int error, int paranoid, char *ret, size_t room)
{
	if ((error == -EACCES || error == -EPERM) && paranoid > 2)
		snprintf(ret, room, "perf_event_paranoid is %d, and the process lacks CAP_PERFMON",
			 paranoid);
	else if (error == -EACCES || error == -EPERM)
		snprintf(ret, room, "the system refuses perf_event_open to this process");
	else if (error == -ENOSYS || error == -ENOENT || error == -EOPNOTSUPP)
		snprintf(ret, room, "the kernel has no perf events");
	else if (error == -ENOBUFS)
		snprintf(ret, room, "perf_event_mlock_kb leaves no memory for a ring buffer");
	else if (error == -EINVAL)
		snprintf(ret, room, "perf_event_max_sample_rate is below %d", PERF_EVENT_HZ);
	else
		snprintf(ret, room, "perf_event_open failed: error %d", -error);
}

/* Adds an event to the timeline: the thread has run for about a period. */
static void note_event(struct watched *thread, uint64_t now_ns, const struct module_place *frame,
		       size_t depth)
{
	if (thread->track == 0)
		thread->track = events_track(&(struct event_track){
					.kind = EVENT_SAMPLES, .tid = (uint32_t)thread->tid }) +
				1;
	events_add(&(struct event){ .kind = EVENT_SAMPLE,
				    .track = (uint16_t)(thread->track - 1),
				    .start_ns = now_ns > PERIOD_NS ? now_ns - PERIOD_NS : 0,
				    .duration_ns = PERIOD_NS,
				    .bytes = UINT64_MAX,
				    .site = UINT32_MAX,
				    .detail = details_chain(frame, depth) });
}

void sampler_worked(uint64_t enter_ns, uint64_t leave_ns)
{
	if (atomic_load_explicit(&first_work_ns, memory_order_relaxed) == 0)
		atomic_store_explicit(&first_work_ns, enter_ns, memory_order_relaxed);
	atomic_store_explicit(&last_work_ns, leave_ns, memory_order_relaxed);
}

static enum samples_time time_of(uint64_t now_ns)
{
	uint64_t first_ns = atomic_load_explicit(&first_work_ns, memory_order_relaxed);

	if (first_ns == 0 || now_ns < first_ns)
		return SAMPLES_BEFORE;
	return now_ns > work_seen_ns ? SAMPLES_AFTER : SAMPLES_BETWEEN;
}

static void look_at_work(void)
{
	uint64_t now_ns = atomic_load_explicit(&last_work_ns, memory_order_relaxed);

	if (now_ns != work_seen_ns)
		samples_went_on();
	work_seen_ns = now_ns;
}

static void take_sample(uint64_t now_ns, const uint64_t *chain, size_t depth, void *arg)
{
	struct watched *thread = arg;
	struct module_place frame[PERF_RING_CHAIN_MOST];

	if (!capture_range_holds(now_ns)) {
		records.samples--; /* the ring has counted it */
		return;
	}
	depth = chains_resolve(chain, depth, frame);
	size_t number = (size_t)(thread - watched);
	samples_add(frame, depth, number < SAMPLES_OTHERS ? number : SAMPLES_OTHERS,
		    time_of(now_ns));
	if (events_wanted() && depth > 0)
		note_event(thread, now_ns, frame, depth);
}

static void drain(struct watched *thread)
{
	perf_ring_drain(&thread->ring, &records, take_sample, thread);
}

static void end_one(struct watched *thread)
{
	drain(thread);
	means->stop(&thread->ring);
	thread->tid = 0;
}

static void end_all(void)
{
	for (size_t i = 0; means != NULL && i < SAMPLER_MOST; i++)
		if (watched[i].tid != 0)
			end_one(&watched[i]);
	means = NULL;
}

static void give_up(const char *reason)
{
	end_all();
	snprintf(why, sizeof(why), "%s", reason);
}

/* Starts sampling a thread.  False: another thread would fail in this turn, too. */
static bool start_one(pid_t tid, size_t alive)
{
	struct watched *thread = tid == getpid() ? watched : watched + 1;

	/* The first entry is the first thread's. */
	while (thread < watched + SAMPLER_MOST && thread->tid != 0)
		thread++;
	if (thread == watched + SAMPLER_MOST)
		return false;
	int error = means->start(tid, &thread->ring);
	if (error == 0) {
		*thread = (struct watched){ .tid = tid, .ring = thread->ring };
		return true;
	}
	if (error == -ESRCH)
		return true;
	sums.threads_refused++;
	if (error == -ENOBUFS && alive > 0)
		sums.threads_at_once = alive;
	else if (error != -EMFILE && error != -ENFILE && error != -ENOMEM && alive == 0)
		sampler_why(error, perf_event_paranoid(), why, sizeof(why));
	return false;
}

/*
 * Ends the sampling of threads that are not chosen.  Zeroes chosen threads that are already
 * sampled.
 */
static size_t keep_chosen(pid_t *chosen, size_t count)
{
	size_t alive = 0;

	for (size_t i = 0; i < SAMPLER_MOST; i++) {
		size_t at = 0;

		if (watched[i].tid == 0)
			continue;
		while (at < count && chosen[at] != watched[i].tid)
			at++;
		if (at == count) {
			end_one(&watched[i]);
			continue;
		}
		chosen[at] = 0;
		alive++;
	}
	return alive;
}

static void look_for_threads(void)
{
	static pid_t living[LIVING_MOST];
	pid_t chosen[SAMPLER_MOST];
	bool mixed = hp_threads_are_starting();
	size_t count = tasks_list(living, LIVING_MOST);

	if (count == 0)
		living[0] = getpid();
	/* One of these may be hotpin's; the first thread, which is the oldest, is not. */
	if (count == 0 || mixed || hp_threads_are_starting())
		count = 1;
	if ((int64_t)count > sums.threads_most)
		sums.threads_most = (int64_t)count;
	count = count < LIVING_MOST ? count : LIVING_MOST;
	size_t at_once = (size_t)sums.threads_at_once;
	sums.in_turn |= count > at_once;
	count = sampler_choose(living, count, at_once, turns++ / ROTATE_TURNS, chosen);
	size_t alive = keep_chosen(chosen, count);
	for (size_t i = 0; i < count && means != NULL; i++) {
		if (chosen[i] == 0)
			continue;
		/* Running events stay, since only new system calls reach the filter. */
		if (tasks_is_filtered(means == &perf ? (pid_t)syscall(SYS_gettid) : chosen[i])) {
			sums.threads_refused++;
			if (alive == 0)
				snprintf(why, sizeof(why), "a seccomp filter is active");
			continue;
		}
		if (!start_one(chosen[i], alive))
			break;
		alive++;
	}
	if (alive > 0)
		why[0] = '\0';
}

void sampler_start(bool filtered)
{
	memset(watched, 0, sizeof(watched));
	sums = (struct profile_sampling){ .mode = "none", .why = why, .hz = PERF_EVENT_HZ };
	records = (struct perf_ring_sums){ 0 };
	turned_ns = 0;
	if (hp_options->sample == HP_SAMPLE_OFF) {
		give_up("HOTPIN_SAMPLE is off");
		return;
	}
	if (filtered && hp_options->sample != HP_SAMPLE_SIGNAL) {
		give_up("a seccomp filter is active");
		return;
	}
	if (samples_start() < 0) {
		give_up("no memory for samples");
		return;
	}
	means = &perf;
	size_t most = perf_event_most();
	if (hp_options->sample == HP_SAMPLE_SIGNAL) {
		means = &signals;
		most = SIGNALS_MOST;
		if (signals_start() < 0) {
			give_up("every real-time signal has a handler");
			return;
		}
	}
	sums.mode = means->mode;
	why[0] = '\0';
	sums.threads_at_once = most < 1 ? 1 : most < SAMPLER_MOST ? most : SAMPLER_MOST;
	sums.began_ns = hp_now_ns();
}

void sampler_turn(void)
{
	uint64_t now_ns = hp_now_ns();

	if (means == NULL || (turned_ns != 0 && now_ns - turned_ns < TURN_NS))
		return;
	turned_ns = now_ns;
	if (means == &signals && !signals_hold()) {
		give_up("the program has taken the signal");
		return;
	}
	chains_turn(!tasks_is_filtered((pid_t)syscall(SYS_gettid)));
	look_at_work();
	for (size_t i = 0; i < SAMPLER_MOST; i++) {
		if (watched[i].tid == 0)
			continue;
		/* The signal handler makes system calls in the filtered thread. */
		if (means == &signals && tasks_is_filtered(watched[i].tid))
			end_one(&watched[i]);
		else
			drain(&watched[i]);
	}
	look_for_threads();
}

void sampler_stop(void)
{
	if (means != NULL)
		look_at_work();
	end_all();
}

void sampler_read(struct profile_sampling *ret)
{
	*ret = sums;
	ret->samples = records.samples;
	ret->empty = records.empty;
	ret->lost = records.lost;
	ret->dropped = samples_dropped();
}
