/*
 * test_sampler.c - which threads are sampled, and the reason given for the others.  The kernel is
 * made up: this file defines perf_event.h and tasks.h itself.
 */
#include "trace/collect/details.h"
#include "trace/collect/events.h"
#include "trace/samples/perf_event.h"
#include "trace/samples/sampler.h"
#include "trace/samples/samples.h"
#include "trace/samples/tasks.h"

#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <signal.h>

#define TURN (500 * TEST_MS)

static pid_t threads[1000];
static size_t thread_count;
static bool filtered;

static int refuse_with;    /* 0: the kernel does not refuse */
static size_t refuse_from; /* the number of possible rings */
static pid_t dead;         /* has ended since it was listed */
static int paranoid = 2;
static size_t most = 100;
static unsigned calls;

static struct opened {
	pid_t tid; /* 0: not in use */
	_Atomic uint64_t head, tail;
	uint8_t data[256];
} events[SAMPLER_MOST];

static size_t alive(void)
{
	size_t count = 0;

	for (size_t i = 0; i < SAMPLER_MOST; i++)
		count += events[i].tid != 0;
	return count;
}

static struct opened *event_of(pid_t tid)
{
	for (size_t i = 0; i < SAMPLER_MOST; i++)
		if (events[i].tid == tid)
			return &events[i];
	return NULL;
}

int perf_event_start(pid_t tid, struct perf_ring *ret)
{
	calls++;
	CHECK(!filtered);
	if (tid == dead)
		return -ESRCH;
	if (refuse_with != 0 && alive() >= refuse_from)
		return refuse_with;
	CHECK(event_of(tid) == NULL);
	struct opened *event = event_of(0);
	event->tid = tid;
	event->head = event->tail = 0;
	*ret = (struct perf_ring){ &event->head, &event->tail, event->data, sizeof(event->data) };
	return 0;
}

void perf_event_stop(const struct perf_ring *ring)
{
	for (size_t i = 0; i < SAMPLER_MOST; i++)
		if (events[i].data == ring->data)
			events[i].tid = 0;
}

size_t perf_event_most(void)
{
	return most;
}

int perf_event_paranoid(void)
{
	return paranoid;
}

size_t tasks_list(pid_t *ret, size_t room)
{
	for (size_t i = 0; i < thread_count && i < room; i++)
		ret[i] = threads[i];
	return thread_count;
}

bool tasks_is_filtered(pid_t tid)
{
	return tid != 0 && filtered;
}

static void sample(pid_t tid)
{
	struct opened *event = event_of(tid);
	struct {
		struct perf_event_header header;
		uint64_t words[4];
	} record = { { PERF_RECORD_SAMPLE, 0, sizeof(record) },
		     { 1, 2, (uint64_t)PERF_CONTEXT_USER, (uintptr_t)sample } };

	for (size_t i = 0; i < sizeof(record); i++)
		event->data[(event->head + i) % sizeof(event->data)] = ((uint8_t *)&record)[i];
	event->head += sizeof(record);
}

static struct profile_sampling turn(void)
{
	struct profile_sampling sums;

	test_clock_pass(TURN);
	sampler_turn();
	sampler_read(&sums);
	return sums;
}

static void begin(size_t count)
{
	threads[0] = getpid();
	for (size_t i = 1; i < count; i++)
		threads[i] = getpid() + (pid_t)i;
	thread_count = count;
	test_clock_pass(TURN);
	sampler_start(false);
}

TEST(threads_come_and_go)
{
	begin(2);
	struct profile_sampling sums = turn();

	CHECK_EQ(alive(), 2);
	CHECK(strcmp(sums.mode, "perf") == 0 && sums.why[0] == '\0');
	sample(threads[0]);
	sample(threads[1]);
	sample(threads[1]);
	/* One ends with unread samples, and two begin. */
	threads[1] = getpid() + 7;
	threads[2] = getpid() + 8;
	thread_count = 3;
	sums = turn();
	CHECK_EQ(sums.samples, 3);
	CHECK_EQ(alive(), 3);
	CHECK(event_of(getpid() + 1) == NULL);
	CHECK_EQ(sums.threads_most, 3);
	CHECK(!sums.in_turn);
	sample(threads[2]);
	sampler_stop();
	sampler_read(&sums);
	CHECK_EQ(sums.samples, 4);
	CHECK_EQ(alive(), 0);
	CHECK_EQ(samples_count(), 1);
	CHECK_EQ(samples_read(0)->count[SAMPLES_FIRST], 1);
	/* The thread that began when the other one had ended has its number. */
	CHECK_EQ(samples_read(0)->count[SAMPLES_FIRST + 1], 2);
	CHECK_EQ(samples_read(0)->count[SAMPLES_FIRST + 2], 1);
	CHECK_EQ(samples_read(0)->before, 4);
	/* Nothing begins again. */
	turn();
	CHECK_EQ(alive(), 0);
}

