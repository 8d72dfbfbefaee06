/*
 * report_places.c - tables whose rows are places in the program.
 */
#include "report_places.h"
#include "layout.h"
#include "names.h"
#include "order.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_WIDTH  44
#define CALLER_WIDTH 24
#define GAPS_MOST    6
#define ROWS_MOST    10

void report_rest(size_t count, size_t shown, const char *what)
{
	if (count > shown)
		printf("  and %zu more %s (--all)\n", count - shown, what);
}

void report_of_unknown(void)
{
	layout_say(2,
		   "  unknown: memory that hotpin did not allocate or that the program registered; "
		   "it may be pinned or pageable.");
}

/* Returns "solve() at solve.cu:42". */
static const char *name_of(const struct profile *profile, const struct profile_frame *frame,
			   bool all, size_t width)
{
	char name[1000];

	names_place_short(profile, frame, name, sizeof(name), all ? 1000 : width);
	return show_text(name, 1000);
}

static void place_cell(struct layout_table *table, const struct profile *profile,
		       const struct profile_frames *frames, bool allocation, bool all,
		       const char *before)
{
	const struct profile_frame *frame = names_frame(profile, frames, allocation);

	layout_cell(table, "%s%s%s", before, name_of(profile, frame, all, PLACE_WIDTH),
		    frame != NULL && frame->guessed ? " (likely)" : "");
}

/* Prints the caller of that place. */
static void caller_cell(struct layout_table *table, const struct profile *profile,
			const struct profile_frames *frames, bool allocation, bool all)
{
	const struct profile_frame *frame = names_frame(profile, frames, allocation);
	const struct profile_frame *caller = names_caller(frames, frame);

	layout_cell(table, "%s", caller != NULL ? name_of(profile, caller, all, CALLER_WIDTH) : "");
}

/* `ambiguous`: callers() follows. */
static void site_rows(struct layout_table *table, const struct profile *profile,
		      const struct profile_site *site, bool ambiguous, bool all)
{
	for (size_t i = 0; i < site->row_count; i++) {
		const struct profile_row *row = &site->rows[i];

		layout_cell(table, "  %s", show_time(row->host_ns));
		layout_cell(table, "%s", show_count(row->count));
		layout_cell(table, "%s", show_bytes(row->bytes));
		layout_cell(table, "%s %s", show_direction(row->direction),
			    show_text(row->memory, 12));
		place_cell(table, profile, &site->frames, false, all, "");
		if (site->folded)
			layout_cell(table, "several callers");
		else if (!ambiguous)
			caller_cell(table, profile, &site->frames, false, all);
		layout_row(table);
	}
}

/* Compares places as their rows show them, without their callers. */
static int compare_places(const struct profile_frame *a, const struct profile_frame *b)
{
	int order = (a->path != NULL) - (b->path != NULL);

	if (order != 0)
		return order;
	if (a->path == NULL)
		return profile_by_place(a, b);
	order = strcmp(a->path, b->path);
	return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

static int by_place(const void *left, const void *right)
{
	const struct profile_frame *a = *(const struct profile_frame *const *)left,
				   *b = *(const struct profile_frame *const *)right;

	return compare_places(a, b);
}

/* The places of all sites that are shown, in order. */
struct shown_places {
	const struct profile_frame **items;
	size_t count;
};

static struct shown_places places_of(struct profile *profile,
				     const struct profile_site *const *sites, size_t count)
{
	struct shown_places places = { profile_allocate(profile, count, sizeof(*places.items)), 0 };

	for (size_t i = 0; i < count; i++) {
		const struct profile_frame *place = names_frame(profile, &sites[i]->frames, false);

		if (place != NULL)
			places.items[places.count++] = place;
	}
	if (places.count > 0)
		qsort(places.items, places.count, sizeof(*places.items), by_place);
	return places;
}

/* True if the rows of another site would look the same without their callers. */
static bool is_ambiguous(const struct profile *profile, const struct shown_places *places,
			 const struct profile_site *site)
{
	const struct profile_frame *place = names_frame(profile, &site->frames, false);

	if (place == NULL)
		return false;
	const struct profile_frame **found =
		bsearch(&place, places->items, places->count, sizeof(*places->items), by_place);
	return (found > places->items && compare_places(found[-1], place) == 0) ||
	       (found + 1 < places->items + places->count && compare_places(found[1], place) == 0);
}

/* Prints the callers of a site below its rows. */
static void callers(struct layout_table *table, const struct profile *profile,
		    const struct profile_site *site, bool all)
{
	const struct profile_frame *caller = names_frame(profile, &site->frames, false);
	char text[2048] = "";
	size_t used = 0;

	while ((caller = names_caller(&site->frames, caller)) != NULL && used < sizeof(text))
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%sfrom %s",
					 used > 0 ? ", " : "",
					 name_of(profile, caller, all, PLACE_WIDTH));
	if (used > 0)
		layout_note(table, 6, "    %s", text);
}

