/*
 * dump.c - writes intermediate reports, in the thread that reads records.
 *
 * A report costs that thread some milliseconds, more for a program with many kernels.  The thread
 * spends at most a fiftieth of its time on reports.
 */
#define _GNU_SOURCE
#include "trace/out/dump.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "trace/out/output.h"
#include "trace/out/validity.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#define SECOND_NS 1000000000u
#define PATIENCE  50
#define LEAST_NS  500000000u
#define MOST_NS   (60 * (uint64_t)SECOND_NS)
#define SLACK_NS  100000000u /* turns of the reading thread are not exact */

static const struct report *constant;
static _Atomic bool ready;
static _Atomic unsigned asked; /* by the signal */

/* Used only by the thread that reads records. */
static struct report report;
static struct split *looked; /* constant after dump_start() */
static uint64_t running_due_ns, timer_due_ns;
static unsigned answered, number;
static bool has_signal; /* set before that thread runs, then by that thread */

uint64_t dump_interval_ns(uint64_t elapsed_ns)
{
	uint64_t part = elapsed_ns / PATIENCE;

	return part < LEAST_NS ? LEAST_NS : part > MOST_NS ? MOST_NS : part;
}

static void on_signal(int signal_number)
{
	int saved = errno;

	(void)signal_number;
	atomic_fetch_add(&asked, 1);
	collect_wake();
	errno = saved;
}

static void take_signal(int signal_number)
{
	struct sigaction mine = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, there;

	if (sigaction(signal_number, NULL, &there) < 0)
		return;
	if ((there.sa_flags & SA_SIGINFO) || there.sa_handler != SIG_DFL) {
		hp_warn("HOTPIN_DUMP: the program uses signal %d itself, so the profile is written "
			"only at the end; name another signal, or timer:SECONDS",
			signal_number);
		return;
	}
	sigemptyset(&mine.sa_mask);
	has_signal = sigaction(signal_number, &mine, NULL) == 0;
}

static bool signal_is_ours(int signal_number)
{
	struct sigaction there;

	return sigaction(signal_number, NULL, &there) == 0 && !(there.sa_flags & SA_SIGINFO) &&
	       there.sa_handler == on_signal;
}

/* A user who waits for the file must learn why hotpin does not write it. */
static void look_at_signal(int signal_number)
{
	if (!has_signal || signal_is_ours(signal_number))
		return;
	has_signal = false;
	hp_warn("HOTPIN_DUMP: the program now handles signal %d itself, so the profile is written "
		"only at the end; name another signal, or timer:SECONDS",
		signal_number);
}

int dump_start(const struct report *base)
{
	uint64_t now_ns = hp_now_ns();

	looked = hp_arena_alloc(sizeof(*looked));
	if (looked == NULL)
		return -ENOMEM;
	constant = base;
	/* At once: if the program crashes, its user must not find the file of an earlier run. */
	running_due_ns = now_ns;
	if (hp_options->dump > HP_DUMP_TIMER)
		timer_due_ns = now_ns + (hp_options->dump - HP_DUMP_TIMER) * SECOND_NS;
	else if (hp_options->dump != 0)
		take_signal((int)hp_options->dump);
	return 0;
}

void dump_allow(void)
{
	atomic_store(&ready, true);
	if (hp_options->out[0] != '\0')
		collect_wake();
}

static void write_one(const struct collect_result *so_far, uint64_t until_ns, enum output_kind kind)
{
	report = *constant;
	report.warnings = 0;
	report.ended = false;
	report.ended_ns = until_ns;
	report.collected = *so_far;
	process_mark_end(&report.process);
	hostcalls_read(&report.calls);
	split_look(&so_far->device->split, until_ns, looked, &report.split);
	report.ranges = looked;
	validity_check(&report);
	output_write(&report, kind, number);
}

void dump_look(const struct collect_result *so_far, uint64_t until_ns)
{
	uint64_t now_ns = hp_now_ns();
	if (!atomic_load(&ready))
		return;
	look_at_signal((int)hp_options->dump);

	unsigned asked_now = atomic_load(&asked);
	bool is_time = timer_due_ns != 0 && now_ns >= timer_due_ns;

	if (is_time || asked_now != answered) {
		answered = asked_now;
		while (is_time && timer_due_ns <= now_ns)
			timer_due_ns += (hp_options->dump - HP_DUMP_TIMER) * SECOND_NS;
		number++;
		write_one(so_far, until_ns, OUTPUT_DUMP);
	}
	if (hp_options->out[0] == '\0' || now_ns < running_due_ns)
		return;
	write_one(so_far, until_ns, OUTPUT_RUNNING);
	uint64_t pause_ns = (hp_now_ns() - now_ns) * PATIENCE;
	uint64_t interval_ns = dump_interval_ns(now_ns - constant->began_ns);
	running_due_ns = now_ns + (pause_ns > interval_ns ? pause_ns : interval_ns) - SLACK_NS;
}

void dump_after_fork_child(void)
{
	if (hp_options->dump != 0 && hp_options->dump < HP_DUMP_TIMER &&
	    signal_is_ours((int)hp_options->dump))
		signal((int)hp_options->dump, SIG_DFL);
}
