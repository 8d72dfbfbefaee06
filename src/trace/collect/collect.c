/*
 * collect.c - the flusher and the reader.
 *
 * hotpin never flushes CUPTI while CUPTI holds no buffer of ours, since CUPTI then deadlocks.
 * hotpin steps over records only with cuptiActivityGetNextRecord(), since the sizes of records
 * differ by version.
 */
#define _GNU_SOURCE
#include "trace/collect/collect.h"
#include "base/clock.h"
#include "base/cupti_find.h"
#include "base/thread.h"
#include "trace/calls/calls.h"
#include "trace/calls/operations.h"
#include "trace/calls/launches.h"
#include "trace/calls/nvtx_ranges.h"
#include "trace/collect/correlation.h"
#include "trace/collect/events.h"
#include "trace/places/frames.h"
#include "trace/places/modules.h"
#include "trace/python/python_sampler.h"
#include "trace/samples/sampler.h"
#include "trace/samples/tasks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define SECOND_NS   1000000000u
#define PATIENCE_NS (5 * (uint64_t)SECOND_NS)
#define STACK_BYTES ((size_t)1 << 20)

static struct cupti *_Atomic library; /* set by collect_from_device(); NULL: no CUPTI */

/* The reader's alone, until the reader has ended. */
static struct aggregate aggregate;
static uint64_t must_show_seen, anchored_ns;

/* Any thread, unless a comment says otherwise. */
static _Atomic uint32_t read_now; /* a bell: hp_ring() */
static _Atomic bool stop_reading;
static _Atomic uint64_t reading_ended; /* 0 or 1 */
static void (*_Atomic last_words)(void);
static _Atomic bool last_words_ended;

static _Atomic uint32_t flush_now; /* a bell */
static _Atomic uint64_t flushes_asked, flushes_done;
static _Atomic bool flush_for_good, flush_hung;
static _Atomic uint64_t dropped;
static _Atomic uint64_t flushed_ns; /* begin of the latest completed flush */
static collect_look_fn look_now;    /* constant after collect_start() */
static bool shares_files;           /* constant after collect_start() */

/* The profile of a killed program is at most this old, plus the time to write it. */
#define TURN_NS 500000000

static void wait_a_turn(const _Atomic uint32_t *bell, uint32_t seen)
{
	hp_wait_until(bell, seen, hp_now_ns() + TURN_NS);
}

/* Waits for the reader's next turn.  Meanwhile, Python is sampled. */
static void wait_and_sample(uint32_t seen)
{
	uint64_t now_ns = hp_now_ns(), until_ns = now_ns + TURN_NS;

	do {
		uint64_t next_ns = now_ns + PYTHON_SAMPLER_NS;

		hp_wait_until(&read_now, seen,
			      python_sampler_look() && next_ns < until_ns ? next_ns : until_ns);
		now_ns = hp_now_ns();
	} while (now_ns < until_ns && atomic_load(&read_now) == seen);
}

static void read_buffer(uint8_t *buffer, size_t valid)
{
	const struct cupti *cupti = library;
	uint64_t now = hp_now_ns();
	uint8_t *record = NULL;

	/* Both clocks are read again once a second: CLOCK_REALTIME may be set. */
	if (!aggregate.clock.anchored || now - anchored_ns >= SECOND_NS) {
		clockmap_sample(&aggregate.clock, cupti->get_timestamp, 100);
		anchored_ns = now;
	}
	/* Read before the records: the records of later copies are in a later buffer. */
	must_show_seen = operations_must_show();
	/* The range of each record has already begun. */
	nvtx_ranges_drain(&aggregate.split);
	while (cupti->get_next_record(buffer, valid, &record) == CUPTI_OK && record != NULL)
		aggregate_record(&aggregate, record, now);
}

