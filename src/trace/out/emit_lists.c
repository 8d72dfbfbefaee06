/*
 * emit_lists.c - writes the lists of the profile: files, and their calls that copied.
 */
#include "trace/out/emit_lists.h"
#include "base/counters.h"
#include "trace/calls/calls.h"
#include "trace/calls/gaps.h"
#include "trace/calls/host_buffers.h"
#include "trace/calls/launch_times.h"
#include "trace/calls/launches.h"
#include "trace/calls/repeats.h"
#include "trace/out/emit_places.h"
#include "trace/places/sites.h"

static void add_site(struct json *json, const struct site *site)
{
	json_open(json, NULL, "{");
	emit_place(json, &site->place);
	if (site->folded)
		json_bool(json, "folded", true);
	json_open(json, "rows", "[");
	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++) {
		for (int memory = 0; memory < TRACE_MEMORIES; memory++) {
			const struct sites_row *row = &site->row[direction][memory];

			if (row->count == 0)
				continue;
			json_open(json, NULL, "{");
			json_text(json, "direction", report_directions[direction]);
			json_text(json, "memory", report_host_memories[memory]);
			json_number(json, "count", row->count);
			json_number(json, "bytes", row->bytes);
			json_number(json, "host_ns", row->host_ns);
			json_number(json, "sync_count", row->sync_count);
			json_number(json, "sync_ns", row->sync_ns);
			json_close(json, "}");
		}
	}
	json_close(json, "]");
	json_close(json, "}");
}

static void add_gap_end(struct json *json, const char *name, const struct gap_end *end)
{
	if (end->function == GAPS_NO_CALL) {
		json_null(json, name);
		return;
	}
	json_open(json, name, "{");
	json_text(json, "call", calls_name(end->function));
	emit_place(json, &end->place);
	json_close(json, "}");
}

static void add_gap_sum(struct json *json, const struct gap_sum *sum)
{
	json_number(json, "count", sum->count);
	json_number(json, "total_ns", sum->total_ns);
	json_number(json, "longest_ns", sum->longest_ns);
}

static void add_gaps(const struct report *report, struct json *json)
{
	struct gaps_counts counts = { 0 };

	if (!report->gaps) {
		json_null(json, "gaps");
		json_null(json, "gaps_short");
		json_null(json, "gaps_dropped");
		return;
	}
	gaps_count(&counts);
	json_open(json, "gaps", "[");
	for (size_t i = 0; i < counts.gaps; i++) {
		struct gap gap;

		gaps_read(i, &gap);
		json_open(json, NULL, "{");
		add_gap_end(json, "before", &gap.before);
		add_gap_end(json, "after", &gap.after);
		add_gap_sum(json, &gap.sum);
		json_close(json, "}");
	}
	json_close(json, "]");
	json_open(json, "gaps_short", "{");
	add_gap_sum(json, &counts.short_ones);
	json_close(json, "}");
	json_open(json, "gaps_dropped", "{");
	add_gap_sum(json, &counts.dropped);
	json_close(json, "}");
}

static void add_sites(const struct report *report, struct json *json)
{
	struct sites_counts counts = { 0 };

	if (report->sites)
		sites_count(&counts);
	if (report->sites)
		json_open(json, "sites", "[");
	else
		json_null(json, "sites");
	for (size_t i = 0; i < counts.sites; i++) {
		struct site site;

		sites_read(i, &site);
		add_site(json, &site);
	}
	if (report->sites)
		json_close(json, "]");
	json_number(json, "sites_lost", counts.lost);
	json_number(json, "sites_folded", counts.folded);
}

static void add_launch_time(struct json *json, const struct launch_time *time, bool known,
			    bool with_estimate)
{
	json_known(json, "kernels", known, time->kernels);
	json_known(json, "device_ns", known, time->device_ns);
	if (with_estimate)
		json_known(json, "estimated_ns", known, time->estimated_ns);
}

static void add_launches(const struct report *report, struct json *json)
{
	uint64_t lost = 0;
	size_t count = report->launches ? launches_count(&lost) : 0;

	if (!report->launches) {
		json_null(json, "launches");
		json_null(json, "launches_lost");
		json_null(json, "launches_rest");
		return;
	}
	/* The thread that adds the times runs this code, or has ended. */
	bool known = launch_times_wanted() && report->collected.device != NULL;
	struct launch_time time = { 0 };
	json_open(json, "launches", "[");
	for (size_t i = 0; i < count; i++) {
		struct launch_site site;

		launches_read(i, &site);
		json_open(json, NULL, "{");
		emit_place(json, &site.place);
		json_number(json, "count", site.count);
		json_number(json, "host_ns", site.host_ns);
		if (known)
			launch_times_read(i, &time);
		add_launch_time(json, &time, known, true);
		json_close(json, "}");
	}
	json_close(json, "]");
	json_number(json, "launches_lost", lost);
	if (known)
		launch_times_read_rest(&time);
	json_open(json, "launches_rest", "{");
	add_launch_time(json, &time, known, false);
	json_close(json, "}");
}

/* The index of a copy site by its name; null if it is not known. */
static void add_site_index(struct json *json, const char *key, uint32_t name)
{
	uint32_t site = sites_index(name);

	json_known(json, key, site != SITES_NOWHERE, site);
}

static void add_trips(struct json *json, const struct round_trip_sum *sum)
{
	bool any = sum->count != 0;

	json_number(json, "count", sum->count);
	json_number(json, "bytes", sum->bytes);
	json_number(json, "host_ns", sum->host_ns);
	json_number(json, "copy_ns", sum->copy_ns);
	add_site_index(json, "download_site", any ? sum->download_site : SITES_NOWHERE);
	add_site_index(json, "upload_site", any ? sum->upload_site : SITES_NOWHERE);
}

