/*
 * running.c - writes intermediate reports, in the thread that reads records.
 *
 * A report costs that thread some milliseconds, more for a program with many kernels.  The thread
 * spends at most a fiftieth of its time on reports.
 */
#include "trace/out/running.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/options.h"
#include "trace/out/output.h"
#include "trace/out/validity.h"

#include <errno.h>
#include <stdatomic.h>

#define SECOND_NS 1000000000u
#define PATIENCE  50
#define LEAST_NS  500000000u
#define MOST_NS   (60 * (uint64_t)SECOND_NS)
#define SLACK_NS  100000000u /* turns of the reading thread are not exact */

static const struct report *constant;
static _Atomic bool ready;

/* Used only by the thread that reads records. */
static struct report report;
static struct split *looked; /* constant after running_start() */
static uint64_t due_ns;      /* 0: at once */

uint64_t running_interval_ns(uint64_t elapsed_ns)
{
	uint64_t part = elapsed_ns / PATIENCE;

	return part < LEAST_NS ? LEAST_NS : part > MOST_NS ? MOST_NS : part;
}

int running_start(const struct report *base)
{
	looked = hp_arena_alloc(sizeof(*looked));
	constant = base;
	return looked != NULL ? 0 : -ENOMEM;
}

void running_allow(void)
{
	atomic_store(&ready, true);
	/* At once: if the program crashes, its user must not find the file of an earlier run. */
	if (hp_options->out[0] != '\0')
		collect_wake();
}

static void write_one(const struct collect_result *so_far, uint64_t until_ns)
{
	report = *constant;
	report.warnings = 0;
	report.ended = false;
	report.ended_ns = until_ns;
	report.collected = *so_far;
	process_mark_end(&report.process);
	operations_read(&report.operations);
	split_look(&so_far->device->split, until_ns, looked, &report.split);
	report.ranges = looked;
	validity_check(&report);
	output_json(&report, OUTPUT_RUNNING);
}

void running_look(const struct collect_result *so_far, uint64_t until_ns)
{
	uint64_t now_ns = hp_now_ns();

	if (!atomic_load(&ready) || hp_options->out[0] == '\0' || now_ns < due_ns)
		return;
	write_one(so_far, until_ns);
	uint64_t pause_ns = (hp_now_ns() - now_ns) * PATIENCE;
	uint64_t interval_ns = running_interval_ns(now_ns - constant->began_ns);
	due_ns = now_ns + (pause_ns > interval_ns ? pause_ns : interval_ns) - SLACK_NS;
}
