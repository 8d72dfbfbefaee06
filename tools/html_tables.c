/*
 * html_tables.c - what of a profile is a list, as tables of a page.
 *
 * Lists are cut, so that a page of a program with ten thousand kernels still opens on a telephone.
 */
#include "html.h"
#include "names.h"
#include "page.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MOST 200

static void transfers(FILE *to, const struct profile *profile)
{
	bool device = strcmp(profile_view(profile), "cupti") == 0;
	const char *const columns[] = { "<copies", "count",  "bytes", device ? "on bus" : "at call",
					"GB/s",    "of peak" };
	char text[256];

	page_element(to, "h3", "Copies");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, profile_view(profile)) != 0)
			continue;
		int64_t bytes = device ? profile_timed_bytes(row) : row->sync_bytes;
		int64_t ns = device ? row->busy_ns : row->sync_ns;

		snprintf(text, sizeof(text), "%s %s", show_direction(row->direction),
			 show_text(row->memory, 16));
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ text, show_count(row->count), show_bytes(row->bytes),
					   show_time(device ? row->busy_ns : row->host_ns),
					   show_rate(bytes, ns),
					   device ? show_of_peak(profile, row) : "n/a" });
	}
	page_table_end(to);
	snprintf(text, sizeof(text),
		 "Peak of the link: %s GB/s to the device, %s GB/s back (%s). "
		 "Coverage: %s copies seen by hotpin, %s by CUPTI.",
		 show_rate(profile->environment.peak_h2d_bytes_per_s, 1000000000),
		 show_rate(profile->environment.peak_d2h_bytes_per_s, 1000000000),
		 show_text(profile->environment.peak_source, 16),
		 show_count(profile->coverage.hotpin_copies),
		 show_count(profile->coverage.cupti_copies));
	page_element(to, "p class=\"soft\"", text);
	if (device && profile_has_pageable(profile))
		page_element(to, "p class=\"soft\"",
			     "Of pageable memory, a copy is on the bus from its first bytes on: "
			     "what the driver has moved itself before is in the calls alone.");
	fputs("<div class=\"charts\">\n", to);
	page_sizes_chart(to, profile);
	page_rates_chart(to, profile);
	fputs("</div>\n", to);
}

static int by_kernel_time(const void *left, const void *right)
{
	const struct profile_kernel *a = left, *b = right;

	return a->busy_ns > b->busy_ns ? -1 : a->busy_ns < b->busy_ns;
}

static void more_rows(FILE *to, size_t count)
{
	char text[64];

	if (count <= ROWS_MOST)
		return;
	snprintf(text, sizeof(text), "and %zu more in the JSON", count - ROWS_MOST);
	page_element(to, "p class=\"soft\"", text);
}

static void kernels(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<kernels", "runs", "time", "longest", "share" };

	if (profile->kernel_count == 0)
		return;
	qsort(profile->kernels, profile->kernel_count, sizeof(*profile->kernels), by_kernel_time);
	page_element(to, "h3", "Kernels");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->kernel_count && i < ROWS_MOST; i++) {
		const struct profile_kernel *kernel = &profile->kernels[i];

		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){
				 show_text(kernel->readable, 300), show_count(kernel->count),
				 show_time(kernel->busy_ns), show_time(kernel->longest_ns),
				 show_share(kernel->busy_ns, profile->kernel_runs.busy_ns) });
	}
	page_table_end(to);
	more_rows(to, profile->kernel_count);
}

/* "solve() at solve.cu:42, called from main() in heat", escaped for a terminal as for a page. */
static void place(const struct profile *profile, const struct profile_frames *frames,
		  bool allocation, char *ret, size_t room)
{
	const struct profile_frame *frame = names_frame(profile, frames, allocation);
	char name[400];

	names_place_short(profile, frame, name, sizeof(name), 80);
	snprintf(ret, room, "%s%s", show_text(name, 200),
		 frame != NULL && frame->guessed ? " (likely)" : "");
	if (frame == NULL || frame + 1 >= frames->items + frames->count)
		return;
	names_place_short(profile, frame + 1, name, sizeof(name), 80);
	size_t used = strlen(ret);
	snprintf(ret + used, room - used, ", called from %s", show_text(name, 200));
}

