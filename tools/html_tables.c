/*
 * html_tables.c - what of a profile is a list, as tables of a page.
 */
#include "html.h"
#include "names.h"
#include "page.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool opened; /* the run has sections of its own */

static void begin(FILE *to, const char *id)
{
	if (opened)
		page_section(to, id, NULL);
	else
		page_element(to, "h3", page_section_title(id));
}

static void end(FILE *to)
{
	if (opened)
		page_section_end(to);
}

static bool has_copies(const struct profile *profile)
{
	for (size_t i = 0; i < profile->transfer_count; i++)
		if (strcmp(profile->transfers[i].view, profile_view(profile)) == 0 &&
		    profile->transfers[i].count != 0)
			return true;
	return false;
}

static void peak_and_coverage(FILE *to, const struct profile *profile)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "Peak of the link: %s GB/s to the device, %s GB/s back (%s). "
		 "Coverage: %s copies seen by hotpin, %s by CUPTI.",
		 show_rate(profile->environment.peak_h2d_bytes_per_s, 1000000000),
		 show_rate(profile->environment.peak_d2h_bytes_per_s, 1000000000),
		 show_text(profile->environment.peak_source, 16),
		 show_count(profile->coverage.hotpin_copies),
		 show_count(profile->coverage.cupti_copies));
	page_element(to, "p class=\"soft\"", text);
	if (profile_has_pageable(profile))
		page_element(to, "p class=\"soft\"",
			     "For pageable memory, bus time starts at the first DMA; the driver's "
			     "earlier staging counts only as call time.");
}

static void transfers(FILE *to, const struct profile *profile)
{
	bool device = strcmp(profile_view(profile), "cupti") == 0;
	const char *const columns[] = { "<copies", "count",  "bytes", device ? "on bus" : "at call",
					"GB/s",    "of peak" };
	char text[256];

	if (!has_copies(profile))
		return;
	begin(to, "copies");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, profile_view(profile)) != 0 || row->count == 0)
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
	if (device)
		peak_and_coverage(to, profile);
	fputs("<div class=\"charts\">\n", to);
	page_sizes_chart(to, profile);
	page_rates_chart(to, profile);
	fputs("</div>\n", to);
	end(to);
}

static int by_kernel_time(const void *left, const void *right)
{
	const struct profile_kernel *a = left, *b = right;

	return a->busy_ns > b->busy_ns ? -1 : a->busy_ns < b->busy_ns;
}

static void kernels(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<kernels", "runs", "time", "longest", "share" };

	if (profile->kernel_count == 0)
		return;
	qsort(profile->kernels, profile->kernel_count, sizeof(*profile->kernels), by_kernel_time);
	begin(to, "kernels");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->kernel_count && i < PAGE_ROWS_MOST; i++) {
		const struct profile_kernel *kernel = &profile->kernels[i];

		page_table_fold(to, columns, HP_LEN(columns), i, profile->kernel_count);
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){
				 show_text(kernel->readable, 300), show_count(kernel->count),
				 show_time(kernel->busy_ns), show_time(kernel->longest_ns),
				 show_share(kernel->busy_ns, profile->kernel_runs.busy_ns) });
	}
	page_table_close(to, profile->kernel_count);
	end(to);
}

void html_place(const struct profile *profile, const struct profile_frames *frames, bool allocation,
		char *ret, size_t room)
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
	int64_t a = site_ns(*(const struct profile_site *const *)left),
		b = site_ns(*(const struct profile_site *const *)right);

	return a > b ? -1 : a < b;
}

static void site_rows(FILE *to, const char *const *columns, size_t column_count,
		      const struct profile *profile, const struct profile_site *site)
{
	char name[1024], kind[SHOW_BYTES(8 + 1 + 16)];

	html_place(profile, &site->frames, false, name, sizeof(name));
	if (site->folded)
		snprintf(name + strlen(name), sizeof(name) - strlen(name),
			 " (several call stacks)");
	if (opened)
		page_anchor(site - profile->sites);
	for (size_t i = 0, shown = 0; i < site->row_count; i++) {
		const struct profile_row *row = &site->rows[i];

		if (row->count == 0)
			continue;
		snprintf(kind, sizeof(kind), "%s %s", show_direction(row->direction),
			 show_text(row->memory, 16));
		page_row(to, columns, column_count,
			 (const char *[]){ shown++ == 0 ? name : "", kind, show_count(row->count),
					   show_bytes(row->bytes), show_time(row->host_ns) });
	}
	page_anchor(UNKNOWN);
}

static bool has_unknown(const struct profile *profile)
{
	for (size_t i = 0; i < profile->site_count; i++)
		for (size_t j = 0; j < profile->sites[i].row_count; j++)
			if (strcmp(profile->sites[i].rows[j].memory, "unknown") == 0)
				return true;
	return false;
}

/* Advice names sites by their index: they are sorted elsewhere. */
static void sites(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<call sites", "<copies", "count", "bytes",
					       "at call" };
	const struct profile_site **sorted = calloc(profile->site_count + 1, sizeof(*sorted));

	for (size_t i = 0; sorted != NULL && i < profile->site_count; i++)
		sorted[i] = &profile->sites[i];
	if (sorted != NULL && profile->site_count > 0) {
		qsort(sorted, profile->site_count, sizeof(*sorted), by_site_time);
		begin(to, "sites");
		page_table_begin(to, columns, HP_LEN(columns));
		for (size_t i = 0; i < profile->site_count && i < PAGE_ROWS_MOST; i++) {
			page_table_fold(to, columns, HP_LEN(columns), i, profile->site_count);
			site_rows(to, columns, HP_LEN(columns), profile, sorted[i]);
		}
		page_table_close(to, profile->site_count);
		if (has_unknown(profile))
			page_element(
				to, "p class=\"soft\"",
				"Unknown: memory that hotpin did not allocate, pinned or not.");
		end(to);
	}
	free(sorted);
}