/* Chains share their callers; a chain that finds no room is reduced to its leaf. */
TEST(chains_in_the_timeline)
{
	struct module_place frame[PERF_RING_CHAIN_MOST] = { { 1, 10 }, { 1, 20 }, { 0, 30 } };
	struct profile_events kept;

	CHECK_EQ(details_chain(frame, 3), 2);
	frame[0].offset = 11;
	CHECK_EQ(details_chain(frame, 3), 3);
	CHECK_EQ(details_chain(frame, 3), 3);
	CHECK_EQ(details_chain(frame, 1), 4);
	details_read(&kept);
	CHECK_EQ(kept.places[3].offset, 11);
	CHECK_EQ(kept.places[3].caller, 1);
	CHECK_EQ(kept.places[0].offset, 30);
	CHECK_EQ(kept.places[0].caller, UNKNOWN);
	for (size_t i = 0; i < 2 * DETAILS_MOST; i++) {
		for (size_t j = 0; j < PERF_RING_CHAIN_MOST; j++)
			frame[j].offset = 1000 + i * PERF_RING_CHAIN_MOST + j;
		uint32_t index = details_chain(frame, PERF_RING_CHAIN_MOST);
		bool is_leaf = index != DETAILS_UNKNOWN &&
			       kept.places[index].offset == (int64_t)frame[0].offset;
		CHECK(is_leaf == (index != DETAILS_UNKNOWN));
	}
	details_read(&kept);
	CHECK_EQ(kept.place_count, DETAILS_MOST);
	frame[0].offset = 5;
	CHECK_EQ(details_chain(frame, 1), DETAILS_UNKNOWN);
}

/* Each sample represents the time before it, on a track of its thread. */
TEST(samples_in_the_timeline)
{
	struct profile_events kept;
	struct events_all all;

	CHECK_EQ(events_start(100), 0);
	begin(2);
	turn();
	sample(threads[1]);
	sample(threads[1]);
	sample(threads[0]);
	sampler_stop();
	events_end(&all);
	CHECK_EQ(all.count, 3);
	CHECK_EQ(all.tracks, 2);
	details_read(&kept);
	CHECK_EQ(kept.place_count, 1);
	for (size_t i = 0; i < all.count; i++) {
		CHECK_EQ(all.event[i].kind, EVENT_SAMPLE);
		CHECK_EQ(all.event[i].detail, 0);
		CHECK_EQ(all.track[all.event[i].track].kind, EVENT_SAMPLES);
		CHECK(all.event[i].duration_ns > 0);
	}
	CHECK_EQ(all.track[0].tid, (uint32_t)threads[0]);
	CHECK_EQ(all.track[1].tid, (uint32_t)threads[1]);
}

TEST(a_thread_that_ends_while_it_is_looked_at)
{
	begin(3);
	dead = threads[1];
	struct profile_sampling sums = turn();
	CHECK_EQ(alive(), 2);
	CHECK_EQ(sums.threads_refused, 0);
	CHECK(sums.why[0] == '\0');
}

TEST(turns_are_not_too_near)
{
	begin(1);
	turn();
	thread_count = 2;
	threads[1] = getpid() + 1;
	test_clock_pass(TURN / 4);
	sampler_turn();
	CHECK_EQ(alive(), 1);
	turn();
	CHECK_EQ(alive(), 2);
}

TEST(the_kernel_refuses)
{
	static const struct {
		int error, paranoid;
		const char *why;
	} rows[] = {
		{ -EACCES, 3, "perf_event_paranoid is 3, and the process lacks CAP_PERFMON" },
		{ -EACCES, 4, "perf_event_paranoid is 4, and the process lacks CAP_PERFMON" },
		{ -EPERM, 4, "perf_event_paranoid is 4, and the process lacks CAP_PERFMON" },
		{ -EPERM, 2, "the system refuses perf_event_open to this process" },
		{ -EACCES, INT_MIN, "the system refuses perf_event_open to this process" },
		{ -ENOSYS, 2, "the kernel has no perf events" },
		{ -ENOENT, 2, "the kernel has no perf events" },
		{ -ENOBUFS, 2, "perf_event_mlock_kb leaves no memory for a ring buffer" },
		{ -EINVAL, 2, "perf_event_max_sample_rate is below 199" },
		{ -EIO, 2, "perf_event_open failed: error 5" },
	};
	char why[200];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sampler_why(rows[i].error, rows[i].paranoid, why, sizeof(why));
		CHECK(strcmp(why, rows[i].why) == 0);
	}
}

