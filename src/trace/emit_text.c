/*
 * emit_text.c - the table at exit.
 *
 * Unknown is n/a, never 0.  Names come from the program: control bytes in them must not reach a
 * terminal.
 */
#include "trace/emit_text.h"
#include "base/counters.h"
#include "base/options.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

#define ROWS_MOST    5
#define KERNELS_MOST 3
#define NAME_COLUMNS 44

static const char *const shown_directions[AGGREGATE_DIRECTIONS] = {
	[TRACE_H2D] = "HtoD", [TRACE_D2H] = "DtoH", [TRACE_D2D] = "DtoD",
	[TRACE_H2H] = "HtoH", [TRACE_P2P] = "PtoP", [TRACE_DIRECTIONS] = "other",
};

/* Every line begins like this, so that it can be told from the program's own. */
static void line(struct writer *writer, const char *text)
{
	writer_put(writer, "==hotpin==   %s\n", text);
}

static void head(const struct report *report, struct writer *writer)
{
	char stage[128], program[64], wall[UNITS_ROOM], cost[UNITS_ROOM];
	uint64_t wall_ns = report->ended_ns - report->began_ns;
	uint64_t cost_ns =
		report->calls.append_ns + report->collected.buffers.callback_ns + report->start_ns;

	writer_put(writer, "==hotpin== ");
	if (report->stage[0] != '\0')
		writer_put(writer, "stage \"%s\"  ",
			   units_escape(stage, sizeof(stage), report->stage, 40));
	writer_put(writer, "%s  pid %ld  ",
		   units_escape(program, sizeof(program), report->process.program, 32),
		   report->process.pid);
	if (report->process.rank[0] != '\0')
		writer_put(writer, "rank %s  ", report->process.rank);
	writer_put(writer, "wall %s  ", units_time(wall, wall_ns));
	if (report->no_device)
		writer_put(writer, "no device used");
	else if (!report->device)
		writer_put(writer, "wall times");
	else if (report->cupti->version >= 100000)
		writer_put(writer, "CUPTI %u.%u", report->cupti->version / 10000,
			   report->cupti->version / 100 % 100);
	else
		writer_put(writer, "CUPTI API %u", report->cupti->version);
	writer_put(writer, "  own overhead %s\n", units_share(cost, cost_ns, wall_ns));
}

static void bar_line(struct writer *writer, const char *name, uint64_t ns, unsigned tenths,
		     const char *note)
{
	static const char bar[] = "#########################";
	char time[UNITS_ROOM], share[UNITS_ROOM];
	int length = (int)((tenths + 20) / 40);

	if (ns == 0)
		return;
	writer_put(writer, "==hotpin==   %-13s %9s %8s%s%.*s%s%s\n", name, units_time(time, ns),
		   units_tenths(share, tenths), length > 0 ? "  " : "", length, bar,
		   note[0] != '\0' ? "  " : "", note);
}

static void wall_split(const struct report *report, struct writer *writer)
{
	const struct split_sum *split = &report->split;

	if (report->aligned) {
		const uint64_t parts[] = {
			split->host_ns,     split->startup_ns, split->calls_ns,
			split->transfer_ns, split->kernel_ns,  split->overlap_ns
		};
		unsigned tenths[6];

		split_tenths(parts, 6, tenths);
		bar_line(writer, "host code", parts[0], tenths[0], "");
		bar_line(writer, "CUDA start-up", parts[1], tenths[1], "");
		bar_line(writer, "CUDA calls", parts[2], tenths[2], "others, the device idle");
		bar_line(writer, "transfers", parts[3], tenths[3], "exposed");
		bar_line(writer, "kernels", parts[4], tenths[4], "and other work on the device");
		bar_line(writer, "overlap", parts[5], tenths[5], "transfers hidden under kernels");
		return;
	}

	/* Copy calls first: where threads do both at once, it is the copy that is looked for. */
	uint64_t copies = split->layer_ns[SPLIT_COPY_CALL];
	const uint64_t parts[] = { copies, split->blocked_ns - copies,
				   split->wall_ns - split->blocked_ns };
	unsigned tenths[3];
	split_tenths(parts, 3, tenths);
	bar_line(writer, "copy calls", parts[0], tenths[0], "and what they waited for");
	bar_line(writer, "waits", parts[1], tenths[1], "for the device");
	bar_line(writer, "elsewhere", parts[2], tenths[2], "cpu, and kernels meanwhile");
	line(writer, "transfers and kernels: n/a on the device's side");
}

