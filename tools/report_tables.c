/*
 * report_tables.c - the tables of copies, kernels, calls and ranges in a report.
 *
 * The longest lists are cut to a screen, with the largest times first, unless the user asks for all
 * rows.
 */
#include "report.h"
#include "effect.h"
#include "layout.h"
#include "order.h"
#include "report_places.h"
#include "report_samples.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_BYTES 65536
#define BAR         15 /* characters */

static bool all_rows;

static size_t rows_most(size_t count, size_t usual)
{
	return all_rows || count < usual ? count : usual;
}

/* Shows unknown figures as "-" in columns where most rows know theirs. */
static const char *dash(const char *text)
{
	return strcmp(text, "n/a") == 0 ? "-" : text;
}

static int64_t mean(int64_t ns, int64_t count)
{
	return ns >= 0 && count > 0 ? ns / count : UNKNOWN;
}

static void transfer_row(struct layout_table *table, const struct profile *profile,
			 const struct profile_transfer *row, bool device, int64_t whole_ns)
{
	/* The time of an asynchronous call is not the time of its copy. */
	int64_t bytes = device ? profile_timed_bytes(row) : row->sync_bytes;
	int64_t rate_ns = device ? row->busy_ns : row->sync_ns;
	int64_t ns = device ? row->busy_ns : row->host_ns;

	layout_cell(table, "  %s", dash(show_share(ns, whole_ns)));
	layout_cell(table, "%s", dash(show_time(ns)));
	layout_cell(table, "%s", show_count(row->count));
	layout_cell(table, "%s", dash(show_time(mean(ns, row->count))));
	layout_cell(table, "%s", show_bytes(row->bytes));
	layout_cell(table, "%s", dash(show_rate(bytes, rate_ns)));
	layout_cell(table, "%s", device ? dash(show_of_peak(profile, row)) : "-");
	layout_cell(table, "%s %s%s%s", show_direction(row->direction), show_text(row->memory, 12),
		    row->pieces > 0 ? ", in " : "",
		    row->pieces > 0 ? show_several(row->pieces, "piece", "pieces") : "");
	layout_row(table);
}

static void transfers(const struct profile *profile)
{
	static const struct layout_column columns[] = {
		{ "  Time%", .drop = 3 },
		{ "Total" },
		{ "Count" },
		{ "Avg", .drop = 2 },
		{ "Bytes" },
		{ "GB/s" },
		{ "Peak%", .drop = 1 },
		{ "Operation", .left = true, .flexible = true },
	};
	const char *view = profile_view(profile);
	bool device = strcmp(view, "cupti") == 0, any_unknown = false;
	int64_t whole_ns = 0;

	if (profile->transfer_count == 0)
		return;
	for (size_t i = 0; i < profile->transfer_count; i++)
		if (strcmp(profile->transfers[i].view, view) == 0)
			whole_ns = profile_add(whole_ns, device ? profile->transfers[i].busy_ns
								: profile->transfers[i].host_ns);
	puts(device ? "\nGPU MEMORY OPERATIONS" : "\nCOPIES, TIMED AT THE CALL");
	struct layout_table *table = layout_table(columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, view) != 0)
			continue;
		transfer_row(table, profile, row, device, whole_ns);
		any_unknown |= !device && strcmp(row->memory, "unknown") == 0;
	}
	layout_print(table, all_rows);
	if (any_unknown)
		report_of_unknown();
	if (device && (profile->environment.peak_h2d_bytes_per_s > 0 ||
		       profile->environment.peak_d2h_bytes_per_s > 0))
		layout_say(2, "  %s", show_peak(profile));
	if (device && profile_has_pageable(profile))
		layout_say(2,
			   "  For pageable memory, bus time starts at the first DMA; the driver's "
			   "earlier staging counts only as call time.");
}

struct size_row {
	int64_t from_bytes, count[2], bytes[2];
};

static int by_size(const void *left, const void *right)
{
	const struct size_row *a = left, *b = right;

	return a->from_bytes < b->from_bytes ? -1 : a->from_bytes > b->from_bytes;
}

/* Sums up the memory kinds by size; returns the number of sizes. */
static size_t fold_sizes(const struct profile *profile, struct size_row *rows, size_t room)
{
	const char *view = profile_view(profile);
	size_t used = 0;

	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *transfer = &profile->transfers[i];
		int back = strcmp(transfer->direction, "d2h") == 0;

		if (strcmp(transfer->view, view) != 0 ||
		    (!back && strcmp(transfer->direction, "h2d") != 0))
			continue;
		for (size_t j = 0; j < transfer->size_count; j++) {
			const struct profile_size *size = &transfer->sizes[j];
			size_t at = 0;

			while (at < used && rows[at].from_bytes != size->from_bytes)
				at++;
			if (at == room)
				continue;
			if (at == used)
				rows[used++] = (struct size_row){ .from_bytes = size->from_bytes };
			rows[at].count[back] = profile_add(rows[at].count[back], size->count);
			rows[at].bytes[back] = profile_add(rows[at].bytes[back], size->bytes);
		}
	}
	qsort(rows, used, sizeof(*rows), by_size);
	return used;
}

