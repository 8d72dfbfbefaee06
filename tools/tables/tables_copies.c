/*
 * tables_copies.c - the tables of copies: by kind, size, place and buffer.
 */
#include "tables/tables.h"
#include "analyze/round_trips.h"
#include "names/names.h"
#include "profile/sorted_lists.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_BYTES 65536
#define ALIKE_MOST  200 /* sites that are compared with each other */

static bool is_of_device(const struct profile *profile)
{
	return strcmp(profile_view(profile), "cupti") == 0;
}

/*
 * Returns "H2D pinned".  hotpin does not know memory that it did not allocate, but CUPTI does: so
 * "unknown" would contradict CUPTI's figures.
 */
static struct table_cell operation(const struct profile *profile, const char *direction,
				   const char *memory)
{
	bool is_hidden = is_of_device(profile) && strcmp(memory, "unknown") == 0;

	return table_text(text_made("%s%s%s", text_direction(direction), is_hidden ? "" : " ",
				    is_hidden ? "" : memory));
}

static void say_unknown(struct table_rows *rows, const struct profile *profile, bool any_unknown)
{
	if (any_unknown && !is_of_device(profile))
		table_say(rows, "unknown: memory that hotpin did not allocate or that the program "
				"registered; it may be pinned or pageable.");
}

/* Returns the bytes as a share of what the link could have moved in their time on the device. */
static struct table_cell of_peak(const struct profile *profile, const struct profile_transfer *row)
{
	int64_t peak = profile_peak(profile, row->direction);
	__int128_t could = (__int128_t)peak * row->busy_ns / 1000000000;

	if (peak <= 0 || row->busy_ns <= 0 || could > INT64_MAX)
		return table_number(UNKNOWN);
	/* Time stamps are rounded, so a rate may exceed the peak a little. */
	int64_t bytes = profile_timed_bytes(row);
	return table_share(bytes < could ? bytes : (int64_t)could, (int64_t)could);
}

static const struct table_column copy_columns[] = {
	{ "view", NULL, TABLE_TEXT, TABLE_AT(profile_transfer, view) },
	{ "direction", NULL, TABLE_TEXT, TABLE_AT(profile_transfer, direction) },
	{ "memory", NULL, TABLE_TEXT, TABLE_AT(profile_transfer, memory) },
	{ NULL, "Operation", TABLE_TEXT },
	{ NULL, "Time%", TABLE_SHARE, .drop = 3 },
	{ NULL, "Total", TABLE_TIME },
	{ "count", "Count", TABLE_COUNT, TABLE_AT(profile_transfer, count) },
	{ NULL, "Avg", TABLE_TIME, .drop = 2 },
	{ "bytes", "Bytes", TABLE_BYTES, TABLE_AT(profile_transfer, bytes) },
	{ NULL, "GB/s", TABLE_RATE },
	{ NULL, "Peak%", TABLE_SHARE, .drop = 1 },
	{ "busy_ns", NULL, TABLE_TIME, TABLE_AT(profile_transfer, busy_ns) },
	{ "host_ns", NULL, TABLE_TIME, TABLE_AT(profile_transfer, host_ns) },
	{ "sync_count", NULL, TABLE_COUNT, TABLE_AT(profile_transfer, sync_count) },
	{ "sync_bytes", NULL, TABLE_BYTES, TABLE_AT(profile_transfer, sync_bytes) },
	{ "sync_ns", NULL, TABLE_TIME, TABLE_AT(profile_transfer, sync_ns) },
};

static void add_copies(struct table_rows *rows, const struct profile *profile,
		       const struct profile_transfer *row, int64_t whole_ns)
{
	bool device = is_of_device(profile);
	int64_t ns = profile_moved_ns(row);
	/* The time of an asynchronous call is not the time of its copy. */
	struct table_cell rate = device ? table_rate(profile_timed_bytes(row), row->busy_ns)
					: table_rate(row->sync_bytes, row->sync_ns);

	TABLE_ROW(rows, row, operation(profile, row->direction, row->memory),
		  table_share(ns, whole_ns), table_number(ns), table_mean(ns, row->count), rate,
		  device ? of_peak(profile, row) : table_number(UNKNOWN));
}