static void add_buffer(struct json *json, const struct host_buffer *buffer)
{
	static const char *const kinds[] = { [HOST_BUFFER_HEAP] = "heap",
					     [HOST_BUFFER_STATIC] = "static",
					     [HOST_BUFFER_OTHER] = "other" };

	json_open(json, NULL, "{");
	json_text(json, "kind", kinds[buffer->kind]);
	emit_frames(json, buffer->way.frame, buffer->way.depth, buffer->way.guessed);
	json_known(json, "largest_bytes", buffer->largest_bytes != 0, buffer->largest_bytes);
	json_flow(json, "h2d", &buffer->flow[TRACE_H2D]);
	json_flow(json, "d2h", &buffer->flow[TRACE_D2H]);
	json_number(json, "promoted_bytes", buffer->promoted_bytes);
	json_number(json, "pins", buffer->pins);
	json_number(json, "pin_ns", buffer->pin_ns);
	json_number(json, "saved_ns", buffer->saved_ns);
	json_number(json, "could_save_ns", buffer->could_save_ns);
	json_open(json, "round_trips", "{");
	add_trips(json, &buffer->round_trips);
	json_close(json, "}");
	json_open(json, "follows", "{");
	add_trips(json, &buffer->follows);
	json_known(json, "after", buffer->follows.count != 0, buffer->after);
	json_close(json, "}");
	json_close(json, "}");
}

/*
 * Includes buffers that were neither copied nor pinned, since candidates refer to buffers by index.
 */
static void add_buffers(const struct report *report, struct json *json)
{
	size_t count = report->buffers ? host_buffers_count() : 0;

	if (!report->buffers) {
		json_null(json, "buffers");
		return;
	}
	json_open(json, "buffers", "[");
	for (size_t i = 0; i < count; i++) {
		struct host_buffer buffer;

		host_buffers_read(i, &buffer);
		add_buffer(json, &buffer);
	}
	json_close(json, "]");
}

static void add_repeats(const struct report *report, struct json *json)
{
	static const char *const kinds[] = {
		[REPEAT_DUPLICATE] = "duplicate", [REPEAT_PING_PONG] = "ping_pong"
	};
	struct repeats repeats;

	if (!report->repeats) {
		json_null(json, "repeats");
		return;
	}
	repeats_read(&repeats);
	json_open(json, "repeats", "{");
	json_number(json, "hashed_copies", repeats.copies);
	json_number(json, "hashed_bytes", repeats.bytes);
	json_number(json, "hash_ns", repeats.hash_ns);
	json_flow(json, "duplicates", &repeats.all[REPEAT_DUPLICATE]);
	json_flow(json, "ping_pong", &repeats.all[REPEAT_PING_PONG]);
	json_open(json, "sites", "[");
	for (size_t i = 0; i < repeats.rows; i++) {
		struct repeat_row row;

		repeats_read_row(i, &row);
		json_open(json, NULL, "{");
		json_text(json, "kind", kinds[row.kind]);
		add_site_index(json, "site", row.site);
		json_known(json, "buffer", row.buffer != UINT32_MAX, row.buffer);
		json_number(json, "count", row.flow.count);
		json_number(json, "bytes", row.flow.bytes);
		json_number(json, "host_ns", row.flow.host_ns);
		json_close(json, "}");
	}
	json_close(json, "]");
	json_close(json, "}");
}

/* A program that waits for all copies in flight at once has waited once. */
static uint64_t removed_waits(const struct hostcalls *calls)
{
	return calls->deferred > calls->joins ? calls->deferred - calls->joins : 0;
}

static void add_effect(const struct report *report, struct json *json)
{
	struct hostcalls_sum promoted = { 0 }, staged = { 0 };
	size_t count = report->buffers ? host_buffers_count() : 0;
	uint64_t saved_ns = 0, spent_ns = 0;

	for (int direction = TRACE_H2D; direction <= TRACE_D2H; direction++) {
		const struct hostcalls_sum *sums = report->calls.copies[direction];

		promoted.count += sums[TRACE_PROMOTED].count;
		promoted.bytes += sums[TRACE_PROMOTED].bytes;
		staged.count += sums[TRACE_STAGED].count;
		staged.bytes += sums[TRACE_STAGED].bytes;
	}
	for (size_t i = 0; i < count; i++) {
		struct host_buffer buffer;

		host_buffers_read(i, &buffer);
		saved_ns += buffer.saved_ns;
		spent_ns += buffer.pin_ns;
	}
	json_open(json, "effect", "{");
	json_number(json, "promoted_copies", promoted.count);
	json_number(json, "promoted_bytes", promoted.bytes);
	json_number(json, "staged_copies", staged.count);
	json_number(json, "staged_bytes", staged.bytes);
	json_number(json, "deferred_copies", report->calls.deferred);
	json_number(json, "deferred_bytes", report->calls.deferred_bytes);
	json_number(json, "waits_removed", removed_waits(&report->calls));
	json_known(json, "ahead_ns", report->aligned, report->split.ahead_ns);
	json_number(json, "pins", hp_count_read(pins));
	json_number(json, "unpins", hp_count_read(unpins));
	json_known(json, "saved_ns", report->buffers, saved_ns);
	json_known(json, "spent_ns", report->buffers, spent_ns);
	json_close(json, "}");
}

void emit_lists(const struct report *report, struct json *json)
{
	add_sites(report, json);
	add_buffers(report, json);
	add_gaps(report, json);
	add_launches(report, json);
	emit_samples(report, json);
	add_repeats(report, json);
	add_effect(report, json);
}