static int64_t sum_of(const int64_t values[2])
{
	return profile_add(values[0], values[1]);
}

/* Says how many copies there are for each kernel. */
static void copies_and_kernels(const struct profile *profile, int64_t copies)
{
	int64_t runs = profile->kernel_runs.count;

	if (copies > 0 && copies <= runs / 10)
		layout_say(2, "  %lld kernel runs for each copy.", (long long)(runs / copies));
	else if (runs > 0 && copies >= 0)
		layout_say(2, "  %lld.%lld copies for each kernel run.", (long long)(copies / runs),
			   (long long)((__int128_t)(copies % runs) * 10 / runs));
}

static void size_rows(const struct size_row *rows, size_t count, int64_t most)
{
	static const struct layout_column columns[] = {
		{ "  From size", .left = true },
		{ "H2D copies" },
		{ "H2D bytes" },
		{ "D2H copies" },
		{ "D2H bytes" },
		{ "", .left = true, .drop = 1 },
	};
	struct layout_table *table = layout_table(columns, HP_LEN(columns));

	for (size_t i = 0; i < count; i++) {
		int64_t both = sum_of(rows[i].count);
		unsigned tenths = both > 0 ? (unsigned)((__int128_t)both * 1000 / most) : 0;

		layout_cell(table, "  %s", show_power(rows[i].from_bytes));
		for (int way = 0; way < 2; way++) {
			bool none = rows[i].count[way] == 0;

			layout_cell(table, "%s", none ? "-" : show_count(rows[i].count[way]));
			layout_cell(table, "%s", none ? "-" : show_bytes(rows[i].bytes[way]));
		}
		layout_cell(table, "%s", layout_bar(tenths, BAR));
		layout_row(table);
	}
	layout_print(table, all_rows);
}

static void sizes(const struct profile *profile)
{
	struct size_row rows[80];
	size_t count = fold_sizes(profile, rows, HP_LEN(rows));
	int64_t small = 0, small_bytes = 0, all = 0, all_bytes = 0, most = 1;

	if (count == 0)
		return;
	puts("\nSIZES OF COPIES");
	for (size_t i = 0; i < count; i++) {
		int64_t both = sum_of(rows[i].count);
		int64_t bytes = sum_of(rows[i].bytes);

		most = both > most ? both : most;
		all = profile_add(all, both);
		all_bytes = profile_add(all_bytes, bytes);
		if (rows[i].from_bytes < SMALL_BYTES) {
			small = profile_add(small, both);
			small_bytes = profile_add(small_bytes, bytes);
		}
	}
	size_rows(rows, count, most);
	layout_say(2, "  Below 64 KiB: %s of the copies, %s of the bytes.", show_share(small, all),
		   show_share(small_bytes, all_bytes));
	copies_and_kernels(profile, all);
}

static void kernel_rows(const struct profile *profile)
{
	static const struct layout_column columns[] = {
		{ "  Time%" }, { "Total" },          { "Runs" },
		{ "Avg" },     { "Max", .drop = 1 }, { "Name", .left = true, .flexible = true },
	};
	const struct profile_kernel **sorted = order_kernels(profile);
	struct layout_table *table = layout_table(columns, HP_LEN(columns));
	size_t shown = rows_most(profile->kernel_count, 10);
	for (size_t i = 0; i < shown; i++) {
		const struct profile_kernel *kernel = sorted[i];

		layout_cell(table, "  %s",
			    dash(show_share(kernel->busy_ns, profile->kernel_runs.busy_ns)));
		layout_cell(table, "%s", dash(show_time(kernel->busy_ns)));
		layout_cell(table, "%s", show_count(kernel->count));
		layout_cell(table, "%s", dash(show_time(mean(kernel->busy_ns, kernel->count))));
		layout_cell(table, "%s", dash(show_time(kernel->longest_ns)));
		layout_cell(table, "%s", show_text(kernel->readable, 1000));
		layout_row(table);
	}
	layout_print(table, all_rows);
	report_rest(profile->kernel_count, shown, "kernels");
}

/* Returns ", 5 memsets", or "". */
static const char *and_more(int64_t count, const char *one, const char *several, char *ret,
			    size_t room)
{
	ret[0] = '\0';
	if (count > 0)
		snprintf(ret, room, ", %s", show_several(count, one, several));
	return ret;
}

