/*
 * trace.c - starts the profile, appends to it, and finishes it.
 *
 * A child of fork() reports nothing.  A child of vfork() shares our memory, so a call that it makes
 * is one of its parent's thread, which waits meanwhile.  It may leave by _exit(), and does not end
 * the profile: trace_flush(), trace_stop() and trace_finish() do nothing there.
 */
#define _GNU_SOURCE
#include "trace/trace.h"
#include "base/clock.h"
#include "base/cupti_find.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/options.h"
#include "trace/calls/calls.h"
#include "trace/calls/capture_range.h"
#include "trace/calls/gaps.h"
#include "trace/calls/host_buffers.h"
#include "trace/calls/launches.h"
#include "trace/calls/repeats.h"
#include "trace/calls/round_trips.h"
#include "trace/calls/nvtx_ranges.h"
#include "trace/collect/events.h"
#include "trace/collect/rewritten.h"
#include "trace/out/output.h"
#include "trace/places/sites.h"
#include "trace/python/python_places.h"
#include "trace/samples/sampler.h"
#include "trace/samples/tasks.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Any thread. */
static _Atomic bool begun;  /* host code is sampled, until trace_stop() */
static _Atomic bool active; /* calls are collected too: the program uses CUDA */
static _Atomic bool stopped, finished;
static _Atomic int exit_status = -1; /* -1: not known */

/*
 * Written by trace_begin() and trace_start(), then only by the thread that stops the profile and by
 * the one that finishes it.
 */
static pid_t owner;
static struct cupti cupti;
static struct report report;
static char why_not[256];
static uint64_t ended_ns, stop_ns; /* when the profile ended, and how long that took */

/* Constant after trace_begin(). */
static pthread_t first_thread;
static void (*all_have_ended)(int status);

bool trace_wanted(void)
{
	return hp_options->profile != HP_PROFILE_OFF || hp_options->out[0] != '\0';
}

static void look(const struct collect_result *so_far, uint64_t until_ns)
{
	clockid_t clock;
	int status;

	output_look(so_far, until_ns);
	if (all_have_ended != NULL && pthread_getcpuclockid(first_thread, &clock) == ESRCH &&
	    tasks_have_ended(&status))
		all_have_ended(status);
}

/* Returns 0, or -errno if nothing can be collected. */
static int begin(uint64_t began_ns)
{
	uint64_t now_ns = hp_now_ns();

	owner = getpid();
	process_read(&report.process);
	report.stage = hp_options->stage;
	report.began_ns = began_ns != 0 && began_ns <= now_ns ? began_ns : now_ns;
	report.exit_status = -1;
	report.cupti = &cupti;
	report.why_not = why_not;
	report.no_device = true;
	if (hp_options->profile == HP_PROFILE_TRACE)
		events_start(EVENTS_MOST);
	int error = collect_start(report.began_ns, look);
	report.start_ns = hp_now_ns() - now_ns;
	atomic_store(&begun, error == 0);
	if (error < 0) {
		owner = 0;
		hp_debug("cannot start the profile: error %d", -error);
	}
	return error;
}

void trace_begin(uint64_t began_ns, void (*on_end)(int status))
{
	int saved = errno;

	/* Shells and launchers have many descendants; those that use CUDA have a profile. */
	if (trace_wanted() && owner == 0 && process_start() != PROCESS_DESCENDANT) {
		first_thread = pthread_self();
		all_have_ended = on_end;
		begin(began_ns);
	}
	errno = saved;
}

bool trace_begun(void)
{
	return atomic_load(&begun);
}

static void keep_facts(const struct trace_facts *facts)
{
	report.no_device = false;
	if (facts->device != NULL)
		snprintf(report.device_name, sizeof(report.device_name), "%s", facts->device);
	report.driver_version = facts->driver_version;
	report.link_bytes_per_s = facts->link_bytes_per_s;
	report.on_stand_in = facts->on_stand_in;
}

/* Returns 0 or -ENOMEM. */
static int start_tables(const struct trace_facts *facts)
{
	calls_start(facts->function_name, facts->may_wait, facts->functions);
	if (rewritten_start() < 0 || sites_start() < 0 || host_buffers_start() < 0 ||
	    python_places_start() < 0 || gaps_start(report.began_ns) < 0 || launches_start() < 0 ||
	    (hp_options->hash && repeats_start() < 0))
		return -ENOMEM;
	return 0;
}

