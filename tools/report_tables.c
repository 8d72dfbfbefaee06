/*
 * report_tables.c - the rows of a report: copies, kernels, call sites, buffers, bounds.
 *
 * The longest lists are cut to what fits a screen, those that took most first, unless all are asked
 * for.
 */
#include "report.h"
#include "names.h"
#include "report_samples.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_BYTES  65536
#define BAR          15 /* marks */
#define NAME_WIDTH   60
/* Of a place and of its caller: together with the figures 120 columns at most, mostly. */
#define PLACE_WIDTH  40
#define CALLER_WIDTH 24

static bool all_rows;

static size_t rows_most(size_t count, size_t usual)
{
	return all_rows || count < usual ? count : usual;
}

static void rest(size_t count, size_t shown, const char *what)
{
	if (count > shown)
		printf("  and %zu more %s (--all)\n", count - shown, what);
}

static size_t name_width(void)
{
	return all_rows ? 1000 : NAME_WIDTH;
}

static const char of_unknown[] = "  unknown: memory that hotpin did not allocate, pinned or not";

static bool is_unknown(const char *memory)
{
	return strcmp(memory, "unknown") == 0;
}

static void transfers(const struct profile *profile)
{
	const char *view = profile_view(profile);
	bool device = strcmp(view, "cupti") == 0, any_unknown = false;

	printf("\n%-17s %11s %10s %10s %6s %8s\n", "copies", "count", "bytes",
	       device ? "on bus" : "at call", "GB/s", "of peak");
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];
		char name[SHOW_BYTES(8 + 1 + 12)];

		if (strcmp(row->view, view) != 0)
			continue;
		/* An asynchronous call's time says nothing of the copy's. */
		int64_t bytes = device ? profile_timed_bytes(row) : row->sync_bytes;
		int64_t ns = device ? row->busy_ns : row->sync_ns;

		snprintf(name, sizeof(name), "%s %s", show_direction(row->direction),
			 show_text(row->memory, 12));
		printf("  %-15s %11s %10s %10s %6s %8s", name, show_count(row->count),
		       show_bytes(row->bytes), show_time(device ? row->busy_ns : row->host_ns),
		       show_rate(bytes, ns), device ? show_of_peak(profile, row) : "n/a");
		if (row->pieces > 0)
			printf("  in %s", show_several(row->pieces, "piece", "pieces"));
		putchar('\n');
		any_unknown |= !device && is_unknown(row->memory);
	}
	if (any_unknown)
		puts(of_unknown);
	if (profile->environment.peak_h2d_bytes_per_s > 0)
		printf("  peak of the link: %s GB/s to the device, %s back (%s)\n",
		       show_rate(profile->environment.peak_h2d_bytes_per_s, 1000000000),
		       show_rate(profile->environment.peak_d2h_bytes_per_s, 1000000000),
		       show_text(profile->environment.peak_source, 16));
	else
		puts("  peak of the link: n/a");
	if (device && profile_has_pageable(profile))
		puts("  of pageable memory, a copy is on the bus from its first bytes on: what the\n"
		     "  driver has moved itself before is in the calls alone");
	bool ours_more = profile->coverage.hotpin_bytes > profile->coverage.cupti_bytes;
	if (profile->coverage.cupti_copies >= 0)
		printf("  %s %s of bytes: %s seen by hotpin, %s by CUPTI\n",
		       ours_more ? "CUPTI covers" : "coverage",
		       ours_more ? show_share(profile->coverage.cupti_bytes,
					      profile->coverage.hotpin_bytes)
				 : show_share(profile->coverage.hotpin_bytes,
					      profile->coverage.cupti_bytes),
		       show_several(profile->coverage.hotpin_copies, "copy", "copies"),
		       show_count(profile->coverage.cupti_copies));
}

struct size_row {
	int64_t from_bytes, count[2], bytes[2];
};

static int by_size(const void *left, const void *right)
{
	const struct size_row *a = left, *b = right;

	return a->from_bytes < b->from_bytes ? -1 : a->from_bytes > b->from_bytes;
}

/* Sums over memory kinds, by size; returns how many sizes there are. */
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