void report_sites(const struct profile *profile, bool all)
{
	static const struct layout_column columns[] = {
		{ "  At call" },
		{ "Copies" },
		{ "Bytes" },
		{ "Operation", .left = true },
		{ "Copy site", .left = true, .flexible = true },
		{ "Caller", .left = true, .flexible = true, .drop = 1 },
	};
	bool any_unknown = false;

	if (profile->sites == NULL || profile->site_count == 0)
		return;
	const struct profile_site **sites = order_sites(profile);
	size_t shown = all || profile->site_count < ROWS_MOST ? profile->site_count : ROWS_MOST;
	/* The memory of a profile grows; its data stay as they are. */
	struct shown_places places = places_of((struct profile *)profile, sites, shown);
	struct layout_table *table = layout_table(columns, HP_LEN(columns));
	puts("\nCOPY SITES (at call: host time inside the calls)");
	for (size_t i = 0; i < shown; i++) {
		bool ambiguous = !sites[i]->folded && is_ambiguous(profile, &places, sites[i]);

		site_rows(table, profile, sites[i], ambiguous, all);
		if (ambiguous)
			callers(table, profile, sites[i], all);
		for (size_t j = 0; j < sites[i]->row_count; j++)
			any_unknown |= strcmp(sites[i]->rows[j].memory, "unknown") == 0;
	}
	layout_print(table, all);
	report_rest(profile->site_count, shown, "copy sites");
	if (any_unknown)
		report_of_unknown();
	if (profile->sites_lost > 0)
		layout_say(2, "  %s have no site, because their callers are unknown.",
			   show_several(profile->sites_lost, "copy", "copies"));
	if (profile->sites_folded > 0)
		layout_say(
			2,
			"  %s copies of rare call stacks are summed up by their innermost frames.",
			show_count(profile->sites_folded));
}

static void buffer_row(struct layout_table *table, const struct profile *profile,
		       const struct profile_buffer *buffer, bool all)
{
	const struct profile_sum *flows[] = { &buffer->h2d, &buffer->d2h };
	bool is_worth = buffer->could_save_ns > profile->wall_ns / 1000;

	layout_cell(table, "  %s",
		    show_time(profile_add(buffer->h2d.host_ns, buffer->d2h.host_ns)));
	for (size_t i = 0; i < HP_LEN(flows); i++) {
		layout_cell(table, "%s", flows[i]->count == 0 ? "-" : show_count(flows[i]->count));
		layout_cell(table, "%s", flows[i]->count == 0 ? "-" : show_bytes(flows[i]->bytes));
	}
	layout_cell(table, "%s",
		    buffer->largest_bytes >= 0 ? show_bytes(buffer->largest_bytes) : "-");
	layout_cell(table, "%s", is_worth ? show_time(buffer->could_save_ns) : "-");
	layout_tone(table, LAYOUT_BETTER);
	if (strcmp(buffer->kind, "other") == 0)
		layout_cell(table, "%s", "not by hotpin");
	else
		place_cell(table, profile, &buffer->frames, true, all,
			   strcmp(buffer->kind, "static") == 0 ? "static  " : "");
	layout_row(table);
	if (buffer->pins > 0)
		layout_note(table, 6, "    pinned %s, which cost %s and saved about %s",
			    show_several(buffer->pins, "time", "times"), show_time(buffer->pin_ns),
			    show_time(buffer->saved_ns));
}

void report_buffers(const struct profile *profile, bool all)
{
	static const struct layout_column columns[] = {
		{ "  At call" },
		{ "H2D copies", .drop = 3 },
		{ "H2D bytes" },
		{ "D2H copies", .drop = 3 },
		{ "D2H bytes" },
		{ "Size", .drop = 1 },
		{ "Pin saves", .drop = 2 },
		{ "Allocated at", .left = true, .flexible = true },
	};
	size_t count;
	const struct profile_buffer **buffers = order_copied_buffers(profile, &count);

	if (count == 0)
		return;
	size_t shown = all || count < ROWS_MOST ? count : ROWS_MOST;
	struct layout_table *table = layout_table(columns, HP_LEN(columns));
	puts("\nHOST BUFFERS (at call: host time inside the calls)");
	for (size_t i = 0; i < shown; i++)
		buffer_row(table, profile, buffers[i], all);
	layout_print(table, all);
	report_rest(count, shown, "buffers");
	if (profile_lacks_heap(profile))
		layout_say(2, "  To distinguish buffers of malloc: hotpin run --observe=buffers");
}