void trace_start(const struct trace_facts *facts)
{
	uint64_t now = hp_now_ns();

	if (!trace_wanted() || trace_active() || atomic_load(&stopped) ||
	    (!atomic_load(&begun) && begin(facts->began_ns) < 0))
		return;
	keep_facts(facts);
	if (hp_options->cupti == HP_CUPTI_OFF)
		snprintf(why_not, sizeof(why_not), "HOTPIN_CUPTI is off");
	else if (hp_options->cupti != HP_CUPTI_FORCE)
		hp_cupti_is_someone_elses(why_not, sizeof(why_not));

	if (start_tables(facts) < 0) {
		snprintf(why_not, sizeof(why_not), "no memory for the profile");
		return;
	}
	report.calls = true;
	if (why_not[0] == '\0')
		collect_from_device(&cupti, facts->driver_version, why_not, sizeof(why_not));
	/* Calls outside the capture range are not noted. */
	if (!capture_range_is_all())
		calls_lose_waits();
	frames_start();
	/* The program's next dlerror() must not report our search. */
	dlerror();
	report.start_ns += hp_now_ns() - now;
	atomic_store(&active, true);
	output_begin(&report);
}

bool trace_active(void)
{
	return atomic_load_explicit(&active, memory_order_relaxed);
}

/*
 * True if calls are collected.  A signal handler may have interrupted a function that holds a lock;
 * what it calls is lost.
 */
static bool is_collecting(void)
{
	if (!trace_active())
		return false;
	if (hp_locks_are_held())
		calls_lose_waits();
	return !hp_locks_are_held();
}

/* True if what has lasted since then is collected: it is in the capture range. */
static bool is_in_range(uint64_t since_ns)
{
	return is_collecting() && capture_range_is_open(since_ns);
}

static void note_call(const struct trace_copy *copy, uint32_t site, uint32_t buffer)
{
	enum event_way way = copy->deferred      ? EVENT_DEFERRED
			     : copy->synchronous ? EVENT_WAITS
						 : EVENT_ASYNC;

	events_add(
		&(struct event){ .kind = EVENT_COPY_CALL,
				 .track = (uint16_t)events_thread(),
				 .start_ns = copy->enter_ns,
				 .duration_ns = copy->leave_ns - copy->enter_ns,
				 .name = events_name((int)copy->direction, (int)copy->memory, way),
				 .bytes = copy->bytes,
				 .site = site,
				 .detail = buffer,
				 .route = copy->route });
}

/* Adds an event from enter_ns to leave_ns, on the calling thread's track or on hotpin's own. */
static void note_work(enum event_kind kind, uint32_t name, uint64_t bytes, uint64_t enter_ns,
		      uint64_t leave_ns)
{
	if (!events_wanted())
		return;
	events_add(&(struct event){
		.kind = (uint8_t)kind,
		.track = (uint16_t)(kind == EVENT_OWN ? events_track(&(struct event_track){
								.kind = EVENT_HOTPIN })
						      : events_thread()),
		.start_ns = enter_ns,
		.duration_ns = leave_ns - enter_ns,
		.name = name,
		.bytes = bytes,
		.site = SITES_NOWHERE });
}

/* Does the rare work: names a new buffer, and hashes bytes. */
static void note_rare(const struct trace_copy *copy, uint32_t site, uint32_t *buffer)
{
	uint64_t from = hp_now_ns();

	if (*buffer == HOST_BUFFERS_UNSEEN)
		*buffer = host_buffers_copied(copy, site);
	if (hp_options->hash)
		repeats_copied(copy, site, *buffer);
	operations_rare(from);
}