static void fill_copy(struct table_rows *rows, struct profile *profile)
{
	bool device = is_of_device(profile), any_unknown = false;
	const struct profile_transfer whole = profile_moved(profile, profile_view(profile), NULL);

	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (rows->form != TABLE_CSV &&
		    (strcmp(row->view, profile_view(profile)) != 0 || row->count == 0))
			continue;
		add_copies(rows, profile, row, profile_moved_ns(&whole));
		any_unknown |= strcmp(row->memory, "unknown") == 0;
	}
	rows->title = device ? "time on the device" : "time in the calls";
	say_unknown(rows, profile, any_unknown);
	if (device && (profile->environment.peak_h2d_bytes_per_s > 0 ||
		       profile->environment.peak_d2h_bytes_per_s > 0))
		table_say(rows, "%s", text_peak(profile));
	if (device && profile_has_pageable(profile))
		table_say(rows, "For pageable memory, bus time starts at the first DMA; the "
				"driver's earlier staging counts only as call time.");
}

static const struct table_column size_columns[] = {
	{ "view", NULL, TABLE_TEXT },
	{ "direction", NULL, TABLE_TEXT },
	{ "memory", NULL, TABLE_TEXT },
	{ NULL, "Operation", TABLE_TEXT },
	{ "from_bytes", "From size", TABLE_SIZE, TABLE_AT(profile_size, from_bytes) },
	{ "count", "Copies", TABLE_COUNT, TABLE_AT(profile_size, count) },
	{ "bytes", "Bytes", TABLE_BYTES, TABLE_AT(profile_size, bytes) },
	{ "busy_ns", "Time", TABLE_TIME, TABLE_AT(profile_size, busy_ns) },
	{ NULL, "GB/s", TABLE_RATE },
};

/* Says how many copies are small, and how many there are for each kernel. */
static void say_sizes(struct table_rows *rows, const struct profile *profile,
		      const struct profile_sum *all, const struct profile_sum *small)
{
	int64_t runs = profile->kernel_runs.count;

	if (all->count <= 0)
		return;
	table_say(rows, "Below 64 KiB: %s of the copies, %s of the bytes.",
		  text_share(small->count, all->count), text_share(small->bytes, all->bytes));
	if (all->count <= runs / 10)
		table_say(rows, "%lld kernel runs for each copy.", (long long)(runs / all->count));
	else if (runs > 0)
		table_say(rows, "%lld.%lld copies for each kernel run.",
			  (long long)(all->count / runs),
			  (long long)((__int128_t)(all->count % runs) * 10 / runs));
}

static void fill_size(struct table_rows *rows, struct profile *profile)
{
	struct profile_sum all = { 0 }, small = { 0 };

	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (rows->form != TABLE_CSV && strcmp(row->view, profile_view(profile)) != 0)
			continue;
		for (size_t j = 0; j < row->size_count; j++) {
			const struct profile_size *size = &row->sizes[j];
			bool is_small = size->from_bytes < SMALL_BYTES;

			TABLE_ROW(rows, size, table_text(row->view), table_text(row->direction),
				  table_text(row->memory),
				  operation(profile, row->direction, row->memory),
				  table_rate(size->bytes, size->busy_ns));
			all.count = profile_add(all.count, size->count);
			all.bytes = profile_add(all.bytes, size->bytes);
			small.count = profile_add(small.count, is_small ? size->count : 0);
			small.bytes = profile_add(small.bytes, is_small ? size->bytes : 0);
		}
	}
	say_sizes(rows, profile, &all, &small);
}

static const struct table_column site_columns[] = {
	{ "direction", NULL, TABLE_TEXT, TABLE_AT(profile_row, direction) },
	{ "memory", NULL, TABLE_TEXT, TABLE_AT(profile_row, memory) },
	{ NULL, "Operation", TABLE_TEXT },
	{ "", "Copy site", TABLE_PLACE },
	{ NULL, "Caller", TABLE_PLACE, .drop = 1 },
	{ "host_ns", "At call", TABLE_TIME, TABLE_AT(profile_row, host_ns) },
	{ "count", "Copies", TABLE_COUNT, TABLE_AT(profile_row, count) },
	{ "bytes", "Bytes", TABLE_BYTES, TABLE_AT(profile_row, bytes) },
};