static void row_head(struct writer *writer, const char *time)
{
	writer_put(writer, "==hotpin==   %-15s %11s %10s %9s %6s %8s\n", "copies", "count", "bytes",
		   time, "GB/s", "of peak");
}

/* `rate_bytes` moved in `rate_ns`; 0 ns: unknown. */
static void row(struct writer *writer, const char *direction, const char *memory, uint64_t count,
		uint64_t bytes, const char *time, uint64_t rate_bytes, uint64_t rate_ns,
		uint64_t peak)
{
	char name[32], counted[UNITS_ROOM], moved[UNITS_ROOM], rate[UNITS_ROOM], share[UNITS_ROOM];
	/* Bytes that the link could have moved meanwhile. */
	uint64_t could = (uint64_t)((__uint128_t)peak * rate_ns / 1000000000);

	snprintf(name, sizeof(name), "%s %s", direction, memory);
	writer_put(writer, "==hotpin==   %-15s %11s %10s %9s %6s %8s\n", name,
		   units_count(counted, count), units_bytes(moved, bytes), time,
		   units_rate(rate, rate_bytes, rate_ns),
		   units_share(share, rate_bytes, rate_bytes > 0 ? could : 0));
}

static void rest_of_rows(struct writer *writer, unsigned rows)
{
	if (rows > ROWS_MOST)
		writer_put(writer, "==hotpin==   and %u more rows in the JSON (HOTPIN_OUT)\n",
			   rows - ROWS_MOST);
}

static void device_rows(const struct report *report, struct writer *writer)
{
	unsigned rows = 0;

	for (int direction = 0; direction < AGGREGATE_DIRECTIONS; direction++) {
		for (int memory = 0; memory < AGGREGATE_MEMORIES; memory++) {
			const struct aggregate_sum *sum =
				&report->collected.device->copies[direction][memory];
			char time[UNITS_ROOM];

			if (sum->count == 0 || rows++ >= ROWS_MOST)
				continue;
			if (rows == 1)
				row_head(writer, "on bus");
			row(writer, shown_directions[direction], report_device_memories[memory],
			    sum->count, sum->bytes,
			    sum->busy_ns > 0 ? units_time(time, sum->busy_ns) : "n/a",
			    sum->bytes - sum->untimed_bytes, sum->busy_ns,
			    direction < TRACE_DIRECTIONS && !report->peak_observed[direction]
				    ? report->peak[direction]
				    : 0);
		}
	}
	rest_of_rows(writer, rows);
}

static void host_rows(const struct report *report, struct writer *writer)
{
	unsigned rows = 0;

	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++) {
		for (int memory = 0; memory < TRACE_MEMORIES; memory++) {
			const struct hostcalls_sum *sum = &report->calls.copies[direction][memory];
			char time[UNITS_ROOM];

			if (sum->count == 0 || rows++ >= ROWS_MOST)
				continue;
			if (rows == 1)
				row_head(writer, "at call");
			/* An asynchronous call's time says nothing of the copy's. */
			row(writer, shown_directions[direction], report_host_memories[memory],
			    sum->count, sum->bytes, units_time(time, sum->host_ns), sum->sync_bytes,
			    sum->sync_ns, 0);
		}
	}
	rest_of_rows(writer, rows);
}