void trace_copied(const struct trace_copy *copy)
{
	bool owned = copy->direction <= TRACE_D2H;
	uint32_t buffer = HOST_BUFFERS_UNSEEN;
	struct frames_way way;

	/* A copy into a graph has moved nothing. */
	if (copy->in_graph || !is_collecting())
		return;
	if (!capture_range_is_open(copy->enter_ns)) {
		operations_copy_outside(copy);
		return;
	}
	sampler_worked(copy->enter_ns, copy->leave_ns);
	uint64_t from = operations_sample_begins();
	python_places_climb(copy->frame, &way);
	hp_lock(HP_LOCK_trace);
	operations_add(copy);
	uint32_t site = sites_add(&way, copy);
	if (owned)
		buffer = host_buffers_add(copy, site);
	nvtx_ranges_copied(copy);
	if (copy->deferred)
		rewritten_deferred(copy);
	hp_unlock(HP_LOCK_trace);
	if (owned && (buffer == HOST_BUFFERS_UNSEEN || hp_options->hash))
		note_rare(copy, site, &buffer);
	if (events_wanted())
		note_call(copy, site, buffer);
	operations_sample_ends(from);
}

void trace_allocated(uint32_t allocator, const void *caller, const void *frame)
{
	if (trace_wanted())
		callers_note(allocator, caller, frame);
}

void trace_pinned(uint32_t allocator, bool begins, uint64_t bytes, uint64_t ns)
{
	uint64_t now_ns = hp_now_ns();

	if (!is_in_range(now_ns - ns))
		return;
	host_buffers_pinned(allocator, begins, ns);
	note_work(EVENT_OWN, begins ? EVENT_PIN : EVENT_UNPIN, bytes, now_ns - ns, now_ns);
}

void trace_program_pinned(const void *block, uint64_t bytes, bool registered, uint64_t enter_ns,
			  uint64_t leave_ns, const void *frame)
{
	struct frames_way way;

	if (!is_collecting())
		return;
	python_places_climb(frame, &way);
	host_buffers_program_pinned(&way, block, bytes, registered, is_in_range(enter_ns),
				    leave_ns - enter_ns);
}

void trace_program_unpinned(const void *block, uint64_t enter_ns, uint64_t leave_ns)
{
	if (is_collecting())
		host_buffers_program_unpinned(block,
					      is_in_range(enter_ns) ? leave_ns - enter_ns : 0);
}

void trace_captures(bool begins)
{
	uint64_t now_ns = hp_now_ns();

	if (!begins) {
		gaps_ended(now_ns);
		capture_range_ends(now_ns);
		return;
	}
	capture_range_begins(now_ns);
	gaps_range_begins(now_ns);
}

void trace_profiler(bool starts)
{
	static _Atomic bool started;

	if (strcmp(hp_options->capture, HP_CAPTURE_PROFILER) == 0 && trace_wanted() &&
	    atomic_exchange(&started, starts) != starts)
		trace_captures(starts);
}

uint64_t trace_staging(enum trace_direction direction, uint64_t bytes)
{
	return is_collecting() ? rewritten_begin(direction, bytes, hp_now_ns()) : UINT64_MAX;
}

void trace_staged(uint64_t ticket, uint64_t moved)
{
	if (ticket != UINT64_MAX)
		rewritten_end(ticket, moved, hp_now_ns());
}

/* Adds a launch and a gap with one walk up the stack. */
static void note_launch(uint32_t function, uint64_t enter_ns, uint64_t leave_ns, const void *frame)
{
	struct frames_way way;

	python_places_climb(frame, &way);
	launches_called(&way, enter_ns, leave_ns);
	gaps_called(function, enter_ns, leave_ns, frame, &way);
}

static void note_wait(bool is_join, uint64_t enter_ns, uint64_t leave_ns)
{
	uint64_t from = operations_sample_begins();

	operations_wait(is_join, enter_ns, leave_ns);
	if (is_join) {
		note_work(EVENT_OWN, EVENT_JOIN, UINT64_MAX, enter_ns, leave_ns);
	} else {
		round_trips_waited(leave_ns);
		note_work(EVENT_WAIT, 0, UINT64_MAX, enter_ns, leave_ns);
	}
	operations_sample_ends(from);
}

/* The kinds of calls of which more than a gap is noted. */
#define MORE (CALLS_LAUNCH | CALLS_WORK | CALLS_WAITS)