/* Returns "from main() at heat.c:9, from .."; NULL: no caller is known. */
static const char *callers(const struct profile *profile, const struct profile_site *site)
{
	const struct profile_frame *caller = names_frame(profile, &site->frames, false);
	const char *text = NULL;

	while ((caller = names_caller(&site->frames, caller)) != NULL)
		text = text_made("%s%sfrom %s", text != NULL ? text : "", text != NULL ? ", " : "",
				 names_place(profile, caller, 44));
	return text;
}

/* True if another of the first sites has the same place, so that only their callers differ. */
static bool is_ambiguous(const struct profile *profile, const struct profile_site *site,
			 const struct profile_site *const *sites)
{
	const struct profile_frame *place = names_frame(profile, &site->frames, false);

	for (size_t i = 0; place != NULL && i < profile->site_count && i < ALIKE_MOST; i++) {
		const struct profile_frame *other = names_frame(profile, &sites[i]->frames, false);

		if (sites[i] != site && other != NULL && other->number == place->number &&
		    (place->path != NULL ? sorted_texts(other->path, place->path) == 0
					 : profile_same_frame(other, place)))
			return true;
	}
	return false;
}

/* True if hotpin does not know the memory of a row. */
static bool add_site(struct table_rows *rows, const struct profile *profile,
		     const struct profile_site *site, const char *note)
{
	bool any_unknown = false;
	const struct profile_frame *place = names_frame(profile, &site->frames, false);
	struct table_cell caller =
		table_place(site->folded ? NULL : names_caller(&site->frames, place),
			    site->folded ? "several callers" : "");

	for (size_t i = 0; i < site->row_count; i++) {
		const struct profile_row *row = &site->rows[i];

		any_unknown |= strcmp(row->memory, "unknown") == 0;
		if (row->count == 0 && rows->form != TABLE_CSV)
			continue;
		struct table_row *added =
			TABLE_ROW(rows, row, operation(profile, row->direction, row->memory),
				  table_place(place, ""), caller);
		added->note = i + 1 == site->row_count ? note : NULL;
	}
	return any_unknown;
}

static void fill_site(struct table_rows *rows, struct profile *profile)
{
	const struct profile_site **sites = sorted_sites(profile);
	bool any_unknown = false;

	for (size_t i = 0; i < profile->site_count; i++) {
		bool is_told = rows->form != TABLE_CSV && is_ambiguous(profile, sites[i], sites);

		any_unknown |= add_site(rows, profile, sites[i],
					is_told ? callers(profile, sites[i]) : NULL);
	}
	rows->title = "at call: host time inside the calls";
	say_unknown(rows, profile, any_unknown);
	if (profile->sites_lost > 0)
		table_say(rows, "%s have no site, because their callers are unknown.",
			  text_several(profile->sites_lost, "copy", "copies"));
	if (profile->sites_folded > 0)
		table_say(rows, "%s copies of rare call stacks are summed up.",
			  text_count(profile->sites_folded));
}

