/*
 * emit_text.c - writes the table at exit.
 *
 * An unknown value is "-", never 0.  Names come from the program, so their control bytes must not
 * reach a terminal.
 */
#include "trace/emit_text.h"
#include "base/counters.h"
#include "base/options.h"
#include "base/terminal.h"
#include "base/units.h"
#include "trace/suggest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX        "==hotpin== "
#define PREFIX_ROOM   (sizeof(PREFIX) - 1)
#define ROWS_MOST     4
#define KERNELS_MOST  3
#define BAR_MOST      20
/* The widths from which a row of copies shows its mean, and its bytes. */
#define COLUMNS_MEAN  69
#define COLUMNS_BYTES 79

struct page {
	struct writer *writer;
	size_t columns; /* after the prefix */
	unsigned lines;
	bool utf8;
};

static const char *const shown_directions[AGGREGATE_DIRECTIONS] = {
	[TRACE_H2D] = "H2D", [TRACE_D2H] = "D2H", [TRACE_D2D] = "D2D",
	[TRACE_H2H] = "H2H", [TRACE_P2P] = "P2P", [TRACE_DIRECTIONS] = "other",
};

/*
 * Writes a line.  All lines have the same prefix, which distinguishes them from the program's own
 * lines.
 */
static void line(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(struct page *page, const char *format, ...)
{
	char text[1024], *at = text;
	const char *indent = "";
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	units_clean(text);
	if (!page->utf8)
		terminal_make_ascii(text);
	do {
		size_t bytes = terminal_fit(at, page->columns - strlen(indent));

		writer_put(page->writer, PREFIX "%s%.*s\n", indent, (int)bytes, at);
		page->lines++;
		at += bytes + strspn(at + bytes, " ");
		indent = "    ";
	} while (*at != '\0');
}

/* Returns the number of lines that `text` takes. */
static unsigned lines_of(const struct page *page, const char *text)
{
	unsigned lines = 1;
	size_t bytes = terminal_fit(text, page->columns);

	for (text += bytes; *(text += strspn(text, " ")) != '\0'; lines++)
		text += terminal_fit(text, page->columns - 4);
	return lines;
}

static unsigned lines_left(const struct page *page)
{
	return page->lines < EMIT_TEXT_LINES_MOST ? EMIT_TEXT_LINES_MOST - page->lines : 0;
}

static void head(const struct report *report, struct page *page)
{
	char stage[168], program[64], wall[UNITS_ROOM], device[140], rank[32] = "", pid[32] = "";
	bool staged = report->stage[0] != '\0';
	bool observed = !hp_options->pin && hp_options->ring == 0 && !hp_options->async;

	if (report->process.rank[0] != '\0')
		snprintf(rank, sizeof(rank), "  rank %s", report->process.rank);
	if (!process_is_hotpin_run())
		snprintf(pid, sizeof(pid), "  pid %ld", report->process.pid);
	line(page, "%s%s%s%s%s%s  %s%s%s%s%s", staged ? "\"" : "",
	     units_escape(stage, sizeof(stage), report->stage, 40), staged ? "\"  " : "",
	     units_escape(program, sizeof(program), report->process.program, 32), rank, pid,
	     units_time(wall, report->ended_ns - report->began_ns),
	     report->device_name[0] != '\0' ? "  " : "",
	     units_escape(device, sizeof(device), report->device_name, 32),
	     report->no_device ? "  no device used"
	     : report->device  ? ""
			       : "  times at the call",
	     observed && !report->no_device ? "  observed only" : "");
}

static void bar_line(struct page *page, const char *name, uint64_t ns, unsigned tenths)
{
	static const char bar[] = "####################";
	char time[UNITS_ROOM], share[UNITS_ROOM];
	size_t most = page->columns - 38 < BAR_MOST ? page->columns - 38 : BAR_MOST;
	int length = (int)((tenths * most + 500) / 1000);

	if (ns > 0)
		line(page, "%-18s %8s %8s%s%.*s", name, units_time(time, ns),
		     units_tenths(share, tenths), length > 0 ? "  " : "", length, bar);
}

static void wall_split(const struct report *report, struct page *page)
{
	const struct split_sum *split = &report->split;

	if (report->aligned) {
		static const char *const names[] = { "Host code",        "CUDA start-up",
						     "Other CUDA calls", "Copies, exposed",
						     "Kernels",          "Copies + kernels" };
		const uint64_t parts[] = {
			split->host_ns,     split->startup_ns, split->calls_ns,
			split->transfer_ns, split->kernel_ns,  split->overlap_ns
		};
		unsigned tenths[6];

		split_tenths(parts, 6, tenths);
		for (int i = 0; i < 6; i++)
			bar_line(page, names[i], parts[i], tenths[i]);
		return;
	}

	/* Copy calls first: if threads copy and wait at the same time, the copy matters. */
	uint64_t copies = split->layer_ns[SPLIT_COPY_CALL];
	const uint64_t parts[] = { copies, split->blocked_ns - copies,
				   split->wall_ns - split->blocked_ns };
	unsigned tenths[3];
	split_tenths(parts, 3, tenths);
	bar_line(page, "In copy calls", parts[0], tenths[0]);
	bar_line(page, "In waits", parts[1], tenths[1]);
	bar_line(page, "Elsewhere", parts[2], tenths[2]);
}

/* One row of copies.  `rate_bytes` moved in `rate_ns`; 0 ns: unknown. */
struct row {
	uint64_t count, bytes, ns, rate_bytes, rate_ns, peak;
	bool timed;
};

static const char *or_dash(const char *text)
{
	return strcmp(text, "n/a") == 0 ? "-" : text;
}

static void row_head(struct page *page, const char *title)
{
	line(page, "%-16s%8s%s %8s%s %6s  %s", title, "Calls",
	     page->columns + PREFIX_ROOM >= COLUMNS_BYTES ? "     Bytes" : "", "Total",
	     page->columns + PREFIX_ROOM >= COLUMNS_MEAN ? "      Avg" : "", "GB/s", "of peak");
}

static void row(struct page *page, const char *direction, const char *memory, const struct row *row)
{
	char name[32], count[UNITS_ROOM],
		bytes[UNITS_ROOM + 2] = "", text[UNITS_ROOM], time[UNITS_ROOM],
				   mean[UNITS_ROOM] = "", rate[UNITS_ROOM], share[UNITS_ROOM];
	/* The bytes that the link could have moved in that time. */
	uint64_t could = (uint64_t)((__uint128_t)row->peak * row->rate_ns / 1000000000);

	snprintf(name, sizeof(name), "  %s %s", direction, memory);
	if (row->count < 1000000)
		units_count(count, row->count);
	else
		snprintf(count, sizeof(count), "%s M", units_rate(text, row->count, 1000000));
	if (page->columns + PREFIX_ROOM >= COLUMNS_BYTES)
		snprintf(bytes, sizeof(bytes), " %9s", units_bytes(text, row->bytes));
	if (page->columns + PREFIX_ROOM >= COLUMNS_MEAN)
		snprintf(mean, sizeof(mean), " %8s",
			 row->timed ? units_time(text, row->ns / row->count) : "-");
	line(page, "%-16s%8s%s %8s%s %6s %8s", name, count, bytes,
	     row->timed ? units_time(time, row->ns) : "-", mean,
	     or_dash(units_rate(rate, row->rate_bytes, row->rate_ns)),
	     or_dash(units_share(share, row->rate_bytes, row->rate_bytes > 0 ? could : 0)));
}

static void rest_of_rows(struct page *page, unsigned rows)
{
	if (rows > ROWS_MOST)
		line(page, "  and %u more rows in the report", rows - ROWS_MOST);
}

static void device_rows(const struct report *report, struct page *page)
{
	unsigned rows = 0;

	for (int direction = 0; direction < AGGREGATE_DIRECTIONS; direction++) {
		for (int memory = 0; memory < AGGREGATE_MEMORIES; memory++) {
			const struct aggregate_sum *sum =
				&report->collected.device->copies[direction][memory];

			if (sum->count == 0 || rows++ >= ROWS_MOST)
				continue;
			if (rows == 1)
				row_head(page, "Copies");
			row(page, shown_directions[direction], report_device_memories[memory],
			    &(struct row){ .count = sum->count,
					   .bytes = sum->bytes,
					   .ns = sum->busy_ns,
					   .timed = sum->busy_ns > 0,
					   .rate_bytes = sum->bytes - sum->untimed_bytes,
					   .rate_ns = sum->busy_ns,
					   .peak = direction < TRACE_DIRECTIONS &&
								   !report->peak_observed
							   ? report->peak[direction]
							   : 0 });
		}
	}
	rest_of_rows(page, rows);
}

static void host_rows(const struct report *report, struct page *page)
{
	unsigned rows = 0;

	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++) {
		for (int memory = 0; memory < TRACE_MEMORIES; memory++) {
			const struct hostcalls_sum *sum = &report->calls.copies[direction][memory];

			if (sum->count == 0 || rows++ >= ROWS_MOST)
				continue;
			if (rows == 1)
				row_head(page, "Copies, at call");
			/* The time of an asynchronous call does not show the time of the copy. */
			row(page, shown_directions[direction], report_host_memories[memory],
			    &(struct row){ .count = sum->count,
					   .bytes = sum->bytes,
					   .ns = sum->host_ns,
					   .timed = true,
					   .rate_bytes = sum->sync_bytes,
					   .rate_ns = sum->sync_ns });
		}
	}
	rest_of_rows(page, rows);
}