static void promotion(const struct report *report, struct writer *writer)
{
	char promoted[UNITS_ROOM], all[UNITS_ROOM], share[UNITS_ROOM], seen[UNITS_ROOM];
	struct report_bus bus;

	report_bus_read(report, &bus);
	if (bus.our_bytes == 0)
		return;
	writer_put(writer, "==hotpin==   promoted %s of %s (%s)",
		   units_bytes(promoted, bus.promoted_bytes), units_bytes(all, bus.our_bytes),
		   units_share(share, bus.promoted_bytes, bus.our_bytes));
	if (bus.own_pinned_bytes > 0)
		writer_put(writer, ", pinned by the program %s",
			   units_bytes(promoted, bus.own_pinned_bytes));
	writer_put(writer, "; CUPTI saw %s pinned\n",
		   report->device ? units_bytes(seen, bus.their_pinned_bytes) : "n/a");
}

/* An estimate: for so long the plain program would have waited, unless it had nothing to do. */
static void deferring(const struct report *report, struct writer *writer)
{
	char copies[UNITS_ROOM], ahead[UNITS_ROOM];

	if (report->calls.deferred == 0)
		return;
	writer_put(writer, "==hotpin==   deferred %s cop%s; the host went on meanwhile for %s%s\n",
		   units_count(copies, report->calls.deferred),
		   report->calls.deferred == 1 ? "y" : "ies", report->aligned ? "about " : "",
		   report->aligned ? units_time(ahead, report->split.ahead_ns) : "n/a");
}

static void coverage(const struct report *report, struct writer *writer)
{
	char share[UNITS_ROOM], ours[UNITS_ROOM], theirs[UNITS_ROOM];
	struct report_bus bus;

	report_bus_read(report, &bus);
	if (!report->device || bus.our_count + bus.their_count == 0)
		return;
	/* Of what both saw together, whoever saw less. */
	bool ours_more = bus.our_bytes > bus.their_bytes;
	writer_put(writer, "==hotpin==   %s %s of bytes: ", ours_more ? "CUPTI covers" : "coverage",
		   ours_more ? units_share(share, bus.their_bytes, bus.our_bytes)
			     : units_share(share, bus.our_bytes, bus.their_bytes));
	writer_put(writer, "%s cop%s seen by hotpin, %s by CUPTI\n",
		   units_count(ours, bus.our_count), bus.our_count == 1 ? "y" : "ies",
		   units_count(theirs, bus.their_count));
}

static void host_cost(const struct report *report, struct writer *writer)
{
	const struct split_sum *split = &report->split;
	char all[UNITS_ROOM], part[3][UNITS_ROOM];

	if (split->layer_ns[SPLIT_COPY_CALL] == 0)
		return;
	writer_put(writer, "==hotpin==   copy calls took the host %s",
		   units_time(all, split->layer_ns[SPLIT_COPY_CALL]));
	if (report->aligned)
		writer_put(writer, ": copying %s, waiting for kernels %s, overhead %s",
			   units_time(part[0], split->call_copying_ns),
			   units_time(part[1], split->call_waiting_ns),
			   units_time(part[2], split->call_overhead_ns));
	writer_put(writer, "%s", "\n");
}

/* What the next step could bring at best. */
static void bounds(const struct report *report, struct writer *writer)
{
	static const struct {
		enum whatif what;
		const char *text;
	} shown[] = {
		{ WHATIF_PINNED, "all pinned" },
		{ WHATIF_BOTH, "and overlapped" },
		{ WHATIF_NO_TRANSFERS, "without transfers" },
	};
	struct whatif_facts facts;
	uint64_t saves;

	if (!report->aligned || report->split.layer_ns[SPLIT_TRANSFER] == 0)
		return;
	report_whatif(report, &facts);
	writer_put(writer, "==hotpin==   bounds, not promises:");
	for (size_t i = 0; i < HP_LEN(shown); i++) {
		char time[UNITS_ROOM];
		bool known = whatif_saves_ns(&facts, shown[i].what, &saves);

		writer_put(writer, "%s %s %s%s", i > 0 ? "," : "", shown[i].text,
			   known ? ">= " : "",
			   known ? units_time(time, report->split.wall_ns - saves) : "n/a");
	}
	writer_put(writer, "\n");
}