static const struct table_column buffer_columns[] = {
	{ "kind", NULL, TABLE_TEXT, TABLE_AT(profile_buffer, kind) },
	{ "", "Allocated at", TABLE_PLACE },
	{ NULL, "At call", TABLE_TIME },
	{ "largest_bytes", "Size", TABLE_BYTES, 1, TABLE_AT(profile_buffer, largest_bytes) },
	{ "h2d_count", "H2D copies", TABLE_COUNT, 4, TABLE_AT(profile_buffer, h2d.count) },
	{ "h2d_bytes", "H2D bytes", TABLE_BYTES, TABLE_AT(profile_buffer, h2d.bytes) },
	{ "h2d_host_ns", NULL, TABLE_TIME, TABLE_AT(profile_buffer, h2d.host_ns) },
	{ "d2h_count", "D2H copies", TABLE_COUNT, 4, TABLE_AT(profile_buffer, d2h.count) },
	{ "d2h_bytes", "D2H bytes", TABLE_BYTES, TABLE_AT(profile_buffer, d2h.bytes) },
	{ "d2h_host_ns", NULL, TABLE_TIME, TABLE_AT(profile_buffer, d2h.host_ns) },
	{ "promoted_bytes", NULL, TABLE_BYTES, TABLE_AT(profile_buffer, promoted_bytes) },
	{ "unchanged", "Unchanged", TABLE_COUNT, 5 },
	{ "round_trips", "Round trips", TABLE_COUNT, 6 },
	{ "between_ns", "In between", TABLE_TIME, 6 },
	{ "pins", "Pins", TABLE_COUNT, 3, TABLE_AT(profile_buffer, pins) },
	{ "pin_ns", "Pin cost", TABLE_TIME, 3, TABLE_AT(profile_buffer, pin_ns) },
	{ "saved_ns", "Saved", TABLE_TIME, 3, TABLE_AT(profile_buffer, saved_ns) },
	{ "could_save_ns", "Pin saves", TABLE_TIME, 2, TABLE_AT(profile_buffer, could_save_ns) },
	{ "mapped_file", NULL, TABLE_TEXT, TABLE_AT(profile_buffer, file) },
	{ NULL, "Host code in between", TABLE_TEXT, 7 },
};

/* Returns the number of copies whose bytes the device already had. */
static int64_t unchanged(const struct profile *profile, int64_t buffer)
{
	int64_t count = profile->repeats.known ? 0 : UNKNOWN;

	for (size_t i = 0; i < profile->repeats.site_count; i++)
		if (profile->repeats.sites[i].buffer == buffer)
			count = profile_add(count, profile->repeats.sites[i].count);
	return count;
}

/* Names the host code of the round trips: "from the download at heat.c:49 to the upload at .." */
static struct table_cell between(struct table_rows *rows, const struct profile *profile,
				 const struct profile_trips *trips)
{
	const struct profile_gap *gap = trips->count > 0 && rows->form != TABLE_CSV
						? round_trips_gap(profile, trips)
						: NULL;

	return table_text(gap != NULL ? round_trips_name_gap(profile, gap) : "");
}

static bool is_of_python_library(const struct profile *profile, const struct profile_frame *frame)
{
	const char *path =
		frame != NULL && frame->module >= 0 ? profile->modules[frame->module].path : "";

	return strstr(path, "/site-packages/") != NULL || strstr(path, "/dist-packages/") != NULL;
}

/*
 * Returns the line of Python that uploads the data of a buffer, if a library allocated it: one
 * place of NumPy allocates all of its arrays.  NULL: it is not known.
 */
static const struct profile_frame *uploading_line(const struct profile *profile,
						  const struct profile_buffer *buffer)
{
	const struct profile_trips *trips = round_trips_main(buffer);
	const struct profile_frame *line = NULL;

	if (strcmp(buffer->kind, "heap") == 0 && round_trips_have_sites(trips) &&
	    is_of_python_library(profile, names_buffer_frame(profile, buffer)))
		line = names_frame(profile, &profile->sites[trips->upload_site].frames, false);
	return line != NULL && line->is_python ? line : NULL;
}

static void add_buffer(struct table_rows *rows, const struct profile *profile,
		       const struct profile_buffer *buffer)
{
	const struct profile_trips *trips = round_trips_main(buffer);
	bool is_other = strcmp(buffer->kind, "other") == 0,
	     is_static = strcmp(buffer->kind, "static") == 0;
	const struct profile_frame *place =
		is_other && rows->form != TABLE_CSV ? NULL : names_buffer_frame(profile, buffer);
	const struct profile_frame *line =
		rows->form == TABLE_CSV ? NULL : uploading_line(profile, buffer);

	const char *more = buffer->file != NULL ? text_made("file %s", buffer->file)
			   : line != NULL       ? "uploads it"
			   : is_other           ? "not by hotpin"
			   : is_static          ? "static"
						: "";

	TABLE_ROW(rows, buffer, table_place(line != NULL ? line : place, more),
		  table_number(profile_add(buffer->h2d.host_ns, buffer->d2h.host_ns)),
		  table_number(unchanged(profile, buffer - profile->buffers)),
		  table_number(profile_add(buffer->round_trips.count, buffer->follows.count)),
		  table_number(trips->host_ns), between(rows, profile, trips));
}