static void host_cost(const struct report *report, struct page *page)
{
	const struct split_sum *split = &report->split;
	char all[UNITS_ROOM], part[UNITS_ROOM], parts[2 * UNITS_ROOM + 40] = "";

	if (split->layer_ns[SPLIT_COPY_CALL] == 0)
		return;
	const uint64_t ns[] = { split->call_waiting_ns, split->call_overhead_ns };
	static const char *const what[] = { "for kernels", "overhead" };

	for (size_t i = 0; report->aligned && i < HP_LEN(ns); i++) {
		size_t used = strlen(parts);

		if (ns[i] > 0)
			snprintf(parts + used, sizeof(parts) - used, "%s%s %s",
				 used > 0 ? ", " : " (", units_time(part, ns[i]), what[i]);
	}
	line(page, "Blocked in copy calls: %s%s%s",
	     units_time(all, split->layer_ns[SPLIT_COPY_CALL]), parts, parts[0] != '\0' ? ")" : "");
}

/*
 * Writes the effect of hotpin.  The time ahead estimates how long the program waits without hotpin.
 */
static void effect(const struct report *report, struct page *page)
{
	char promoted[UNITS_ROOM], all[UNITS_ROOM], share[UNITS_ROOM], ahead[UNITS_ROOM];
	struct report_bus bus;

	report_bus_read(report, &bus);
	if (bus.promoted_bytes > 0)
		line(page, "Pinned by hotpin: %s of %s (%s)",
		     units_bytes(promoted, bus.promoted_bytes), units_bytes(all, bus.our_bytes),
		     units_share(share, bus.promoted_bytes, bus.our_bytes));
	if (report->calls.deferred > 0)
		line(page, "Deferred copies: %s%s%s", units_count(all, report->calls.deferred),
		     report->aligned ? ", while the host continued for about " : "",
		     report->aligned ? units_time(ahead, report->split.ahead_ns) : "");
}