/* As trace_called(), for a call of one of these kinds. */
__attribute__((noinline)) static void note_more(unsigned kinds, uint32_t function,
						uint64_t enter_ns, uint64_t leave_ns,
						const void *frame)
{
	if (kinds & CALLS_WAITS)
		note_wait(false, enter_ns, leave_ns);
	if (kinds & CALLS_LAUNCH)
		sampler_worked(enter_ns, leave_ns);
	if (kinds & CALLS_LAUNCH)
		note_launch(function, enter_ns, leave_ns, frame);
	else
		gaps_called(function, enter_ns, leave_ns, frame, NULL);
	if (kinds & CALLS_WORK)
		note_work(EVENT_API, function, UINT64_MAX, enter_ns, leave_ns);
}

void trace_called(size_t function, uint64_t enter_ns, uint64_t leave_ns, const void *frame)
{
	if (!is_in_range(enter_ns))
		return;
	unsigned kinds = calls_add(function, enter_ns, leave_ns);
	if (__builtin_expect((kinds & MORE) != 0, 0))
		note_more(kinds, (uint32_t)function, enter_ns, leave_ns, frame);
	else
		gaps_called((uint32_t)function, enter_ns, leave_ns, frame, NULL);
}

void trace_called_unknown(void)
{
	calls_lose_waits();
}

void trace_starting(uint64_t from_ns, uint64_t to_ns)
{
	if (!is_in_range(from_ns))
		return;
	operations_start_up(from_ns, to_ns);
	gaps_resumed(to_ns);
}

void trace_launched(enum trace_launch launch)
{
	if (!is_collecting())
		return;
	if (!capture_range_is_open(UINT64_MAX)) {
		operations_launch_outside(launch);
		return;
	}
	uint64_t from = operations_sample_begins();
	operations_launch(launch);
	nvtx_ranges_launched();
	operations_sample_ends(from);
}

void trace_joined(uint64_t enter_ns, uint64_t leave_ns)
{
	if (is_in_range(enter_ns))
		note_wait(true, enter_ns, leave_ns);
}

void trace_flush(void)
{
	int saved = errno;

	if (trace_active() && getpid() == owner)
		collect_flush();
	errno = saved;
}

static bool is_ours(void)
{
	return owner != 0 && getpid() == owner;
}

void trace_stop(void)
{
	int saved = errno;

	if (!is_ours() || !atomic_exchange(&begun, false))
		return;
	uint64_t now = hp_now_ns();
	atomic_store(&active, false);
	host_buffers_ended();
	if (!report.no_device && capture_range_is_open(now))
		gaps_ended(now);
	collect_stop(&report.collected);
	ended_ns = now;
	stop_ns = hp_now_ns() - now;
	atomic_store(&stopped, true);
	errno = saved;
}

/*
 * True if this process, which used no device, leaves no profile.  That of another process stands
 * for it: it may be a shell, or mpirun, whose children are the ranks.  Or nobody has named it: with
 * an exported LD_PRELOAD, `ls` would replace the profile of the program before it.
 */
static bool is_nameless(void)
{
	const struct process *process = &report.process;
	uint64_t since_ns = process->run_began_ns;

	if (since_ns == 0)
		since_ns = report.began_ns + process->unix_offset_ns;
	return (process_start() == PROCESS_PRELOADED && hp_options->only[0] == '\0') ||
	       (hp_options->out[0] == '\0' && process_had_children()) ||
	       (process->rank[0] == '\0' && strstr(hp_options->out, "%r") != NULL) ||
	       output_is_written(process, since_ns);
}

void trace_finish(void)
{
	int saved = errno;

	if (!is_ours() || (report.no_device && is_nameless()))
		return;
	trace_stop();
	/* Another thread may be stopping the profile, and will also come here. */
	if (!atomic_load(&stopped) || atomic_exchange(&finished, true))
		return;
	/* The program may go on after its contexts have ended, and with them the profile. */
	report.exit_ns = hp_now_ns() - stop_ns;
	report.exit_status = atomic_load(&exit_status);
	if (report.no_device)
		snprintf(why_not, sizeof(why_not), "the program used no device");
	output_end(&report, ended_ns);
	errno = saved;
}

void trace_exits_with(int status)
{
	atomic_store(&exit_status, status & 0xff);
}

void trace_after_fork_child(void)
{
	/* A child of a program that uses CUDA has no profile. */
	if (atomic_exchange(&active, false))
		cupti_buffers_stop();
	else if (atomic_load(&begun))
		owner = 0;
	atomic_store(&begun, false);
}