static int64_t site_ns(const struct profile_site *site)
{
	int64_t ns = 0;

	for (size_t i = 0; i < site->row_count; i++)
		ns = profile_add(ns, site->rows[i].host_ns);
	return ns;
}

static int by_site_time(const void *left, const void *right)
{
	int64_t a = site_ns(left), b = site_ns(right);

	return a > b ? -1 : a < b;
}

static void sites(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<call sites", "<copies", "count", "bytes",
					       "at call" };

	if (profile->site_count == 0)
		return;
	qsort(profile->sites, profile->site_count, sizeof(*profile->sites), by_site_time);
	bool any_unknown = false;

	page_element(to, "h3", "Call sites of copies");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->site_count && i < ROWS_MOST; i++) {
		const struct profile_site *site = &profile->sites[i];
		char name[1024], kind[SHOW_BYTES(8 + 1 + 16)];

		place(profile, &site->frames, false, name, sizeof(name));
		if (site->folded)
			snprintf(name + strlen(name), sizeof(name) - strlen(name),
				 " (several call stacks)");
		for (size_t j = 0; j < site->row_count; j++) {
			const struct profile_row *row = &site->rows[j];

			snprintf(kind, sizeof(kind), "%s %s", show_direction(row->direction),
				 show_text(row->memory, 16));
			page_row(to, columns, HP_LEN(columns),
				 (const char *[]){ j == 0 ? name : "", kind, show_count(row->count),
						   show_bytes(row->bytes),
						   show_time(row->host_ns) });
			any_unknown |= strcmp(row->memory, "unknown") == 0;
		}
	}
	page_table_end(to);
	more_rows(to, profile->site_count);
	if (any_unknown)
		page_element(to, "p class=\"soft\"",
			     "Unknown: memory that hotpin did not allocate, pinned or not.");
}

static int by_buffer_time(const void *left, const void *right)
{
	const struct profile_buffer *a = left, *b = right;
	int64_t one = profile_add(a->h2d.host_ns, a->d2h.host_ns),
		other = profile_add(b->h2d.host_ns, b->d2h.host_ns);

	return one > other ? -1 : one < other;
}

static void buffers(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<buffers, by who allocated them",
					       "largest",
					       "HtoD",
					       "bytes",
					       "DtoH",
					       "bytes",
					       "at call",
					       "pins",
					       "cost",
					       "saved, about",
					       "could save, about" };

	if (profile->buffer_count == 0)
		return;
	qsort(profile->buffers, profile->buffer_count, sizeof(*profile->buffers), by_buffer_time);
	page_element(to, "h3", "Buffers");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->buffer_count && i < ROWS_MOST; i++) {
		const struct profile_buffer *buffer = &profile->buffers[i];
		char name[1024] = "static ";
		bool is_static = strcmp(buffer->kind, "static") == 0;

		if (strcmp(buffer->kind, "other") == 0)
			strcpy(name, "memory that hotpin did not allocate");
		else
			place(profile, &buffer->frames, true, name + (is_static ? 7 : 0),
			      sizeof(name) - 7);
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){
				 name, show_bytes(buffer->largest_bytes),
				 show_count(buffer->h2d.count), show_bytes(buffer->h2d.bytes),
				 show_count(buffer->d2h.count), show_bytes(buffer->d2h.bytes),
				 show_time(profile_add(buffer->h2d.host_ns, buffer->d2h.host_ns)),
				 show_count(buffer->pins), show_time(buffer->pin_ns),
				 show_time(buffer->saved_ns), show_time(buffer->could_save_ns) });
	}
	page_table_end(to);
	more_rows(to, profile->buffer_count);
	if (profile_lacks_heap(profile))
		page_element(to, "p class=\"soft\"",
			     "To tell those of malloc apart: HOTPIN_HEAP_MIN=256K hotpin run "
			     "--observe.");
}