/* Writes the coverage by bytes, only if the two views differ. */
static void coverage(const struct report *report, struct page *page)
{
	char share[UNITS_ROOM], ours[UNITS_ROOM], theirs[UNITS_ROOM];
	struct report_bus bus;

	report_bus_read(report, &bus);
	if (!report->device || bus.our_bytes == bus.their_bytes)
		return;
	bool ours_more = bus.our_bytes > bus.their_bytes;
	line(page, "%s %s of the bytes (copies: %s seen by hotpin, %s by CUPTI)",
	     ours_more ? "CUPTI saw" : "hotpin saw",
	     ours_more ? units_share(share, bus.their_bytes, bus.our_bytes)
		       : units_share(share, bus.our_bytes, bus.their_bytes),
	     units_count(ours, bus.our_count), units_count(theirs, bus.their_count));
}

static void kernels(const struct report *report, struct page *page, unsigned most)
{
	const struct aggregate_kernel *top[KERNELS_MOST];
	char count[UNITS_ROOM], graphs[UNITS_ROOM];
	int columns = (int)page->columns - 28;

	if (!report->device && report->calls.kernels + report->calls.graphs > 0)
		line(page, "%s%s%s%s%s", report->calls.kernels > 0 ? "Kernel launches: " : "",
		     report->calls.kernels > 0 ? units_count(count, report->calls.kernels) : "",
		     report->calls.kernels > 0 && report->calls.graphs > 0 ? ", " : "",
		     report->calls.graphs > 0 ? "Graph launches: " : "",
		     report->calls.graphs > 0 ? units_count(graphs, report->calls.graphs) : "");
	if (!report->device || most == 0)
		return;
	size_t found = aggregate_top_kernels(report->collected.device, top,
					     most < KERNELS_MOST ? most : KERNELS_MOST);
	columns = columns < 44 ? columns : 44;
	if (found > 0)
		line(page, "%-*s %8s %8s %8s", columns, "Longest kernels", "Runs", "Total",
		     "Share");
	for (size_t i = 0; i < found; i++) {
		char readable[512], name[256], time[UNITS_ROOM], share[UNITS_ROOM];

		units_kernel_name(readable, sizeof(readable), top[i]->name);
		units_escape(name, sizeof(name), readable[0] != '\0' ? readable : "(no name)",
			     (size_t)columns - 2);
		line(page, "  %s%*s %8s %8s %8s", name, columns - 2 - (int)terminal_width(name), "",
		     units_count(count, top[i]->count), units_time(time, top[i]->busy_ns),
		     units_share(share, top[i]->busy_ns,
				 report->collected.device->launches.busy_ns));
	}
}

