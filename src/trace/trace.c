/*
 * trace.c - the profile's life: start, append, finish.
 *
 * Everything is refused in any other process than the one that started: a child of vfork() shares
 * our memory and may leave by _exit().
 */
#define _GNU_SOURCE
#include "trace/trace.h"
#include "base/clock.h"
#include "base/cupti_find.h"
#include "base/log.h"
#include "base/options.h"
#include "trace/report.h"
#include "trace/sites.h"
#include "trace/staged.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Atomic bool active, finished;

/* Written by trace_start(), then by trace_finish() alone. */
static pid_t owner;
static struct cupti cupti;
static bool sites_wanted;
static struct report report;
static char why_not[256];

static bool is_wanted(void)
{
	return hp_options->profile != HP_PROFILE_OFF || hp_options->out[0] != '\0';
}

static void keep_facts(const struct trace_facts *facts, uint64_t now_ns)
{
	bool known = facts->began_ns != 0 && facts->began_ns <= now_ns;

	report.stage = hp_options->stage;
	if (facts->device != NULL)
		snprintf(report.device_name, sizeof(report.device_name), "%s", facts->device);
	report.driver_version = facts->driver_version;
	report.on_stand_in = facts->on_stand_in;
	report.peak[TRACE_H2D] = facts->peak_h2d;
	report.peak[TRACE_D2H] = facts->peak_d2h;
	report.began_ns = known ? facts->began_ns : now_ns;
}

void trace_start(const struct trace_facts *facts)
{
	int saved = errno;
	uint64_t now = hp_now_ns();

	if (!is_wanted() || owner != 0)
		return;
	owner = getpid();
	keep_facts(facts, now);
	if (hp_options->cupti == HP_CUPTI_OFF)
		snprintf(why_not, sizeof(why_not), "HOTPIN_CUPTI is off");
	else if (hp_options->cupti != HP_CUPTI_FORCE)
		hp_cupti_is_someone_elses(why_not, sizeof(why_not));

	int error = collect_start(&cupti, facts->driver_version, report.began_ns, why_not,
				  sizeof(why_not));
	if (error < 0)
		hp_debug("no profile: error %d", -error);
	sites_wanted = error == 0 && sites_start() == 0;
	if (sites_wanted)
		frames_start();
	report.sites = sites_wanted;
	/* The program's next dlerror() must not tell of our search. */
	dlerror();
	report.start_ns = hp_now_ns() - now;
	errno = saved;
	atomic_store(&active, error == 0);
}

bool trace_active(void)
{
	return atomic_load_explicit(&active, memory_order_relaxed);
}

void trace_copied(const struct trace_copy *copy)
{
	if (!trace_active())
		return;
	if (!copy->captured && sites_wanted)
		sites_copied(copy, copy->frame);
	hostcalls_copy(copy);
}

uint64_t trace_staging(enum trace_direction direction, uint64_t bytes)
{
	return trace_active() ? staged_begin(direction, bytes, hp_now_ns()) : UINT64_MAX;
}

void trace_staged(uint64_t ticket, uint64_t moved)
{
	if (ticket != UINT64_MAX)
		staged_end(ticket, moved, hp_now_ns());
}

void trace_launched(bool graph)
{
	if (trace_active())
		hostcalls_launch(graph);
}

void trace_waited(uint64_t enter_ns, uint64_t leave_ns)
{
	if (trace_active())
		hostcalls_wait(enter_ns, leave_ns);
}

void trace_flush(void)
{
	int saved = errno;

	if (trace_active() && getpid() == owner)
		collect_flush();
	errno = saved;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	va_list args;

	if (report.warnings == REPORT_WARNINGS_MOST)
		return;
	va_start(args, format);
	vsnprintf(report.warning[report.warnings++], sizeof(report.warning[0]), format, args);
	va_end(args);
}

/* Without a measured peak, the run's own fastest copies are the next best. */
static void look_at_peak(void)
{
	for (int direction = TRACE_H2D; direction <= TRACE_D2H; direction++) {
		if (report.peak[direction] != 0 || !report.device)
			continue;
		report.peak[direction] = report.collected.device->fastest[direction];
		report.peak_observed[direction] = report.peak[direction] != 0;
	}
}