static void kernels(const struct report *report, struct writer *writer)
{
	const struct aggregate_kernel *top[KERNELS_MOST];
	char launched[UNITS_ROOM], graphs[UNITS_ROOM], ran[UNITS_ROOM], sets[UNITS_ROOM];
	uint64_t all = 0;

	if (report->calls.kernels + report->calls.graphs == 0 &&
	    (!report->device || report->collected.device->launches.count == 0))
		return;
	writer_put(writer, "==hotpin==   launches %s, graphs %s; kernels run ",
		   units_count(launched, report->calls.kernels),
		   units_count(graphs, report->calls.graphs));
	if (!report->device) {
		writer_put(writer, "n/a\n");
		return;
	}
	all = report->collected.device->launches.busy_ns;
	writer_put(writer, "%s, memsets %s\n",
		   units_count(ran, report->collected.device->launches.count),
		   units_count(sets, report->collected.device->memsets.count));

	size_t count = aggregate_top_kernels(report->collected.device, top, KERNELS_MOST);
	for (size_t i = 0; i < count; i++) {
		char readable[512], name[256], time[UNITS_ROOM], share[UNITS_ROOM];

		units_kernel_name(readable, sizeof(readable), top[i]->name);
		units_escape(name, sizeof(name), readable[0] != '\0' ? readable : "(no name)",
			     NAME_COLUMNS);
		writer_put(writer, "==hotpin==     %-44s %9s %9s %8s\n", name,
			   units_count(ran, top[i]->count), units_time(time, top[i]->busy_ns),
			   units_share(share, top[i]->busy_ns, all));
	}
}

/* Those that tell a user something at a glance; the JSON has all. */
static void counters(struct writer *writer)
{
	static const enum hp_counter shown[] = {
		HP_COUNT_pins,          HP_COUNT_unpins,
		HP_COUNT_pins_refused,  HP_COUNT_pins_over_budget,
		HP_COUNT_names_unknown,
	};
	bool any = false;

	for (size_t i = 0; i < HP_LEN(shown); i++) {
		char count[UNITS_ROOM];
		uint64_t value = atomic_load_explicit(&hp_counters[shown[i]], memory_order_relaxed);

		if (value == 0)
			continue;
		writer_put(writer, "%s%s: %s",
			   any ? ", " : "==hotpin==   ", hp_counter_texts[shown[i]],
			   units_count(count, value));
		any = true;
	}
	if (any)
		writer_put(writer, "\n");
}

static size_t lines_so_far(const struct writer *writer)
{
	size_t lines = 0;

	for (size_t i = 0; i < writer->used; i++)
		lines += writer->buffer[i] == '\n';
	return lines;
}

void emit_text(const struct report *report, struct writer *writer)
{
	char text[256];

	head(report, writer);
	if (report->on_stand_in)
		line(writer, "on the stand-in device: all device times are modelled");
	wall_split(report, writer);
	if (report->device)
		device_rows(report, writer);
	else
		host_rows(report, writer);
	promotion(report, writer);
	deferring(report, writer);
	coverage(report, writer);
	host_cost(report, writer);
	bounds(report, writer);
	kernels(report, writer);
	counters(writer);
	for (size_t i = 0; i < report->warnings; i++) {
		size_t left = report->warnings - i;

		if (lines_so_far(writer) + 1 >= EMIT_TEXT_LINES_MOST && left > 1) {
			snprintf(text, sizeof(text), "and %zu more notes in the JSON (HOTPIN_OUT)",
				 left);
			line(writer, text);
			break;
		}
		snprintf(text, sizeof(text), "note: %s", report->warning[i]);
		line(writer, text);
	}
}