static void fill_buffer(struct table_rows *rows, struct profile *profile)
{
	const struct profile_buffer **buffers = sorted_buffers(profile);
	bool any = false;

	for (size_t i = 0; i < profile->buffer_count; i++) {
		bool is_copied = buffers[i]->h2d.count != 0 || buffers[i]->d2h.count != 0;

		if (is_copied || rows->form == TABLE_CSV)
			add_buffer(rows, profile, buffers[i]);
		any |= is_copied;
	}
	if (!any)
		return;
	rows->title = "at call: host time inside the calls";
	if (profile_lacks_heap(profile))
		table_say(rows, "To distinguish buffers of malloc(): hotpin run --observe=buffers");
	if (!profile->repeats.known)
		table_say(rows, "HOTPIN_HASH=1 finds copies of unchanged data.");
}

static const struct table_column wrong_columns[] = {
	{ "what", "What", TABLE_TEXT },
	{ "count", "Times", TABLE_COUNT },
	{ "download_", "Download at", TABLE_PLACE },
	{ "pinned_", "Memory pinned at", TABLE_PLACE, .drop = 1 },
};

static void add_wrong(struct table_rows *rows, const struct profile *profile,
		      const struct profile_buffer *buffer, const char *what, int64_t count)
{
	int64_t site = buffer->pinned.unwaited_site;

	if (count > 0)
		TABLE_ROW(rows, NULL, table_text(what), table_number(count),
			  table_place(site >= 0 ? names_frame(profile, &profile->sites[site].frames,
							      false)
						: NULL,
				      ""),
			  table_place(names_buffer_frame(profile, buffer), ""));
}

static void fill_wrong(struct table_rows *rows, struct profile *profile)
{
	for (size_t i = 0; i < profile->buffer_count; i++) {
		const struct profile_buffer *buffer = &profile->buffers[i];

		add_wrong(rows, profile, buffer, "freed without a wait",
			  buffer->pinned.unwaited_frees);
		add_wrong(rows, profile, buffer, "ended without a wait",
			  buffer->pinned.unwaited_at_end);
	}
	rows->title = "host code must wait before it reads an asynchronous download";
}

static const struct table_column pinned_columns[] = {
	{ "", "Pinned at", TABLE_PLACE },
	{ "host_ns", "In calls", TABLE_TIME, TABLE_AT(profile_buffer, pinned.host_ns) },
	{ "calls", "Calls", TABLE_COUNT, TABLE_AT(profile_buffer, pinned.calls) },
	{ "bytes", "Pinned", TABLE_BYTES, TABLE_AT(profile_buffer, pinned.bytes) },
	{ "used_bytes", "Used", TABLE_BYTES, 2, TABLE_AT(profile_buffer, pinned.used_bytes) },
	{ "most_bytes", "At once", TABLE_BYTES, TABLE_AT(profile_buffer, pinned.most_bytes) },
	{ "held_bytes", "Never freed", TABLE_BYTES, 1,
	  TABLE_AT(profile_buffer, pinned.held_bytes) },
	{ "unused_blocks", "Never copied", TABLE_COUNT, 3,
	  TABLE_AT(profile_buffer, pinned.unused_blocks) },
	{ "powers_of_two", NULL, TABLE_COUNT, TABLE_AT(profile_buffer, pinned.powers_of_two) },
};