static void bounds(FILE *to, const struct profile *profile)
{
	bool any = false;
	char text[SHOW_BYTES(150 + 24) + 128];

	for (size_t i = 0; i < profile->bound_count; i++)
		any |= profile->bounds[i].wall_ns >= 0;
	if (!any)
		return;
	page_element(to, "h3", "What if (bounds, not promises)");
	for (size_t i = 0; i < profile->bound_count; i++) {
		const struct profile_bound *bound = &profile->bounds[i];

		snprintf(text, sizeof(text), "%s: at least %s, at most %s less%s%s",
			 show_bound(bound->name), show_time(bound->wall_ns),
			 show_time(bound->saves_ns), bound->assumes != NULL ? "; if " : "",
			 bound->assumes != NULL ? show_text(bound->assumes, 150) : "");
		page_element(to, "p", text);
		page_bar(to, "kernels", bound->wall_ns, profile->wall_ns);
	}
}

static void repeats(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<candidates for removal", "copies", "bytes",
					       "at call" };

	if (!profile->repeats.known)
		return;
	page_element(to, "h3", "Copies of equal bytes");
	page_table_begin(to, columns, HP_LEN(columns));
	const struct profile_sum *sums[] = { &profile->repeats.duplicates,
					     &profile->repeats.ping_pong };
	static const char *const names[] = { "the bytes that this place got the last time",
					     "came from the device, unchanged by the host" };
	for (size_t i = 0; i < HP_LEN(sums); i++)
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ names[i], show_count(sums[i]->count),
					   show_bytes(sums[i]->bytes),
					   show_time(sums[i]->host_ns) });
	page_table_end(to);
}

static void effect(FILE *to, const struct profile *profile)
{
	char text[512];

	page_element(to, "h3", "What hotpin did");
	snprintf(text, sizeof(text),
		 "%s copies of pinned buffers (%s), %s staged (%s), %s deferred, %s waits removed. "
		 "Pinned %s times, unpinned %s, which took %s and saved about %s (an estimate).",
		 show_count(profile->effect.promoted_copies),
		 show_bytes(profile->effect.promoted_bytes),
		 show_count(profile->effect.staged_copies),
		 show_bytes(profile->effect.staged_bytes),
		 show_count(profile->effect.deferred_copies),
		 show_count(profile->effect.waits_removed), show_count(profile->effect.pins),
		 show_count(profile->effect.unpins), show_time(profile->effect.spent_ns),
		 show_time(profile->effect.saved_ns));
	page_element(to, "p", text);
	if (profile->effect.deferred_copies <= 0)
		return;
	snprintf(
		text, sizeof(text),
		"The host went on for about %s (an estimate) while deferred copies were under way.",
		show_time(profile->effect.ahead_ns));
	page_element(to, "p", text);
}

static void stages(FILE *to, const struct profile *profile)
{
	const char *columns[3 + SHOW_PARTS] = { "<range", "entered", "wall" };

	if (profile->stage_count == 0)
		return;
	for (int part = 0; part < SHOW_PARTS; part++)
		columns[3 + part] = show_parts[part].heading;
	page_element(to, "h3", "Ranges (NVTX)");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->stage_count && i < ROWS_MOST; i++) {
		const struct profile_stage *stage = &profile->stages[i];

		const char *cells[HP_LEN(columns)] = { show_text(stage->name, 200),
						       show_count(stage->entered),
						       show_time(stage->wall_ns) };

		for (int part = 0; part < SHOW_PARTS; part++)
			cells[3 + part] = show_time(show_part_ns(&stage->split, part));
		page_row(to, columns, HP_LEN(columns), cells);
	}
	page_table_end(to);
	more_rows(to, profile->stage_count);
}

void html_tables(FILE *to, const struct profile *profile)
{
	if (!profile_used_no_device(profile)) {
		transfers(to, profile);
		kernels(to, profile);
		sites(to, profile);
		buffers(to, profile);
		repeats(to, profile);
		bounds(to, profile);
		effect(to, profile);
	}
	stages(to, profile);
}
