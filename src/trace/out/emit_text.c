/*
 * emit_text.c - writes the table at exit.
 *
 * An unknown value is "-", never 0.  Names come from the program, so their control bytes must not
 * reach a terminal.
 */
#include "trace/out/emit.h"
#include "base/clock.h"
#include "base/options.h"
#include "base/terminal.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PREFIX      "==hotpin== "
#define PREFIX_ROOM (sizeof(PREFIX) - 1)
#define BAR_MOST    20

struct page {
	struct writer *writer;
	size_t columns; /* after the prefix */
	unsigned room;  /* for so many lines */
	bool utf8;
};

/* Returns the number of lines that `text` takes. */
static unsigned lines_of(const struct page *page, const char *text)
{
	unsigned lines = 1;
	size_t bytes = terminal_fit(text, page->columns);

	for (text += bytes; *(text += strspn(text, " ")) != '\0'; lines++)
		text += terminal_fit(text, page->columns - 4);
	return lines;
}

/*
 * Writes a text if there is room for all of it.  All lines have the same prefix, which
 * distinguishes them from the program's own lines.
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
	unsigned lines = lines_of(page, text);
	if (lines > page->room)
		return;
	page->room -= lines;
	do {
		size_t bytes = terminal_fit(at, page->columns - strlen(indent));

		writer_put(page->writer, PREFIX "%s%.*s\n", indent, (int)bytes, at);
		at += bytes + strspn(at + bytes, " ");
		indent = "    ";
	} while (*at != '\0');
}

static void head(const struct report *report, struct page *page)
{
	char stage[168], program[64], wall[UNITS_ROOM], device[140], rank[32] = "", pid[32] = "";
	bool staged = report->stage[0] != '\0';
	bool observed = !hp_options->pin && hp_options->ring == 0 && !hp_options->async;

	if (report->process.rank[0] != '\0')
		snprintf(rank, sizeof(rank), "  rank %s", report->process.rank);
	if (process_start() != PROCESS_HOTPIN_RUN)
		snprintf(pid, sizeof(pid), "  pid %ld", report->process.pid);
	line(page, "%s%s%s%s%s%s  %s%s%s%s%s", staged ? "\"" : "",
	     units_escape(stage, sizeof(stage), report->stage, 40), staged ? "\"  " : "",
	     units_escape(program, sizeof(program), report->process.program, 32), rank, pid,
	     units_time(wall, report->collected.device != NULL
				      ? report->split.wall_ns
				      : report->ended_ns - report->began_ns),
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
		static const char *const names[] = {
#define STATE(field, title, heading, dropped) title,
#include "base/states.def"
		};
		const uint64_t *parts = (const uint64_t *)&split->parts;
		unsigned tenths[SPLIT_PARTS];

		units_split_tenths(parts, SPLIT_PARTS, tenths);
		for (int i = 0; i < SPLIT_PARTS; i++)
			bar_line(page, names[i], parts[i], tenths[i]);
		return;
	}

	/* Copy calls first: if threads copy and wait at the same time, the copy matters. */
	uint64_t copies = split->layer_ns[SPLIT_COPY_CALL];
	const uint64_t parts[] = { copies, split->blocked_ns - copies,
				   split->wall_ns - split->blocked_ns };
	unsigned tenths[3];
	units_split_tenths(parts, 3, tenths);
	bar_line(page, "In copy calls", parts[0], tenths[0]);
	bar_line(page, "In waits", parts[1], tenths[1]);
	bar_line(page, "Elsewhere", parts[2], tenths[2]);
}

/* A sum of copies of one direction; `timed_bytes` moved in `ns`. */
struct flow {
	uint64_t count, bytes, timed_bytes, ns;
};

static struct flow flow_of(const struct report *report, enum trace_direction direction)
{
	struct flow flow = { 0 };

	for (int memory = 0; report->device && memory < TRACE_MEMORIES; memory++) {
		const struct aggregate_sum *sum =
			&report->collected.device->copies[direction][memory];

		flow.count += sum->count;
		flow.bytes += sum->bytes;
		flow.timed_bytes += sum->bytes - sum->untimed_bytes;
		flow.ns += sum->busy_ns;
	}
	/* The time of an asynchronous call does not show the time of the copy. */
	for (int memory = 0; !report->device && memory < TRACE_MEMORIES; memory++) {
		const struct trace_sum *sum = &report->operations.copies[direction][memory];

		flow.count += sum->count;
		flow.bytes += sum->bytes;
		flow.timed_bytes += sum->sync_bytes;
		flow.ns += sum->sync_ns;
	}
	return flow;
}