static int by_buffer_time(const void *left, const void *right)
{
	const struct profile_buffer *a = *(const struct profile_buffer *const *)left,
				    *b = *(const struct profile_buffer *const *)right;
	int64_t one = profile_add(a->h2d.host_ns, a->d2h.host_ns),
		other = profile_add(b->h2d.host_ns, b->d2h.host_ns);

	return one > other ? -1 : one < other;
}

static void repeats(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<copies of equal bytes", "copies", "bytes",
					       "at call" };
	static const char *const names[] = { "the bytes that this place got the last time",
					     "came from the device, unchanged by the host" };
	const struct profile_sum *sums[] = { &profile->repeats.duplicates,
					     &profile->repeats.ping_pong };

	if (!profile->repeats.known || (sums[0]->count <= 0 && sums[1]->count <= 0))
		return;
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < HP_LEN(sums); i++)
		if (sums[i]->count > 0)
			page_row(to, columns, HP_LEN(columns),
				 (const char *[]){ names[i], show_count(sums[i]->count),
						   show_bytes(sums[i]->bytes),
						   show_time(sums[i]->host_ns) });
	page_table_end(to);
}

static bool is_copied(const struct profile_buffer *buffer)
{
	return buffer->h2d.count != 0 || buffer->d2h.count != 0;
}

static void buffer_row(FILE *to, const char *const *columns, size_t column_count,
		       const struct profile *profile, const struct profile_buffer *buffer)
{
	char name[1024] = "static ";
	bool is_static = strcmp(buffer->kind, "static") == 0;

	if (strcmp(buffer->kind, "other") == 0)
		strcpy(name, "memory that hotpin did not allocate");
	else
		html_place(profile, &buffer->frames, true, name + (is_static ? 7 : 0),
			   sizeof(name) - 7);
	page_row(to, columns, column_count,
		 (const char *[]){ name, show_bytes(buffer->largest_bytes),
				   show_count(buffer->h2d.count), show_bytes(buffer->h2d.bytes),
				   show_count(buffer->d2h.count), show_bytes(buffer->d2h.bytes),
				   show_time(profile_add(buffer->h2d.host_ns, buffer->d2h.host_ns)),
				   show_count(buffer->pins), show_time(buffer->pin_ns),
				   show_time(buffer->saved_ns), show_time(buffer->could_save_ns) });
}

static size_t copied_buffers(const struct profile *profile, const struct profile_buffer **ret)
{
	size_t count = 0;

	for (size_t i = 0; i < profile->buffer_count; i++)
		if (is_copied(&profile->buffers[i]))
			ret[count++] = &profile->buffers[i];
	qsort(ret, count, sizeof(*ret), by_buffer_time);
	return count;
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
	const struct profile_buffer **sorted = calloc(profile->buffer_count + 1, sizeof(*sorted));
	size_t count = sorted != NULL ? copied_buffers(profile, sorted) : 0;

	if (count > 0) {
		begin(to, "buffers");
		page_table_begin(to, columns, HP_LEN(columns));
		for (size_t i = 0; i < count && i < PAGE_ROWS_MOST; i++) {
			page_table_fold(to, columns, HP_LEN(columns), i, count);
			buffer_row(to, columns, HP_LEN(columns), profile, sorted[i]);
		}
		page_table_close(to, count);
		if (profile_lacks_heap(profile))
			page_element(to, "p class=\"soft\"",
				     "To tell those of malloc apart: HOTPIN_HEAP_MIN=256K hotpin "
				     "run --observe.");
		repeats(to, profile);
		end(to);
	}
	free(sorted);
}

static void stages(FILE *to, const struct profile *profile)
{
	const char *columns[3 + SHOW_PARTS] = { "<range (NVTX)", "entered", "wall" };

	if (profile->stage_count == 0)
		return;
	for (int part = 0; part < SHOW_PARTS; part++)
		columns[3 + part] = show_parts[part].heading;
	begin(to, "ranges");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->stage_count && i < PAGE_ROWS_MOST; i++) {
		const struct profile_stage *stage = &profile->stages[i];

		page_table_fold(to, columns, HP_LEN(columns), i, profile->stage_count);
		const char *cells[HP_LEN(columns)] = { show_text(stage->name, 200),
						       show_count(stage->entered),
						       show_time(stage->wall_ns) };

		for (int part = 0; part < SHOW_PARTS; part++)
			cells[3 + part] = show_time(show_part_ns(&stage->split, part));
		page_row(to, columns, HP_LEN(columns), cells);
	}
	page_table_close(to, profile->stage_count);
	end(to);
}

void html_tables(FILE *to, const struct profile *profile, bool with_sections)
{
	opened = with_sections;
	if (!profile_used_no_device(profile)) {
		transfers(to, profile);
		sites(to, profile);
		buffers(to, profile);
		kernels(to, profile);
	}
	stages(to, profile);
}