static void kernels(const struct profile *profile)
{
	char graphs[80], memsets[80];

	if (profile->host.launches <= 0 && profile->kernel_runs.count <= 0 &&
	    profile->host.graph_launches <= 0)
		return;
	and_more(profile->host.graph_launches, "graph launch", "graph launches", graphs,
		 sizeof(graphs));
	and_more(profile->memsets.count, "memset", "memsets", memsets, sizeof(memsets));
	layout_say(4, "\nGPU KERNELS (%s%s%s)",
		   show_several(profile->host.launches, "launch", "launches"), graphs, memsets);
	if (profile->kernel_count > 0)
		kernel_rows(profile);
}

static void bounds(const struct profile *profile)
{
	static const struct layout_column columns[] = {
		{ "WHAT IF (bounds, not promises)", .left = true, .flexible = true },
		{ "takes at least" },
		{ "saves at most" },
		{ "of wall" },
	};
	struct layout_table *table = NULL;

	for (size_t i = 0; i < profile->bound_count; i++) {
		const struct profile_bound *bound = &profile->bounds[i];

		if (bound->wall_ns < 0 || bound->saves_ns == 0)
			continue;
		if (table == NULL) {
			putchar('\n');
			table = layout_table(columns, HP_LEN(columns));
		}
		layout_cell(table, "  %s", show_bound(bound->name));
		layout_cell(table, "%s", show_time(bound->wall_ns));
		layout_cell(table, "%s", dash(show_time(bound->saves_ns)));
		layout_cell(table, "%s", dash(show_share(bound->saves_ns, profile->wall_ns)));
		layout_row(table);
		if (bound->assumes != NULL)
			layout_note(table, 7, "    if %s", show_text(bound->assumes, 400));
	}
	layout_print(table, true);
}

static void effect(const struct profile *profile)
{
	char sentences[EFFECT_SENTENCES][EFFECT_ROOM];
	size_t count = effect_say(profile, sentences);

	if (count == 0)
		return;
	puts("\nWHAT HOTPIN DID");
	for (size_t i = 0; i < count; i++)
		layout_say(4, "  %s", sentences[i]);
	if (profile->promotion.cupti_pinned_bytes > 0)
		layout_say(4, "  CUPTI saw copies of %s from or to pinned memory.",
			   show_bytes(profile->promotion.cupti_pinned_bytes));
}

static void stages(const struct profile *profile)
{
	static const struct layout_column columns[] = {
		{ "  Range", .left = true, .flexible = true },
		{ "Entered" },
		{ "Wall" },
#define STATE(field, title, heading, dropped) { heading, .drop = dropped },
#include "base/states.def"
	};

	if (profile->stage_count == 0)
		return;
	puts("\nNVTX RANGES");
	struct layout_table *table = layout_table(columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->stage_count; i++) {
		const struct profile_stage *stage = &profile->stages[i];

		layout_cell(table, "  %s", show_text(stage->name, 60));
		layout_cell(table, "%s", show_count(stage->entered));
		layout_cell(table, "%s", dash(show_time(stage->wall_ns)));
		for (int part = 0; part < SHOW_PARTS; part++) {
			int64_t ns = show_part_ns(&stage->split, part);

			layout_cell(table, "%s", ns == 0 ? "-" : show_time(ns));
		}
		layout_row(table);
	}
	layout_print(table, all_rows);
}

#define CALLS_MOST 8

/* Prints the host's time in driver calls, largest first. */
static void calls(const struct profile *profile)
{
	static const struct layout_column columns[] = {
		{ "  Wall%" }, { "Total" },          { "Calls" },
		{ "Avg" },     { "Max", .drop = 1 }, { "Name", .left = true, .flexible = true },
	};

	if (profile->call_count == 0)
		return;
	puts("\nCUDA API (host time inside driver calls)");
	struct layout_table *table = layout_table(columns, HP_LEN(columns));
	const struct profile_call **sorted = order_calls(profile);
	size_t shown = rows_most(profile->call_count, CALLS_MOST);
	for (size_t i = 0; i < shown; i++) {
		const struct profile_call *call = sorted[i];

		layout_cell(table, "  %s", dash(show_share(call->total_ns, profile->wall_ns)));
		layout_cell(table, "%s", dash(show_time(call->total_ns)));
		layout_cell(table, "%s", show_count(call->count));
		layout_cell(table, "%s", dash(show_time(mean(call->total_ns, call->count))));
		layout_cell(table, "%s", dash(show_time(call->longest_ns)));
		layout_cell(table, "%s", show_text(call->name, 80));
		layout_row(table);
	}
	layout_print(table, all_rows);
	report_rest(profile->call_count, shown, "functions");
}

void report_tables(struct profile *profile, bool all)
{
	all_rows = all;
	if (all || !profile_used_no_device(profile)) {
		transfers(profile);
		if (all)
			sizes(profile);
		kernels(profile);
		calls(profile);
		report_gaps(profile, all);
		report_sites(profile, all);
		report_buffers(profile, all);
		report_repeats(profile, all);
		if (all)
			bounds(profile);
		effect(profile);
	}
	report_samples(profile, all);
	stages(profile);
}