static void copies(const struct report *report, struct page *page)
{
	static const char *const names[] = {
		[TRACE_H2D] = "H2D copies", [TRACE_D2H] = "D2H copies"
	};
	char time[UNITS_ROOM], bytes[UNITS_ROOM], rate[UNITS_ROOM];

	for (int direction = TRACE_H2D; direction <= TRACE_D2H; direction++) {
		struct flow flow = flow_of(report, (enum trace_direction)direction);

		if (flow.count == 0)
			continue;
		line(page, "%-18s %8s %8s  %s GB/s", names[direction],
		     flow.ns > 0 ? units_time(time, flow.ns) : "n/a",
		     units_bytes(bytes, flow.bytes), units_rate(rate, flow.timed_bytes, flow.ns));
	}
}

/*
 * Writes the effect of hotpin.  The time ahead estimates how long the program waits without hotpin.
 */
static void effect(const struct report *report, struct page *page)
{
	char promoted[UNITS_ROOM], all[UNITS_ROOM], share[UNITS_ROOM], ahead[UNITS_ROOM];
	struct profile_coverage copies;
	struct profile_promotion pinned;

	int64_t ahead_ns = report_ahead_ns(report);

	report_bus_read(report, &copies, &pinned);
	if (pinned.promoted_bytes > 0)
		line(page, "Pinned by hotpin: %s of %s (%s)",
		     units_bytes(promoted, (uint64_t)pinned.promoted_bytes),
		     units_bytes(all, (uint64_t)copies.hotpin_bytes),
		     units_share(share, (uint64_t)pinned.promoted_bytes,
				 (uint64_t)copies.hotpin_bytes));
	if (report->operations.deferred > 0)
		line(page, "Deferred copies: %s%s%s", units_count(all, report->operations.deferred),
		     ahead_ns >= 0 ? ", while the host continued for about " : "",
		     ahead_ns >= 0 ? units_time(ahead, (uint64_t)ahead_ns) : "");
}

static void foot(const struct report *report, char *ret, size_t room)
{
	char path[WRITER_PATH_MAX], shown[900], cost[UNITS_ROOM];
	uint64_t cost_ns = report->operations.append_ns + report->collected.buffers.callback_ns +
			   report->start_ns + (report->ended ? hp_now_ns() - report->exit_ns : 0);

	units_share(cost, cost_ns, report->ended_ns - report->began_ns);
	if (hp_options->out[0] == '\0') {
		snprintf(ret, room,
			 "Profiling cost %s. For source lines: hotpin run -o FILE PROGRAM", cost);
		return;
	}
	if (process_expand(&report->process, hp_options->out, path, sizeof(path)) < 0)
		snprintf(path, sizeof(path), "FILE");
	snprintf(ret, room, "Profiling cost %s. Full report: hotpin report %s", cost,
		 units_escape(shown, sizeof(shown), path, 200));
}

/* Writes the notes that fit; the report has all. */
static void notes(const struct report *report, struct page *page)
{
	char text[256];

	for (size_t i = 0; i < report->warnings; i++) {
		size_t left = report->warnings - i;

		snprintf(text, sizeof(text), "note: %s", report->warning[i]);
		if (lines_of(page, text) + (left > 1) > page->room) {
			line(page, "%zu %snote%s in the report", left, i > 0 ? "more " : "",
			     left > 1 ? "s" : "");
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
	char last[1024];

	foot(report, last, sizeof(last));
	unsigned lines_last = lines_of(&page, last);
	bool noted = report->warnings > 0;
	page.room = EMIT_TEXT_LINES_MOST - lines_last - noted;
	head(report, &page);
	if (report->on_stand_in)
		line(&page, "Stand-in device: all device times are modeled");
	if (report->no_device) {
		line(&page,
		     "hotpin saw no use of CUDA. If that is wrong, run: hotpin doctor PROGRAM");
	} else if (report->nothing_in_range) {
		notes(report, &page);
	} else {
		wall_split(report, &page);
		copies(report, &page);
		effect(report, &page);
		page.room += noted;
		notes(report, &page);
	}
	page.room = lines_last;
	line(&page, "%s", last);
}
