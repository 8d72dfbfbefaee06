/*
 * test_events.c - the timeline keeps the longest events, in order, in bounded memory.
 */
#include "check.h"
#include "profile/profile.h"
#include "trace/collect/events.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The file has numbers; writer and reader share no header. */
#define NUMBER(written, read) _Static_assert((int)(written) == (int)(read), #read)
NUMBER(EVENT_KERNEL, PROFILE_KERNEL);
NUMBER(EVENT_COPY, PROFILE_COPY);
NUMBER(EVENT_MEMSET, PROFILE_MEMSET);
NUMBER(EVENT_COPY_CALL, PROFILE_COPY_CALL);
NUMBER(EVENT_WAIT, PROFILE_WAIT);
NUMBER(EVENT_RANGE, PROFILE_RANGE);
NUMBER(EVENT_API, PROFILE_API);
NUMBER(EVENT_OWN, PROFILE_OWN);
NUMBER(EVENT_SAMPLE, PROFILE_SAMPLE);
NUMBER(EVENT_SAMPLE + 1, PROFILE_EVENT_COUNT);
#undef NUMBER

static void add(uint64_t start, uint64_t duration, unsigned track)
{
	events_add(&(struct event){ .start_ns = start,
				    .duration_ns = duration,
				    .track = (uint16_t)track,
				    .bytes = start,
				    .site = UINT32_MAX });
}

static bool refused;

/* Replaces libc's, which events.c calls for a thread's name: a system call filter may refuse it. */
int prctl(int option, ...)
{
	va_list list;

	if (refused) {
		errno = EPERM;
		return -1;
	}
	va_start(list, option);
	char *name = va_arg(list, char *);
	va_end(list);
	return (int)syscall(SYS_prctl, option, name);
}

static unsigned stream(uint32_t device, uint32_t context, uint32_t number)
{
	return events_track(&(struct event_track){
		.kind = EVENT_STREAM, .device = device, .context = context, .stream = number });
}

TEST_AFTER(a_name_that_the_kernel_does_not_say, CHECK_EQ(events_start(1000), 0))
{
	refused = true;
	errno = 55;
	events_thread();
	CHECK_EQ(errno, 55);
	refused = false;
}

TEST_AFTER(sorted_by_start, CHECK_EQ(events_start(1000), 0))
{
	struct events_all all;

	for (uint64_t i = 0; i < 1000; i++)
		add(i * 7919 % 1000, 5, events_thread());
	events_end(&all);
	CHECK_EQ(all.count, 1000);
	CHECK_EQ(all.dropped, 0);
	CHECK_EQ(all.shortest_ns, 0);
	for (uint64_t i = 0; i < 1000; i++)
		CHECK(all.event[i].start_ns == i && all.event[i].bytes == i);
}

TEST_AFTER(the_longest_stay, CHECK_EQ(events_start(1000), 0))
{
	struct events_all all;
	uint64_t shortest = UINT64_MAX, seed = 1;
	size_t long_ones = 0;

	for (uint64_t i = 0; i < 100000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		/* One in a thousand is long. */
		add(i, i % 1000 == 0 ? 1000000 + i : seed >> 48, events_thread());
	}
	events_end(&all);
	CHECK(all.count >= 500 && all.count <= 1000);
	CHECK_EQ(all.dropped, 100000 - all.count);
	for (size_t i = 0; i < all.count; i++) {
		long_ones += all.event[i].duration_ns >= 1000000;
		if (all.event[i].duration_ns < shortest)
			shortest = all.event[i].duration_ns;
	}
	CHECK_EQ(long_ones, 100);
	CHECK(all.shortest_ns > 32768 && shortest >= all.shortest_ns);
}

/*
 * All events have the same length: the early half stays each time, and the list never becomes
 * empty.
 */
TEST(all_of_one_length)
{
	struct events_all all;

	CHECK_EQ(events_start(100), 0);
	for (uint64_t i = 0; i < 10000; i++)
		add(i, 2000, events_thread());
	events_end(&all);
	CHECK(all.count >= 50 && all.count <= 100);
	CHECK_EQ(all.event[0].start_ns, 0);
	CHECK_EQ(all.dropped, 10000 - all.count);
}