static void repeat_row(struct layout_table *table, const char *what, int64_t count, int64_t bytes,
		       int64_t ns)
{
	layout_cell(table, "  %s", show_time(ns));
	layout_cell(table, "%s", show_count(count));
	layout_cell(table, "%s", show_bytes(bytes));
	layout_cell(table, "%s", what);
}

void report_repeats(struct profile *profile, bool all)
{
	static const struct layout_column columns[] = {
		{ "  At call" },
		{ "Copies" },
		{ "Bytes" },
		{ "Data", .left = true },
		{ "Copy site", .left = true, .flexible = true },
	};
	static const char duplicate[] = "same as last time", ping_pong[] = "came from the device";

	if (!profile->repeats.known)
		return;
	layout_say(4, "\nUNCHANGED COPIES (candidates for removal, of %s hashed)",
		   show_several(profile->repeats.hashed_copies, "copy", "copies"));
	struct layout_table *table = layout_table(columns, HP_LEN(columns));
	const struct profile_sum *all_of[] = { &profile->repeats.duplicates,
					       &profile->repeats.ping_pong };
	for (size_t i = 0; i < HP_LEN(all_of); i++) {
		repeat_row(table, i == 0 ? duplicate : ping_pong, all_of[i]->count,
			   all_of[i]->bytes, all_of[i]->host_ns);
		layout_cell(table, "%s", "all sites");
		layout_row(table);
	}
	for (size_t i = 0; i < profile->repeats.site_count; i++) {
		const struct profile_repeat *repeat = &profile->repeats.sites[i];

		repeat_row(table, strcmp(repeat->kind, "ping_pong") == 0 ? ping_pong : duplicate,
			   repeat->count, repeat->bytes, repeat->host_ns);
		if (repeat->site >= 0)
			place_cell(table, profile, &profile->sites[repeat->site].frames, false, all,
				   "");
		layout_row(table);
	}
	layout_print(table, all);
}

/* Prints "solve at solve.cu:42 (cuMemcpyDtoH_v2)", or that the thread began or ended there. */
static void gap_end(const struct profile *profile, const struct profile_gap_end *end,
		    const char *none, char *ret, size_t room)
{
	const struct profile_frame *frame = names_frame(profile, &end->frames, false);

	if (end->call == NULL)
		snprintf(ret, room, "%s", none);
	else if (frame == NULL)
		snprintf(ret, room, "%s", show_text(end->call, 40));
	else
		snprintf(ret, room, "%s (%s)", name_of(profile, frame, true, 0),
			 show_text(end->call, 40));
}

/* Prints the sum of gaps without places. */
static void without_places(const struct profile *profile, const struct profile_gap_sum *sum,
			   const char *which)
{
	if (sum->count > 0)
		layout_say(4, "  %s (%s) in %s %s.", show_time(sum->total_ns),
			   show_share(sum->total_ns, profile->wall_ns), show_count(sum->count),
			   which);
}

/* Prints gaps of host code, by the CUDA calls before and after them. */
void report_gaps(const struct profile *profile, bool all)
{
	static const struct layout_column columns[] = {
		{ "  Wall%" },
		{ "Total" },
		{ "Times", .drop = 2 },
		{ "Max", .drop = 1 },
		{ "From one call to another", .left = true, .flexible = true },
	};

	if (profile->gap_count == 0)
		return;
	const struct profile_gap **gaps = order_gaps(profile);
	size_t shown = all || profile->gap_count < GAPS_MOST ? profile->gap_count : GAPS_MOST;
	struct layout_table *table = layout_table(columns, HP_LEN(columns));
	puts("\nHOST CODE BETWEEN CUDA CALLS");
	for (size_t i = 0; i < shown; i++) {
		const struct profile_gap *gap = gaps[i];

		layout_cell(table, "  %s", show_share(gap->total_ns, profile->wall_ns));
		layout_cell(table, "%s", show_time(gap->total_ns));
		layout_cell(table, "%s", show_count(gap->count));
		layout_cell(table, "%s", show_time(gap->longest_ns));
		char from[1200], to[1200];

		gap_end(profile, &gap->before, "start of the process", from, sizeof(from));
		gap_end(profile, &gap->after, "end of the process", to, sizeof(to));
		layout_cell(table, "%s to %s", from, to);
		layout_row(table);
	}
	layout_print(table, true);
	report_rest(profile->gap_count, shown, "pairs of calls");
	without_places(profile, &profile->gaps_short, "gaps of less than 10 us each");
	without_places(profile, &profile->gaps_dropped, "gaps between rare pairs of calls");
}