/* Times of the device are believed where CUPTI ran, kept running, and its clock matches ours. */
static void judge(void)
{
	const struct collect_result *got = &report.collected;
	const struct aggregate *device = got->device;
	int devices;

	report.truncated = got->flush_hung || device == NULL;
	if (why_not[0] != '\0')
		note("no device times: %s", why_not);
	if (got->flush_hung)
		note("truncated: CUPTI did not hand over its records within 5 s");
	if (device == NULL)
		note("truncated: our own thread did not end within 5 s");
	if (report.calls.spans_lost > 0)
		note("%llu host calls are counted but missing from the split",
		     (unsigned long long)report.calls.spans_lost);
	report.device = why_not[0] == '\0' && device != NULL;
	report.aligned = report.device;
	if (!report.device)
		return;

	struct report_bus bus;
	report_bus_read(&report, &bus);
	bool lossy = got->dropped > 0 || got->buffers.discarded > 0 || got->flush_hung;
	bool lost = !lossy && got->must_show_left > 0 &&
		    (got->must_show_left > 8 || report.calls.must_show > bus.their_count);
	if (lost && device->records == 0) {
		note("CUPTI recorded nothing: lost to another client");
		report.device = report.aligned = false;
		snprintf(why_not, sizeof(why_not), "CUPTI was lost to another client");
	} else if (lost) {
		uint64_t at_ms = (device->latest_ns - report.began_ns) / 1000000;

		note("CUPTI lost to another client at %llu.%03llu s: device figures end there",
		     (unsigned long long)at_ms / 1000, (unsigned long long)at_ms % 1000);
		report.aligned = false;
	}
	if (!aggregate_is_alignable(device)) {
		note("CUPTI's clock does not match ours: no split of the wall time");
		report.aligned = false;
	}
	if (lossy)
		note("CUPTI lost records (%llu dropped, %llu buffers): device figures are too low",
		     (unsigned long long)got->dropped, (unsigned long long)got->buffers.discarded);
	if (!lost && !lossy && report.calls.must_show > bus.their_count)
		note("CUPTI recorded %llu copies fewer than were made: device figures are too low",
		     (unsigned long long)(report.calls.must_show - bus.their_count));
	if (device->incomplete > 0)
		note("%llu operations had not ended and are not counted",
		     (unsigned long long)device->incomplete);
	if (device->untimed > 0)
		note("%llu records came without times", (unsigned long long)device->untimed);
	if (device->kernels_unnamed > 0)
		note("%llu kernel runs are summed up as (others)",
		     (unsigned long long)device->kernels_unnamed);
	devices = __builtin_popcountll(device->device_mask);
	if (devices > 1)
		note("%d devices: the split counts a moment as busy when any of them is", devices);
	if (report.split.late_ns > report.split.wall_ns / 100)
		note("records came too late for the split: it is approximate");
}

static void write_text(void)
{
	struct writer writer;

	if (hp_options->profile == HP_PROFILE_OFF || writer_open_memory(&writer) < 0)
		return;
	report_text(&report, &writer);
	hp_log_write(writer.buffer, writer.used);
	writer_close(&writer);
}

static void write_json(void)
{
	char path[WRITER_PATH_MAX];
	static struct writer writer; /* too large for a stack that is not ours */

	if (hp_options->out[0] == '\0')
		return;
	int error = place_expand(&report.place, hp_options->out, path, sizeof(path));
	if (error == 0)
		error = writer_open(&writer, path);
	else
		snprintf(path, sizeof(path), "%s", hp_options->out);
	if (error == 0) {
		report_json(&report, &writer);
		error = writer_close(&writer);
	}
	if (error < 0) {
		errno = -error;
		hp_warn("HOTPIN_OUT: no profile written to '%s': %m", path);
	}
}

/*
 * A pipe that nobody reads any more, or a file at its size limit, would end the program by a
 * signal that it would never have got without us.
 */
struct held_signals {
	sigset_t ours, before;
	bool pipe_pending, size_pending;
};

static void hold_signals(struct held_signals *held)
{
	sigset_t pending;

	sigemptyset(&held->ours);
	sigaddset(&held->ours, SIGPIPE);
	sigaddset(&held->ours, SIGXFSZ);
	sigpending(&pending);
	held->pipe_pending = sigismember(&pending, SIGPIPE);
	held->size_pending = sigismember(&pending, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &held->ours, &held->before);
}

static void let_go_signals(const struct held_signals *held)
{
	sigset_t raised = held->ours;

	/* What was pending before is the program's. */
	if (held->pipe_pending)
		sigdelset(&raised, SIGPIPE);
	if (held->size_pending)
		sigdelset(&raised, SIGXFSZ);
	while (sigtimedwait(&raised, NULL, &(struct timespec){ 0 }) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

void trace_finish(const struct trace_call *calls)
{
	int saved = errno;

	if (!trace_active() || getpid() != owner || atomic_exchange(&finished, true))
		return;
	report.ended_ns = hp_now_ns();
	atomic_store(&active, false);
	collect_stop(&report.collected);
	hostcalls_read(&report.calls);
	report.cupti = &cupti;
	report.why_not = why_not;
	report.call_names = calls;
	place_look(&report.place);
	if (report.collected.device != NULL)
		split_finish(&report.collected.device->split, report.ended_ns, &report.split);
	judge();
	look_at_peak();
	struct held_signals held;
	hold_signals(&held);
	write_text();
	write_json();
	let_go_signals(&held);
	errno = saved;
}

void trace_after_fork_child(void)
{
	atomic_store(&active, false);
	buffers_stop();
}