/* Writes counters of problems.  The JSON has all counters. */
static void counters(struct page *page)
{
	static const enum hp_counter shown[] = {
		HP_COUNT_pins_refused,
		HP_COUNT_pins_over_budget,
		HP_COUNT_names_unknown,
	};

	for (size_t i = 0; i < HP_LEN(shown); i++) {
		char count[UNITS_ROOM];
		uint64_t value = atomic_load_explicit(&hp_counters[shown[i]], memory_order_relaxed);

		if (value > 0)
			line(page, "%s: %s", hp_counter_texts[shown[i]], units_count(count, value));
	}
}

static void suggestions(const struct report *report, struct page *page,
			const struct suggestion *list, size_t count)
{
	char time[UNITS_ROOM], share[UNITS_ROOM];

	if (count > 0)
		line(page, "Suggestions (upper bounds, not additive)");
	for (size_t i = 0; i < count; i++) {
		const char *hint = list[i].hotpin_does_it ? "  run without --observe" : "";

		units_time(time, list[i].saves_ns);
		units_share(share, list[i].saves_ns, report->split.wall_ns);
		line(page, "  %zu. %-32s %9.9s %8s%s", i + 1, list[i].what, time, share,
		     page->columns >= 78 ? hint : "");
	}
}

/* Writes the path as a user can type it in the directory where the program was started. */
static void report_path(const struct report *report, char *ret, size_t room)
{
	char path[WRITER_PATH_MAX];
	const char *here = getenv("PWD"), *shown = path;
	size_t length = here != NULL ? strlen(here) : 0;

	if (process_expand(&report->process, hp_options->out, path, sizeof(path)) < 0)
		snprintf(path, sizeof(path), "FILE");
	if (length > 1 && strncmp(path, here, length) == 0 && path[length] == '/')
		shown = path + length + 1;
	units_escape(ret, room, shown, 200);
}

static void foot(const struct report *report, char *ret, size_t room)
{
	char path[900], cost[UNITS_ROOM];
	uint64_t cost_ns =
		report->calls.append_ns + report->collected.buffers.callback_ns + report->start_ns;

	units_share(cost, cost_ns, report->ended_ns - report->began_ns);
	if (hp_options->out[0] == '\0') {
		snprintf(ret, room,
			 "Profiling cost %s. For source lines: hotpin run -o FILE PROGRAM", cost);
		return;
	}
	report_path(report, path, sizeof(path));
	snprintf(ret, room, "Profiling cost %s. Full report: hotpin report %s", cost, path);
}

/* Room is reserved for the last line. */
static void notes(const struct report *report, struct page *page, unsigned last)
{
	char text[256];

	for (size_t i = 0; i < report->warnings; i++) {
		size_t left = report->warnings - i;

		snprintf(text, sizeof(text), "note: %s", report->warning[i]);
		if (lines_of(page, text) + last + (left > 1) > lines_left(page)) {
			line(page, "and %zu more note%s in the report", left, left > 1 ? "s" : "");
			return;
		}
		line(page, "%s", text);
	}
}

void emit_text(const struct report *report, struct writer *writer, unsigned columns)
{
	struct page page = { .writer = writer,
			     .columns = columns - PREFIX_ROOM,
			     .utf8 = report->process.utf8 };
	struct suggestion list[SUGGEST_MOST];
	size_t count = suggest(report, list);
	char last[1024];

	foot(report, last, sizeof(last));
	head(report, &page);
	if (report->on_stand_in)
		line(&page, "Stand-in device: all device times are modeled");
	if (report->no_device) {
		line(&page,
		     "hotpin saw no use of CUDA. If that is wrong, run: hotpin doctor PROGRAM");
		if (hp_options->out[0] != '\0')
			line(&page, "%s", last);
		return;
	}
	wall_split(report, &page);
	if (report->device)
		device_rows(report, &page);
	else
		host_rows(report, &page);
	host_cost(report, &page);
	effect(report, &page);
	coverage(report, &page);
	counters(&page);
	/* Kernels get the remaining lines of the page. */
	unsigned needed = lines_of(&page, last) + (count > 0 ? (unsigned)count + 1 : 0) + 1 +
			  (report->warnings > 0 ? 3 : 0);
	kernels(report, &page, lines_left(&page) > needed ? lines_left(&page) - needed : 0);
	suggestions(report, &page, list, count);
	notes(report, &page, lines_of(&page, last));
	line(&page, "%s", last);
}