static void fill_pinned(struct table_rows *rows, struct profile *profile)
{
	const struct profile_buffer **buffers = sorted_pinned(profile);
	struct profile_pinned sum = { 0 };

	for (size_t i = 0; i < profile->buffer_count; i++) {
		const struct profile_pinned *pinned = &buffers[i]->pinned;

		if (pinned->calls <= 0)
			continue;
		TABLE_ROW(rows, buffers[i],
			  table_place(names_buffer_frame(profile, buffers[i]),
				      pinned->registered ? "registered" : ""));
		sum.calls = profile_add(sum.calls, pinned->calls);
		sum.powers_of_two = profile_add(sum.powers_of_two, pinned->powers_of_two);
		sum.bytes = profile_add(sum.bytes, pinned->bytes);
		sum.used_bytes = profile_add(sum.used_bytes, pinned->used_bytes);
	}
	rows->title = "by the program; used: up to the last byte that a copy reached";
	/* PyTorch rounds up what a program asks for, and less than half of a block is unused. */
	if (sum.powers_of_two == sum.calls && sum.used_bytes > 0 && sum.used_bytes < sum.bytes)
		table_say(rows,
			  "Each size is a power of 2: %s were pinned for %s that copies used.",
			  text_bytes(sum.bytes), text_bytes(sum.used_bytes));
}

static const struct table_column repeat_columns[] = {
	{ "kind", NULL, TABLE_TEXT },
	{ NULL, "Data", TABLE_TEXT },
	{ "", "Copy site", TABLE_PLACE },
	{ "host_ns", "At call", TABLE_TIME, TABLE_AT(profile_sum, host_ns) },
	{ "count", "Copies", TABLE_COUNT, TABLE_AT(profile_sum, count) },
	{ "bytes", "Bytes", TABLE_BYTES, TABLE_AT(profile_sum, bytes) },
};

static void add_repeat(struct table_rows *rows, const char *kind, struct table_cell place,
		       const struct profile_sum *sum)
{
	bool is_back = strcmp(kind, "ping_pong") == 0;

	if (sum->count != 0)
		TABLE_ROW(rows, sum, table_text(kind),
			  table_text(is_back ? "came from the device" : "same as last time"),
			  place);
}

static void fill_repeat(struct table_rows *rows, struct profile *profile)
{
	if (!profile->repeats.known || profile->repeats.hashed_copies == 0)
		return;
	rows->title = text_made("candidates for removal, of %s hashed",
				text_several(profile->repeats.hashed_copies, "copy", "copies"));
	if (rows->form != TABLE_CSV) {
		add_repeat(rows, "duplicate", table_place(NULL, "all sites"),
			   &profile->repeats.duplicates);
		add_repeat(rows, "ping_pong", table_place(NULL, "all sites"),
			   &profile->repeats.ping_pong);
	}
	for (size_t i = 0; i < profile->repeats.site_count; i++) {
		const struct profile_repeat *repeat = &profile->repeats.sites[i];
		const struct profile_frames *frames =
			repeat->site >= 0 ? &profile->sites[repeat->site].frames : NULL;

		add_repeat(rows, repeat->kind,
			   table_place(frames != NULL ? names_frame(profile, frames, false) : NULL,
				       ""),
			   &(struct profile_sum){ repeat->count, repeat->bytes, repeat->host_ns });
	}
}

/* clang-format off */
const struct table table_copies = { "copies", "Copies", "copies by direction and memory", TABLE_FILL(copy), .of_device = true, .elsewhere = true };
const struct table table_sizes = { "sizes", "Sizes of copies", "copies by size", TABLE_FILL(size), .of_device = true, .elsewhere = true };
const struct table table_sites = { "sites", "Copy sites", "copy sites", TABLE_FILL(site), .of_device = true };
const struct table table_repeats = { "repeats", "Unchanged copies", "copies of unchanged data", TABLE_FILL(repeat), .of_device = true, .elsewhere = true };
const struct table table_wrong = { "wrong", "Looks wrong", "downloads that nothing waited for", TABLE_FILL(wrong), .of_device = true };
const struct table table_pinned = { "pinned", "Pinned memory", "memory that the program pins "
"itself", TABLE_FILL(pinned), .of_device = true };
const struct table table_buffers = { "buffers", "Host buffers", "host buffers", TABLE_FILL(buffer), .of_device = true, .then = &table_repeats };
/* clang-format on */
