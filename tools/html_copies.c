/*
 * html_copies.c - the copies of a run by kind, by size and by call site.
 */
#include "html.h"
#include "names.h"
#include "order.h"
#include "page.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void html_place(const struct profile *profile, const struct profile_frames *frames, bool allocation,
		char *ret, size_t room)
{
	const struct profile_frame *frame = names_frame(profile, frames, allocation);
	char name[400];

	names_place_short(profile, frame, name, sizeof(name), 80);
	snprintf(ret, room, "%s%s", show_text(name, 200),
		 frame != NULL && frame->guessed ? " (likely)" : "");
	const struct profile_frame *caller = names_caller(frames, frame);
	if (caller == NULL)
		return;
	names_place_short(profile, caller, name, sizeof(name), 80);
	size_t used = strlen(ret);
	snprintf(ret + used, room - used, ", called from %s", show_text(name, 200));
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

	snprintf(text, sizeof(text), "%s Coverage: %s copies seen by hotpin, %s by CUPTI.",
		 show_peak(profile), show_count(profile->coverage.hotpin_copies),
		 show_count(profile->coverage.cupti_copies));
	page_element(to, "p class=\"soft\"", text);
	if (profile_has_pageable(profile))
		page_element(to, "p class=\"soft\"",
			     "For pageable memory, bus time starts at the first DMA; the driver's "
			     "earlier staging counts only as call time.");
}

static void transfers(FILE *to, const struct profile *profile, bool opened)
{
	bool device = strcmp(profile_view(profile), "cupti") == 0;
	const char *const columns[] = { "<copies", "count",  "bytes", device ? "on bus" : "at call",
					"GB/s",    "of peak" };
	char text[256];

	if (!has_copies(profile))
		return;
	page_part(to, opened, "copies");
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
	if (opened)
		page_sites_chart(to, profile);
	fputs("</div>\n", to);
	page_part_end(to, opened);
}

static void site_rows(FILE *to, const char *const *columns, size_t column_count,
		      const struct profile *profile, const struct profile_site *site, bool opened)
{
	char name[1024], kind[SHOW_BYTES(8 + 1 + 16)], id[PAGE_ID] = "";
	bool in_cuda, is_first = true;

	html_place(profile, &site->frames, false, name, sizeof(name));
	if (site->folded)
		snprintf(name + strlen(name), sizeof(name) - strlen(name),
			 " (several call stacks)");
	if (opened)
		html_source_anchor(names_source_frame(profile, &site->frames, &in_cuda), id,
				   sizeof(id));
	for (size_t i = 0; i < site->row_count; i++) {
		const struct profile_row *row = &site->rows[i];

		if (row->count == 0)
			continue;
		snprintf(kind, sizeof(kind), "%s %s", show_direction(row->direction),
			 show_text(row->memory, 16));
		page_row_of(to, columns, column_count,
			    (const char *[]){ is_first ? name : "", kind, show_count(row->count),
					      show_bytes(row->bytes), show_time(row->host_ns) },
			    opened && is_first ? site - profile->sites : UNKNOWN,
			    is_first ? id : "");
		is_first = false;
	}
}

static bool has_unknown(const struct profile *profile)
{
	for (size_t i = 0; i < profile->site_count; i++)
		for (size_t j = 0; j < profile->sites[i].row_count; j++)
			if (strcmp(profile->sites[i].rows[j].memory, "unknown") == 0)
				return true;
	return false;
}

static void sites(FILE *to, const struct profile *profile, bool opened)
{
	static const char *const columns[] = { "<call sites", "<copies", "count", "bytes",
					       "at call" };

	if (profile->site_count == 0)
		return;
	const struct profile_site **sorted = order_sites(profile);
	page_part(to, opened, "sites");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->site_count && i < PAGE_ROWS_MOST; i++) {
		page_table_fold(to, columns, HP_LEN(columns), i, profile->site_count);
		site_rows(to, columns, HP_LEN(columns), profile, sorted[i], opened);
	}
	page_table_close(to, profile->site_count);
	if (has_unknown(profile))
		page_element(to, "p class=\"soft\"",
			     "Unknown: memory that hotpin did not allocate or that the program "
			     "registered; it may be pinned or pageable.");
	page_part_end(to, opened);
}

void html_copies(FILE *to, const struct profile *profile, bool opened)
{
	char *below = NULL;
	size_t bytes;
	FILE *rows = open_memstream(&below, &bytes);

	if (rows == NULL)
		exit(EXIT_FAILURE);
	/* The chart above the rows has links to them, so the rows are written first. */
	sites(rows, profile, opened);
	fclose(rows);
	transfers(to, profile, opened);
	fputs(below, to);
	free(below);
}