static void sizes(const struct profile *profile)
{
	struct size_row rows[80];
	size_t count = fold_sizes(profile, rows, HP_LEN(rows));
	int64_t small = 0, small_bytes = 0, all = 0, all_bytes = 0, most = 1;

	if (count == 0)
		return;
	printf("\n%-17s %11s %10s %11s %10s\n", "sizes of copies", "HtoD", "bytes", "DtoH",
	       "bytes");
	for (size_t i = 0; i < count; i++) {
		int64_t both = profile_add(rows[i].count[0], rows[i].count[1]);
		int64_t bytes = profile_add(rows[i].bytes[0], rows[i].bytes[1]);

		most = both > most ? both : most;
		all = profile_add(all, both);
		all_bytes = profile_add(all_bytes, bytes);
		if (rows[i].from_bytes < SMALL_BYTES) {
			small = profile_add(small, both);
			small_bytes = profile_add(small_bytes, bytes);
		}
	}
	for (size_t i = 0; i < count; i++) {
		int64_t both = profile_add(rows[i].count[0], rows[i].count[1]);
		int length = both > 0 ? (int)((__int128_t)both * BAR / most) : 0;

		printf("  from %-10s %11s %10s %11s %10s%s%.*s\n", show_power(rows[i].from_bytes),
		       show_count(rows[i].count[0]), show_bytes(rows[i].bytes[0]),
		       show_count(rows[i].count[1]), show_bytes(rows[i].bytes[1]),
		       length > 0 ? "  " : "", length, "###############");
	}
	printf("  small ones, below 64 KiB: %s of the copies, %s of the bytes\n",
	       show_share(small, all), show_share(small_bytes, all_bytes));
	if (all > 0 && all <= profile->kernel_runs.count / 10)
		printf("  %lld kernel runs a copy\n",
		       (long long)(profile->kernel_runs.count / all));
	else if (profile->kernel_runs.count > 0 && all >= 0)
		printf("  %lld.%lld copies a kernel run\n",
		       (long long)(all / profile->kernel_runs.count),
		       (long long)((__int128_t)(all % profile->kernel_runs.count) * 10 /
				   profile->kernel_runs.count));
}

static int by_kernel_time(const void *left, const void *right)
{
	const struct profile_kernel *a = *(struct profile_kernel *const *)left,
				    *b = *(struct profile_kernel *const *)right;

	return a->busy_ns > b->busy_ns ? -1 : a->busy_ns < b->busy_ns;
}

static void kernels(struct profile *profile)
{
	printf("\n%s, %s of graphs; kernels run %s, %s; memsets %s\n",
	       show_several(profile->host.launches, "launch", "launches"),
	       show_count(profile->host.graph_launches), show_count(profile->kernel_runs.count),
	       show_time(profile->kernel_runs.busy_ns), show_count(profile->memsets.count));
	if (profile->kernel_count == 0)
		return;
	const struct profile_kernel **sorted =
		profile_allocate(profile, profile->kernel_count, sizeof(*sorted));
	for (size_t i = 0; i < profile->kernel_count; i++)
		sorted[i] = &profile->kernels[i];
	qsort(sorted, profile->kernel_count, sizeof(*sorted), by_kernel_time);
	size_t shown = rows_most(profile->kernel_count, 10);
	printf("%-17s %11s %10s %10s %8s\n", "kernels", "runs", "time", "longest", "share");
	for (size_t i = 0; i < shown; i++) {
		const struct profile_kernel *kernel = sorted[i];

		printf("  %-15s %11s %10s %10s %8s  %s\n", "", show_count(kernel->count),
		       show_time(kernel->busy_ns), show_time(kernel->longest_ns),
		       show_share(kernel->busy_ns, profile->kernel_runs.busy_ns),
		       show_text(kernel->readable, name_width()));
	}
	rest(profile->kernel_count, shown, "kernels");
}

struct ranked {
	size_t index;
	int64_t weight;
};