TEST(extreme_lengths)
{
	static const uint64_t lengths[] = { 0, 1, 7, 8, 9, 15, 16, 17, 1u << 31, UINT64_MAX };
	struct events_all all;

	CHECK_EQ(events_start(4), 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		add(i, lengths[i], events_thread());
	events_end(&all);
	CHECK_EQ(all.event[all.count - 1].duration_ns, UINT64_MAX);
	CHECK_EQ(all.count + all.dropped, sizeof(lengths) / sizeof(lengths[0]));
}

static void *in_thread(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < 10000; i++)
		add(i, i, events_thread());
	return NULL;
}

TEST_AFTER(threads_and_streams_have_tracks, CHECK_EQ(events_start(1000), 0))
{
	struct events_all all;

	CHECK_EQ(stream(0, 1, 7), 0);
	CHECK_EQ(stream(0, 1, 8), 1);
	CHECK_EQ(stream(0, 1, 7), 0);
	CHECK_EQ(stream(1, 1, 7), 2);
	CHECK_EQ(events_thread(), 3);
	CHECK_EQ(events_thread(), 3);
	CHECK_EQ(events_track(&(struct event_track){ .kind = EVENT_RANGES }), 4);
	check_in_threads(4, in_thread);
	events_end(&all);
	CHECK_EQ(all.tracks, 9);
	CHECK(all.track[3].kind == EVENT_THREAD && all.track[3].tid == (uint32_t)getpid());
	CHECK(strncmp(all.track[3].name, "test_events", 11) == 0);
	CHECK_EQ(all.count + all.dropped, 40000);
	/* Nothing is recorded beyond the last track. */
	for (uint32_t i = 0; i < 2000; i++)
		stream(5, 5, i);
	CHECK_EQ(stream(5, 5, 1999), EVENTS_TRACKS_MOST);
}

static void *one_event(void *name)
{
	prctl(PR_SET_NAME, name);
	add(1, 1, events_thread());
	return NULL;
}

static void run_one(const char *name)
{
	check_in_thread(one_event, (void *)name);
}

/* A thread that has ended leaves its track to one of its number and name; streams keep theirs. */
TEST(threads_that_come_and_go)
{
	struct events_all all;
	uint64_t threads = 0;

	CHECK_EQ(events_start(10000), 0);
	for (int i = 0; i < 5000; i++)
		run_one("worker");
	run_one("other");
	CHECK(stream(0, 0, 1) < EVENTS_THREADS_MOST);
	events_end(&all);
	CHECK_EQ(all.count, 5001);
	CHECK_EQ(all.dropped + all.trackless, 0);
	for (size_t i = 0; i < all.tracks; i++)
		threads += all.track[i].threads;
	CHECK_EQ(threads, 5001);
	CHECK(strcmp(all.track[0].name, "worker") == 0 && all.track[0].threads > 1);
	const struct event_track *last = &all.track[all.tracks - 1];
	CHECK_EQ(last->threads, 0);
	CHECK(strcmp(last[-1].name, "other") == 0 && last[-1].threads == 1);
}

static pthread_barrier_t all_there;

static void *stay(void *arg)
{
	(void)arg;
	add(1, 1, events_thread());
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_there);
	return NULL;
}

/* The events of a thread without a track are counted. */
TEST(more_threads_at_once_than_tracks)
{
	static pthread_t threads[EVENTS_THREADS_MOST];
	pthread_attr_t attributes;
	struct events_all all;

	CHECK_EQ(events_start(10000), 0);
	pthread_barrier_init(&all_there, NULL, EVENTS_THREADS_MOST + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	for (size_t i = 0; i < EVENTS_THREADS_MOST; i++)
		CHECK(pthread_create(&threads[i], &attributes, stay, NULL) == 0);
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < 10; i++)
		add(1, 1, events_thread());
	CHECK_EQ(events_trackless(), 10);
	pthread_barrier_wait(&all_there);
	for (size_t i = 0; i < EVENTS_THREADS_MOST; i++)
		pthread_join(threads[i], NULL);
	events_end(&all);
	CHECK_EQ(all.tracks, EVENTS_THREADS_MOST);
	CHECK_EQ(all.count, EVENTS_THREADS_MOST);
	CHECK_EQ(all.trackless, 10);
	CHECK_EQ(all.dropped, 10);
}

TEST(nothing_without_start)
{
	CHECK(!events_wanted());
}

CHECK_MAIN()