static void read_all(bool last)
{
	uint8_t *buffer;
	size_t valid;

	while ((buffer = cupti_buffers_take(&valid)) != NULL) {
		if (valid > 0)
			read_buffer(buffer, valid);
		cupti_buffers_put(buffer);
	}
	if (aggregate.clock.anchored)
		aggregate_turn(&aggregate, hp_now_ns(), last);
	calls_gather();
	operations_drain(&aggregate.split);
}

static void fill(struct collect_result *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->dropped = atomic_load(&dropped);
	ret->flush_hung = atomic_load(&flush_hung);
	cupti_buffers_read_counts(&ret->buffers);
}

static void look(void)
{
	struct collect_result so_far;

	fill(&so_far);
	so_far.device = &aggregate;
	look_now(&so_far, library != NULL ? atomic_load(&flushed_ns) : hp_now_ns());
}

/* Runs in the reader, after it has ended reading. */
static void run_last_words(void)
{
	uint32_t seen = atomic_load(&read_now);
	void (*words)(void);

	while ((words = atomic_load(&last_words)) == NULL) {
		hp_wait_until(&read_now, seen, UINT64_MAX);
		seen = atomic_load(&read_now);
	}
	words();
	atomic_store(&last_words_ended, true);
}

static void *reader(void *unused)
{
	/* Numbers of the kernel that older headers lack: CLOSE_RANGE_UNSHARE. */
	const long close_range = 436, unshare = 2;

	(void)unused;
	/*
	 * Descriptors of its own, none at first: the program's next open() must return the lowest
	 * free number, and a pipe that the program closes must end.  Before Linux 5.9, all share.
	 */
	if (!shares_files)
		syscall(close_range, 0L, (long)~0u, unshare);
	for (;;) {
		uint32_t seen = atomic_load(&read_now);
		bool last = atomic_load(&stop_reading);

		read_all(last);
		modules_turn(frames_forget);
		sampler_turn();
		if (last)
			break;
		look();
		wait_and_sample(seen);
	}
	sampler_stop();
	atomic_store(&reading_ended, 1);
	run_last_words();
	return NULL;
}

static void flush(uint32_t flag)
{
	struct cupti_buffers_counts counts;
	size_t lost = 0;

	cupti_buffers_read_counts(&counts);
	if (counts.requested == 0)
		return;
	library->flush_all(flag);
	if (library->get_dropped(CUPTI_CONTEXT_ALL, 0, &lost) == CUPTI_OK)
		atomic_fetch_add(&dropped, lost);
}

/*
 * Turns records of launches on or off.  A timeline needs each launch; sums need none once the
 * places are known.
 */
static void tend_launch_records(void)
{
	if (!launches_are_recorded() || events_wanted())
		return;
	bool want = launches_want_records();
	if (!want)
		cupti_disable_launches(library);
	else if (!library->tells_launches)
		cupti_enable_launches(library);
}

static void *flusher(void *unused)
{
	(void)unused;
	for (;;) {
		/*
		 * In this order, since a request for the last flush sets its flag before
		 * `flush_now`.
		 */
		uint32_t seen = atomic_load(&flush_now);
		uint64_t asked = atomic_load(&flushes_asked);
		bool last = atomic_load(&flush_for_good);

		uint64_t now = hp_now_ns();
		flush(last ? CUPTI_FLUSH_FORCED : 0);
		atomic_store(&flushed_ns, now);
		tend_launch_records();
		if (last)
			cupti_disable(library);
		atomic_store(&flushes_done, last ? UINT64_MAX : asked);
		if (last)
			return NULL;
		wait_a_turn(&flush_now, seen);
	}
}

/* Tells CUPTI that buffers are zeroed.  Otherwise CUPTI clears them in the program's threads. */
static void promise_clear_buffers(const struct cupti *cupti)
{
	uint8_t yes = 1;
	size_t size = sizeof(yes);

	cupti->set_attribute(CUPTI_ATTRIBUTE_ZEROED, &size, &yes);
}

static uint64_t memory_bytes(void)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : 0;
}