static int by_weight(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* "solve() at solve.cu:42", and with it the call that led there. */
static void place(const struct profile *profile, const struct profile_frames *frames,
		  bool allocation)
{
	const struct profile_frame *frame = names_frame(profile, frames, allocation);
	char name[512];

	names_place_short(profile, frame, name, sizeof(name), all_rows ? 1000 : PLACE_WIDTH);
	printf("  %s", show_text(name, name_width()));
	if (frame != NULL && frame->guessed)
		printf(" (likely)");
	if (frame == NULL || frame + 1 >= frames->items + frames->count)
		return;
	/* A nameless place in another file, libc's start of main() for one, says nothing. */
	if (frame->function != NULL && frame[1].function == NULL &&
	    frame[1].module != frame->module)
		return;
	names_place_short(profile, frame + 1, name, sizeof(name), all_rows ? 1000 : CALLER_WIDTH);
	printf(" < %s", show_text(name, name_width()));
}

static void sites(struct profile *profile)
{
	if (profile->sites == NULL || profile->site_count == 0)
		return;
	struct ranked *order = profile_allocate(profile, profile->site_count, sizeof(*order));
	for (size_t i = 0; i < profile->site_count; i++) {
		order[i].index = i;
		for (size_t j = 0; j < profile->sites[i].row_count; j++)
			order[i].weight =
				profile_add(order[i].weight, profile->sites[i].rows[j].host_ns);
	}
	qsort(order, profile->site_count, sizeof(*order), by_weight);
	size_t shown = rows_most(profile->site_count, 10);
	bool any_unknown = false;

	printf("\n%-17s %11s %10s %10s\n", "call sites", "copies", "bytes", "at call");
	for (size_t i = 0; i < shown; i++) {
		const struct profile_site *site = &profile->sites[order[i].index];

		for (size_t j = 0; j < site->row_count; j++) {
			const struct profile_row *row = &site->rows[j];
			char name[SHOW_BYTES(8 + 1 + 12)];

			snprintf(name, sizeof(name), "%s %s", show_direction(row->direction),
				 show_text(row->memory, 12));
			printf("  %-15s %11s %10s %10s", name, show_count(row->count),
			       show_bytes(row->bytes), show_time(row->host_ns));
			if (j == 0)
				place(profile, &site->frames, false);
			else
				printf("  the same");
			puts(j == 0 && site->folded ? " (several call stacks)" : "");
			any_unknown |= is_unknown(row->memory);
		}
	}
	rest(profile->site_count, shown, "call sites");
	if (any_unknown)
		puts(of_unknown);
	if (profile->sites_lost > 0)
		printf("  %s copies are of no site: their callers are unknown\n",
		       show_count(profile->sites_lost));
	if (profile->sites_folded > 0)
		printf("  %s copies of rare call stacks are summed up by innermost frames\n",
		       show_count(profile->sites_folded));
}

static void buffer_name(const struct profile *profile, const struct profile_buffer *buffer)
{
	if (strcmp(buffer->kind, "other") == 0) {
		printf("  memory that hotpin did not allocate");
		return;
	}
	if (strcmp(buffer->kind, "static") == 0)
		printf("  static");
	place(profile, &buffer->frames, true);
}

/* What pinning it cost and gained, or could gain, if that is worth a thought. */
static void payback(const struct profile *profile, const struct profile_buffer *buffer)
{
	if (buffer->pins > 0)
		printf("\n%30s  pins: %s, which cost %s and saved about %s", "",
		       show_count(buffer->pins), show_time(buffer->pin_ns),
		       show_time(buffer->saved_ns));
	if (buffer->could_save_ns > profile->wall_ns / 1000)
		printf("\n%30s  pinning could save about %s of its copies", "",
		       show_time(buffer->could_save_ns));
}

static void buffers(struct profile *profile)
{
	if (profile->buffers == NULL || profile->buffer_count == 0)
		return;
	struct ranked *order = profile_allocate(profile, profile->buffer_count, sizeof(*order));
	size_t count = 0;
	for (size_t i = 0; i < profile->buffer_count; i++)
		if (profile->buffers[i].h2d.count != 0 || profile->buffers[i].d2h.count != 0)
			order[count++] =
				(struct ranked){ i, profile_add(profile->buffers[i].h2d.host_ns,
								profile->buffers[i].d2h.host_ns) };
	qsort(order, count, sizeof(*order), by_weight);
	size_t shown = rows_most(count, 10);
	printf("\n%-9s %9s %10s %9s %10s %9s\n", "buffers", "HtoD", "bytes", "DtoH", "bytes",
	       "at call");
	for (size_t i = 0; i < shown; i++) {
		const struct profile_buffer *buffer = &profile->buffers[order[i].index];

		printf("  %-7s %9s %10s %9s %10s %9s", "", show_count(buffer->h2d.count),
		       show_bytes(buffer->h2d.bytes), show_count(buffer->d2h.count),
		       show_bytes(buffer->d2h.bytes), show_time(order[i].weight));
		buffer_name(profile, buffer);
		if (buffer->largest_bytes >= 0)
			printf(", up to %s", show_bytes(buffer->largest_bytes));
		payback(profile, buffer);
		putchar('\n');
	}
	rest(count, shown, "buffers");
	if (profile_lacks_heap(profile))
		puts("  to tell those of malloc apart: HOTPIN_HEAP_MIN=256K hotpin run --observe");
}

static void repeats(const struct profile *profile)
{
	if (!profile->repeats.known)
		return;
	printf("\ncandidates for removal, of %s copies that were hashed\n",
	       show_count(profile->repeats.hashed_copies));
	printf("  duplicates  %9s copies %10s %10s  what was there already\n",
	       show_count(profile->repeats.duplicates.count),
	       show_bytes(profile->repeats.duplicates.bytes),
	       show_time(profile->repeats.duplicates.host_ns));
	printf("  ping-pong   %9s copies %10s %10s  as it came from the device\n",
	       show_count(profile->repeats.ping_pong.count),
	       show_bytes(profile->repeats.ping_pong.bytes),
	       show_time(profile->repeats.ping_pong.host_ns));
	for (size_t i = 0; i < profile->repeats.site_count; i++) {
		const struct profile_repeat *repeat = &profile->repeats.sites[i];

		printf("    %-10s %8s        %10s %10s",
		       strcmp(repeat->kind, "ping_pong") == 0 ? "ping-pong"
							      : show_text(repeat->kind, 10),
		       show_count(repeat->count), show_bytes(repeat->bytes),
		       show_time(repeat->host_ns));
		if (repeat->site >= 0)
			place(profile, &profile->sites[repeat->site].frames, false);
		putchar('\n');
	}
}

/* Words from column 26 on, none beyond column 80 unless it is longer than that. */
static void wrapped(const char *first, const char *text)
{
	char words[SHOW_BYTES(400)];
	int column = printf("%26s%s", "", first);

	snprintf(words, sizeof(words), "%s", show_text(text, 400));
	for (char *rest = words, *word; (word = strsep(&rest, " ")) != NULL;) {
		int length = (int)strlen(word);

		if (column + 1 + length > 80)
			column = printf("\n%26s%s", "", word) - 1;
		else
			column += printf(" %s", word);
	}
	putchar('\n');
}

static void bounds(const struct profile *profile)
{
	bool any = false;

	for (size_t i = 0; i < profile->bound_count; i++)
		any |= profile->bounds[i].wall_ns >= 0;
	if (!any)
		return;
	puts("\nwhat if (bounds, not promises)");
	for (size_t i = 0; i < profile->bound_count; i++) {
		const struct profile_bound *bound = &profile->bounds[i];

		printf("  %-22s at least %9s", show_bound(bound->name), show_time(bound->wall_ns));
		if (bound->saves_ns >= 0)
			printf(", at most %s (%s) less", show_time(bound->saves_ns),
			       show_share(bound->saves_ns, profile->wall_ns));
		putchar('\n');
		if (bound->assumes != NULL)
			wrapped("if", bound->assumes);
	}
}

static void effect(const struct profile *profile)
{
	printf("\nwhat hotpin did: %s of pinned buffers (%s), %s staged (%s),\n"
	       "  %s deferred, %s removed\n",
	       show_several(profile->effect.promoted_copies, "copy", "copies"),
	       show_bytes(profile->effect.promoted_bytes),
	       show_count(profile->effect.staged_copies), show_bytes(profile->effect.staged_bytes),
	       show_count(profile->effect.deferred_copies),
	       show_several(profile->effect.waits_removed, "wait", "waits"));
	printf("  pinned %s, unpinned %s: took %s, saved about %s (an estimate)\n",
	       show_several(profile->effect.pins, "time", "times"),
	       show_count(profile->effect.unpins), show_time(profile->effect.spent_ns),
	       show_time(profile->effect.saved_ns));
	if (profile->effect.deferred_copies > 0)
		printf("  the host went on for about %s meanwhile (an estimate)\n",
		       show_time(profile->effect.ahead_ns));
	if (profile->promotion.cupti_pinned_bytes >= 0)
		printf("  CUPTI saw %s from and to pinned memory\n",
		       show_bytes(profile->promotion.cupti_pinned_bytes));
}

static void stages(const struct profile *profile)
{
	if (profile->stage_count == 0)
		return;
	printf("\n%-22s %7s %9s", "ranges (NVTX)", "entered", "wall");
	for (int part = 0; part < SHOW_PARTS; part++)
		printf(" %9s", show_parts[part].heading);
	putchar('\n');
	for (size_t i = 0; i < profile->stage_count; i++) {
		const struct profile_stage *stage = &profile->stages[i];

		printf("  %-20s %7s %9s", show_text(stage->name, 20), show_count(stage->entered),
		       show_time(stage->wall_ns));
		for (int part = 0; part < SHOW_PARTS; part++)
			printf(" %9s", show_time(show_part_ns(&stage->split, part)));
		putchar('\n');
	}
}

/* "cuMemcpyDtoH_v2 at solve.cu:42", or where the thread began or ended. */
static void gap_end(const struct profile *profile, const struct profile_gap_end *end,
		    const char *none)
{
	if (end->call == NULL) {
		printf("  %s", none);
		return;
	}
	place(profile, &end->frames, false);
	printf(" (%s)", show_text(end->call, 40));
}

static int by_gap(const void *left, const void *right)
{
	const struct profile_gap *a = left, *b = right;

	return (a->total_ns < b->total_ns) - (a->total_ns > b->total_ns);
}

/* Gaps that have no places. */
static void gaps_without_places(const struct profile *profile, const struct profile_gap_sum *sum,
				const char *which)
{
	if (sum->count > 0)
		printf("  %-20s %11s %10s %8s  %s\n", show_time(sum->total_ns),
		       show_count(sum->count), show_time(sum->longest_ns),
		       show_share(sum->total_ns, profile->wall_ns), which);
}

/* Host code, by the calls of CUDA before and after it. */
static void gaps(struct profile *profile)
{
	if (profile->gap_count == 0)
		return;
	qsort(profile->gaps, profile->gap_count, sizeof(*profile->gaps), by_gap);
	size_t shown = rows_most(profile->gap_count, 6);

	printf("\n%-22s %10s %10s %8s\n", "host code between calls", "times", "longest", "of wall");
	for (size_t i = 0; i < shown; i++) {
		const struct profile_gap *gap = &profile->gaps[i];

		printf("  %-20s %11s %10s %8s  from", show_time(gap->total_ns),
		       show_count(gap->count), show_time(gap->longest_ns),
		       show_share(gap->total_ns, profile->wall_ns));
		gap_end(profile, &gap->before, "the start of the process");
		printf("\n%55s  to  ", "");
		gap_end(profile, &gap->after, "the end of the process");
		putchar('\n');
	}
	rest(profile->gap_count, shown, "pairs of calls");
	gaps_without_places(profile, &profile->gaps_short, "of less than 10 us each");
	gaps_without_places(profile, &profile->gaps_dropped, "of pairs beyond those listed");
}

#define CALLS_MOST 8

static int by_total(const void *left, const void *right)
{
	const struct profile_call *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* The host's time in the driver, those first that took most. */
static void calls(struct profile *profile, bool all)
{
	if (profile->call_count == 0)
		return;
	qsort(profile->calls, profile->call_count, sizeof(*profile->calls), by_total);
	printf("\n%-35s %10s %9s %9s %9s %7s\n", "driver calls", "calls", "total", "mean",
	       "longest", "of wall");
	for (size_t i = 0; i < profile->call_count && (all || i < CALLS_MOST); i++) {
		const struct profile_call *call = &profile->calls[i];

		printf("  %-33s %10s %9s %9s %9s %7s\n", show_text(call->name, 33),
		       show_count(call->count), show_time(call->total_ns),
		       show_time(call->count > 0 ? call->total_ns / call->count : UNKNOWN),
		       show_time(call->longest_ns), show_share(call->total_ns, profile->wall_ns));
	}
	if (!all && profile->call_count > CALLS_MOST)
		printf("  and %s: --all\n",
		       show_several((int64_t)profile->call_count - CALLS_MOST, "more", "more"));
}

void report_tables(struct profile *profile, bool all)
{
	all_rows = all;
	if (all || !profile_used_no_device(profile)) {
		transfers(profile);
		sizes(profile);
		kernels(profile);
		calls(profile, all);
		gaps(profile);
		sites(profile);
		buffers(profile);
		repeats(profile);
		bounds(profile);
		effect(profile);
	}
	report_samples(profile, all);
	stages(profile);
}