TEST(paranoid_is_said)
{
	refuse_with = -EACCES;
	paranoid = 3;
	begin(500);
	struct profile_sampling sums = turn();
	CHECK(strncmp(sums.why, "perf_event_paranoid is 3", 24) == 0);
	/* One call for each turn, not for each thread. */
	CHECK_EQ(calls, 1);
	/* The administrator allows it. */
	refuse_with = 0;
	sums = turn();
	CHECK_EQ(alive(), 100);
	CHECK(sums.why[0] == '\0');
}

TEST(more_threads_than_memory_for_rings_take_turns)
{
	pid_t seen[64] = { 0 };
	size_t seen_count = 0;

	refuse_with = -ENOBUFS;
	refuse_from = 8;
	begin(30);
	struct profile_sampling sums = turn();
	CHECK_EQ(alive(), 8);
	for (unsigned i = 0; i < 60; i++) {
		sums = turn();
		CHECK_EQ(alive(), 8);
		CHECK(event_of(getpid()) != NULL);
		for (size_t j = 0; j < SAMPLER_MOST; j++) {
			size_t at = 0;

			while (at < seen_count && seen[at] != events[j].tid)
				at++;
			if (at == seen_count && events[j].tid != 0)
				seen[seen_count++] = events[j].tid;
		}
	}
	CHECK_EQ(seen_count, 30);
	CHECK(sums.in_turn);
	CHECK_EQ(sums.threads_at_once, 8);
	CHECK_EQ(sums.threads_most, 30);
	CHECK(sums.why[0] == '\0');
}

TEST(more_threads_than_places)
{
	most = 5000;
	begin(1000);
	struct profile_sampling sums = turn();
	CHECK_EQ(alive(), SAMPLER_MOST);
	CHECK_EQ(sums.threads_at_once, SAMPLER_MOST);
	CHECK(sums.in_turn);
	sampler_stop();
	CHECK_EQ(alive(), 0);
}

TEST(no_descriptor_is_left_for_now)
{
	refuse_with = -EMFILE;
	begin(3);
	struct profile_sampling sums = turn();
	CHECK_EQ(alive(), 0);
	CHECK_EQ(sums.threads_refused, 1);
	refuse_with = 0;
	sums = turn();
	CHECK_EQ(alive(), 3);
	CHECK(!sums.in_turn);
}

/* A filter may end the process for an unexpected call. */
TEST(under_a_seccomp_filter_nothing_is_tried)
{
	filtered = true;
	begin(3);
	struct profile_sampling sums = turn();
	CHECK_EQ(calls, 0);
	CHECK(strcmp(sums.why, "a seccomp filter is active") == 0);
}

TEST(a_filter_that_comes_later_ends_nothing_that_runs)
{
	begin(2);
	turn();
	filtered = true;
	thread_count = 3;
	threads[2] = getpid() + 9;
	struct profile_sampling sums = turn();
	CHECK_EQ(alive(), 2);
	CHECK_EQ(sums.threads_refused, 1);
	CHECK(sums.why[0] == '\0');
}

TEST(the_choice_of_threads)
{
	static const struct {
		size_t count, most, turn, chosen;
		pid_t ret[4];
	} rows[] = {
		{ 0, 4, 0, 0, { 0 } },       { 3, 4, 0, 3, { 1, 2, 3 } },
		{ 3, 3, 9, 3, { 1, 2, 3 } }, { 5, 3, 0, 3, { 1, 2, 3 } },
		{ 5, 3, 1, 3, { 1, 4, 5 } }, { 5, 3, 2, 3, { 1, 2, 3 } },
		{ 4, 3, 1, 3, { 1, 4, 2 } }, { 4, 1, 5, 1, { 1 } },
		{ 4, 0, 5, 0, { 0 } },
	};
	const pid_t living[] = { 1, 2, 3, 4, 5 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t ret[4];

		CHECK_EQ(sampler_choose(living, rows[i].count, rows[i].most, rows[i].turn, ret),
			 rows[i].chosen);
		for (size_t j = 0; j < rows[i].chosen; j++)
			CHECK_EQ(ret[j], rows[i].ret[j]);
	}
}

TEST(no_signal_gets_a_handler)
{
	struct sigaction before[65], after;

	for (int i = 1; i < 65; i++)
		sigaction(i, NULL, &before[i]);
	begin(3);
	turn();
	for (int i = 1; i < 65; i++) {
		if (i == 32 || i == 33)
			continue; /* libc's */
		CHECK_EQ(sigaction(i, NULL, &after), 0);
		CHECK(after.sa_handler == before[i].sa_handler);
	}
}

CHECK_MAIN()