void collect_from_device(struct cupti *cupti, int driver_version, char *why_not, size_t room)
{
	if (cupti_load(cupti, driver_version, why_not, room) < 0)
		return;
	if (cupti_buffers_start(&read_now, cupti_buffers_most(memory_bytes())) < 0) {
		snprintf(why_not, room, "no memory for CUPTI's records");
		return;
	}
	promise_clear_buffers(cupti);
	/* From here on, another thread's records may come. */
	library = cupti;
	if (cupti_enable(cupti, cupti_buffers_request, cupti_buffers_complete, why_not, room) !=
	    CUPTI_OK) {
		library = NULL;
		cupti_buffers_stop();
		return;
	}
	/* Without memory, records of calls are ignored. */
	if (cupti_enable_calls(cupti) && correlation_start() == 0 && cupti_enable_launches(cupti))
		launches_record(aggregate.began_ns, AGGREGATE_KERNELS_MOST + 1);
	if (hp_thread_start(flusher, STACK_BYTES) == 0)
		return;
	snprintf(why_not, room, "no thread could be started for CUPTI");
	library = NULL;
	cupti_disable(cupti);
	cupti_buffers_stop();
}

void collect_wake(void)
{
	hp_ring(&read_now);
}

int collect_start(uint64_t began_ns, collect_look_fn look_at)
{
	look_now = look_at;
	atomic_store(&flushed_ns, began_ns);
	if (aggregate_init(&aggregate, began_ns) < 0 || operations_start(&read_now) < 0)
		return -ENOMEM;
	/* The reader has the same filter, which may end the process for an unexpected call. */
	bool is_filtered = tasks_is_filtered((pid_t)syscall(SYS_gettid));
	/*
	 * Another profiler's hooks of libc functions run in the reader, too, and need descriptors
	 * of that profiler.  Nsight Systems 2022.4 wakes a thread with them, and waits for it in
	 * exit().
	 */
	shares_files = is_filtered || hp_cupti_is_someone_elses(NULL, 0);
	sampler_start(is_filtered);
	return hp_thread_start(reader, STACK_BYTES);
}

/*
 * Sleeps until `*done` reaches `least`, at most 5 s.  The first sleeps are short, since most waits
 * are.
 */
static bool reached(_Atomic uint64_t *done, uint64_t least)
{
	uint64_t deadline = hp_now_ns() + PATIENCE_NS;
	uint64_t pause_ns = 20000;

	while (atomic_load(done) < least) {
		if (!hp_sleep_before(deadline, pause_ns))
			return false;
		if (pause_ns < 1000000)
			pause_ns *= 2;
	}
	return true;
}

void collect_flush(void)
{
	if (library == NULL || atomic_load(&flush_hung))
		return;
	uint64_t ticket = atomic_fetch_add(&flushes_asked, 1) + 1;
	hp_ring(&flush_now);
	if (!reached(&flushes_done, ticket))
		atomic_store(&flush_hung, true);
}

void collect_stop(struct collect_result *ret)
{
	atomic_store(&flush_for_good, true);
	collect_flush();
	cupti_buffers_stop();
	atomic_store(&stop_reading, true);
	hp_ring(&read_now);
	bool ended = reached(&reading_ended, 1);
	fill(ret);
	if (!ended)
		return;
	ret->device = &aggregate;
	ret->must_show_left = operations_must_show() - must_show_seen;
}

int collect_last(void (*words)(void), uint64_t (*progress)(void))
{
	if (!atomic_load(&reading_ended))
		return -EBUSY;
	uint64_t before = progress(), deadline = hp_now_ns() + PATIENCE_NS;

	atomic_store(&last_words, words);
	hp_ring(&read_now);
	while (!atomic_load(&last_words_ended)) {
		uint64_t so_far = progress();

		if (so_far != before)
			deadline = hp_now_ns() + PATIENCE_NS;
		before = so_far;
		if (!hp_sleep_before(deadline, 20000))
			return -ETIMEDOUT;
	}
	return 0;
}
