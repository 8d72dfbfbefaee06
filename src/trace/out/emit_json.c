/*
 * emit_json.c - writes the profile as JSON.
 *
 * Values are integers in nanoseconds and bytes; unknown values are null.  The output is valid for
 * any name, since bytes that are not UTF-8 become U+FFFD.  Within one major version, fields may be
 * added but not removed.
 */
#include "trace/out/emit_json.h"
#include "base/counters.h"
#include "base/options.h"
#include "trace/calls/call_class.h"
#include "trace/calls/calls.h"
#include "trace/calls/stages.h"
#include "trace/out/emit_events.h"
#include "trace/out/emit_lists.h"
#include "trace/out/json.h"
#include "trace/places/sites.h"
#include "trace/python/python_sampler.h"

#include <string.h>

static void add_option(const struct hp_option_row *row, void *arg)
{
	struct json *json = arg;

	json_words(json, row->variable, row->value);
}

static void add_head(const struct report *report, struct json *json)
{
	const struct process *process = &report->process;
	bool loaded = report->cupti->handle != NULL;

	json_text(json, "schema", "hotpin.profile");
	json_text(json, "schema_version", "2.0");
	json_text(json, "hotpin_version", HOTPIN_VERSION);
	json_text(json, "state", report->ended ? "ended" : "running");
	json_text(json, "stage", report->stage);

	json_open(json, "process", "{");
	json_number(json, "pid", (uint64_t)process->pid);
	json_text(json, "program", process->program);
	json_text(json, "host", process->host);
	json_text(json, "rank", process->rank);
	json_text(json, "ended_utc", process->ended);
	json_known(json, "ranks", process->ranks != 0, process->ranks);
	json_text(json, "arguments_hash", process->arguments);
	json_number(json, "cpus", process->cpus);
	json_known(json, "exit_status", report->ended && report->exit_status >= 0,
		   (uint64_t)report->exit_status);
	json_number(json, "began_ns", report->began_ns);
	json_number(json, "began_unix_ns", report->began_ns + process->unix_offset_ns);
	json_close(json, "}");

	json_open(json, "environment", "{");
	json_text(json, "device", report->device_name);
	json_known(json, "driver_version", report->driver_version != 0,
		   (uint64_t)report->driver_version);
	json_text(json, "device_uuid", report->device_uuid);
	json_bool(json, "stand_in", report->on_stand_in);
	json_known(json, "cupti_version", loaded && report->cupti->version != 0,
		   report->cupti->version);
	json_text(json, "cupti_path", loaded ? report->cupti->path : "");
	json_known(json, "peak_h2d_bytes_per_s", report->peak[TRACE_H2D] != 0,
		   report->peak[TRACE_H2D]);
	json_known(json, "peak_d2h_bytes_per_s", report->peak[TRACE_D2H] != 0,
		   report->peak[TRACE_D2H]);
	json_text(json, "peak_source",
		  report->peak[TRACE_H2D] == 0 && report->peak[TRACE_D2H] == 0 ? ""
		  : report->peak_observed                                      ? "observed"
									       : "link");
	json_close(json, "}");

	json_open(json, "backend", "{");
	json_text(json, "kind",
		  report->no_device ? "none"
		  : report->device  ? "cupti"
				    : "interpose");
	json_text(json, "why", report->why_not);
	json_close(json, "}");

	json_open(json, "options", "{");
	hp_options_each(add_option, json);
	json_close(json, "}");
}

static void add_clock(const struct report *report, struct json *json)
{
	const struct clockmap *clock;
	int64_t drift_ppb;

	if (!report->device || !report->collected.device->clock.anchored) {
		json_null(json, "clock");
		return;
	}
	clock = &report->collected.device->clock;
	json_open(json, "clock", "{");
	json_signed(json, "offset_ns", clock->last.offset_ns);
	json_number(json, "gap_ns", clock->last.gap_ns);
	if (clockmap_drift_ppb(clock, &drift_ppb))
		json_signed(json, "drift_ppb", drift_ppb);
	else
		json_null(json, "drift_ppb");
	json_number(json, "largest_step_ns", clock->most_step_ns);
	json_close(json, "}");
}

/* Limited to the time that calls spent copying, since copies of several threads overlap. */
static void add_staging(const struct report *report, struct json *json)
{
	struct whatif_facts facts = { 0 };
	uint64_t most = report->split.call_copying_ns;

	if (report->aligned)
		report_whatif(report, &facts);
	json_known(json, "staging_ns", facts.excess_known,
		   facts.excess_ns < most ? facts.excess_ns : most);
}

static void add_whatif(const struct report *report, struct json *json)
{
	struct whatif_facts facts;
	bool whole = report->aligned;

	if (whole)
		report_whatif(report, &facts);
	json_open(json, "what_if", "[");
	for (int what = 0; what < WHATIF_COUNT; what++) {
		uint64_t saves = 0;
		bool known = whole && whatif_saves_ns(&facts, (enum whatif)what, &saves);

		json_open(json, NULL, "{");
		json_text(json, "name", whatif_names[what]);
		json_known(json, "wall_ns", known, report->split.wall_ns - saves);
		json_known(json, "saves_ns", known, saves);
		json_text(json, "assumes", whatif_assumes[what]);
		json_close(json, "}");
	}
	json_close(json, "]");
}

static void add_states(struct json *json, const struct split_sum *split)
{
	json_open(json, "split", "{");
	json_number(json, "host_ns", split->host_ns);
	json_number(json, "startup_ns", split->startup_ns);
	json_number(json, "calls_ns", split->calls_ns);
	json_number(json, "transfer_ns", split->transfer_ns);
	json_number(json, "kernel_ns", split->kernel_ns);
	json_number(json, "overlap_ns", split->overlap_ns);
	json_close(json, "}");
}

static void add_stages(const struct report *report, struct json *json)
{
	uint64_t lost;
	size_t count = stages_count(&lost);

	json_open(json, "stages", "[");
	for (size_t i = 1; report->stages != NULL && i <= count; i++) {
		struct split_sum sum;
		struct stage stage;

		stages_read(i, &stage);
		split_stage_sum(report->stages, (unsigned)i, &sum);
		json_open(json, NULL, "{");
		json_words(json, "name", stage.name);
		json_text(json, "domain", stage.domain);
		json_number(json, "entered", stage.entered);
		json_number(json, "wall_ns", sum.wall_ns);
		if (report->aligned)
			add_states(json, &sum);
		else
			json_null(json, "split");
		json_flow(json, "h2d", &stage.flow[TRACE_H2D]);
		json_flow(json, "d2h", &stage.flow[TRACE_D2H]);
		json_number(json, "launches", stage.launches);
		json_close(json, "}");
	}
	json_close(json, "]");
}

/*
 * Writes one row for each bin: its states in the order of the split, bytes uploaded and downloaded,
 * calls.
 */
static void add_activity(const struct report *report, struct json *json)
{
	if (!report->aligned || report->stages == NULL) {
		json_null(json, "activity");
		return;
	}
	const struct strip *strip = &report->stages->strip;
	json_open(json, "activity", "{");
	json_number(json, "bin_ns", strip->width);
	json_open(json, "bins", "[");
	for (size_t i = 0; i < strip->bins; i++) {
		const struct strip_bin *bin = &strip->bin[i];
		uint64_t row[SPLIT_PARTS + STRIP_COUNTS];

		memcpy(row, bin->state_ns, sizeof(bin->state_ns));
		memcpy(row + SPLIT_PARTS, bin->count, sizeof(bin->count));
		json_row(json, row, HP_LEN(row));
	}
	json_close(json, "]");
	json_close(json, "}");
}

static void add_split(const struct report *report, struct json *json)
{
	const struct split_sum *split = &report->split;
	bool known = report->aligned;

	json_number(json, "wall_ns", split->wall_ns);
	if (known) {
		add_states(json, split);
	} else {
		json_null(json, "split");
	}
	json_text(json, "split_why", known ? "" : report->split_why);

	json_open(json, "host", "{");
	json_number(json, "copy_calls_ns", split->layer_ns[SPLIT_COPY_CALL]);
	json_known(json, "copying_ns", known, split->call_copying_ns);
	json_known(json, "waiting_for_kernels_ns", known, split->call_waiting_ns);
	json_known(json, "overhead_ns", known, split->call_overhead_ns);
	add_staging(report, json);
	json_number(json, "waits", report->calls.waits);
	json_number(json, "waits_ns", split->layer_ns[SPLIT_WAIT]);
	json_number(json, "launches", report->calls.kernels);
	json_number(json, "graph_launches", report->calls.graphs);
	json_number(json, "captured_copies", report->calls.captured);
	json_known(json, "threads", calls_functions() > 0, calls_threads());
	json_close(json, "}");
}

static void add_row(struct json *json, const char *view, const char *direction, const char *memory)
{
	json_open(json, NULL, "{");
	json_text(json, "view", view);
	json_text(json, "direction", direction);
	json_text(json, "memory", memory);
}

static void add_sizes(struct json *json, const struct sizes *sizes)
{
	json_open(json, "sizes", "[");
	for (unsigned bin = 0; bin < SIZES_BINS; bin++) {
		if (sizes->bin[bin].count == 0)
			continue;
		json_open(json, NULL, "{");
		json_number(json, "from_bytes", sizes_from(bin));
		json_number(json, "count", sizes->bin[bin].count);
		json_number(json, "bytes", sizes->bin[bin].bytes);
		json_number(json, "busy_ns", sizes->bin[bin].ns);
		json_close(json, "}");
	}
	json_close(json, "]");
}

static void add_device_transfers(const struct aggregate *device, struct json *json)
{
	for (int direction = 0; direction < AGGREGATE_DIRECTIONS; direction++) {
		for (int memory = 0; memory < AGGREGATE_MEMORIES; memory++) {
			const struct aggregate_sum *sum = &device->copies[direction][memory];

			if (sum->count == 0)
				continue;
			add_row(json, "cupti", report_directions[direction],
				report_device_memories[memory]);
			json_number(json, "count", sum->count);
			json_number(json, "bytes", sum->bytes);
			json_known(json, "busy_ns", sum->busy_ns != 0, sum->busy_ns);
			json_number(json, "untimed_bytes", sum->untimed_bytes);
			if (memory == AGGREGATE_STAGED)
				json_number(json, "pieces", device->pieces[direction]);
			add_sizes(json, &device->sizes[direction][memory]);
			json_close(json, "}");
		}
	}
}

static void add_host_transfers(const struct hostcalls *calls, struct json *json)
{
	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++) {
		for (int memory = 0; memory < TRACE_MEMORIES; memory++) {
			const struct hostcalls_sum *sum = &calls->copies[direction][memory];

			if (sum->count == 0)
				continue;
			add_row(json, "hotpin", report_directions[direction],
				report_host_memories[memory]);
			json_number(json, "count", sum->count);
			json_number(json, "bytes", sum->bytes);
			json_number(json, "host_ns", sum->host_ns);
			json_number(json, "sync_count", sum->sync_count);
			json_number(json, "sync_bytes", sum->sync_bytes);
			json_number(json, "sync_ns", sum->sync_ns);
			add_sizes(json, &calls->sizes[direction][memory]);
			json_close(json, "}");
		}
	}
}

static void add_coverage(const struct report *report, struct json *json)
{
	struct report_bus bus;

	report_bus_read(report, &bus);
	json_open(json, "coverage", "{");
	json_number(json, "hotpin_copies", bus.our_count);
	json_number(json, "hotpin_bytes", bus.our_bytes);
	json_known(json, "cupti_copies", report->device, bus.their_count);
	json_known(json, "cupti_bytes", report->device, bus.their_bytes);
	json_close(json, "}");

	json_open(json, "promotion", "{");
	json_number(json, "promoted_bytes", bus.promoted_bytes);
	json_known(json, "program_pinned_bytes", !bus.own_unknown, bus.own_pinned_bytes);
	json_known(json, "cupti_pinned_bytes", report->device, bus.their_pinned_bytes);
	json_close(json, "}");
}

static void add_sum(struct json *json, const char *name, const struct aggregate_sum *sum)
{
	json_open(json, name, "{");
	json_number(json, "count", sum->count);
	json_number(json, "bytes", sum->bytes);
	json_known(json, "busy_ns", sum->count == 0 || sum->busy_ns != 0, sum->busy_ns);
	json_close(json, "}");
}

static void add_kernels(const struct aggregate *device, struct json *json)
{
	if (device == NULL) {
		json_null(json, "memsets");
		json_null(json, "kernel_runs");
		json_null(json, "devices");
		json_null(json, "kernels");
		return;
	}
	add_sum(json, "memsets", &device->memsets);
	add_sum(json, "kernel_runs", &device->launches);
	json_number(json, "devices", (uint64_t)__builtin_popcountll(device->device_mask));
	json_open(json, "kernels", "[");
	for (size_t i = 0; i <= AGGREGATE_KERNELS_MOST; i++) {
		const struct aggregate_kernel *kernel = &device->kernels[i];

		if (kernel->count == 0)
			continue;
		json_open(json, NULL, "{");
		json_text(json, "name", kernel->name);
		json_number(json, "count", kernel->count);
		json_number(json, "busy_ns", kernel->busy_ns);
		json_number(json, "longest_ns", kernel->most_ns);
		json_close(json, "}");
	}
	json_close(json, "]");
}

static void add_records(const struct report *report, struct json *json)
{
	const struct aggregate *device = report->collected.device;

	if (!report->device || report->no_device) {
		json_null(json, "records");
		return;
	}
	json_open(json, "records", "{");
	json_number(json, "read", device->records);
	json_number(json, "dropped", report->collected.dropped);
	json_number(json, "buffers", report->collected.buffers.requested);
	json_number(json, "buffers_discarded", report->collected.buffers.discarded);
	json_number(json, "incomplete", device->incomplete);
	json_number(json, "untimed", device->untimed);
	json_number(json, "outside_run", device->outside);
	json_number(json, "unknown_kinds", device->unknown_kinds);
	json_number(json, "late_ns", report->split.late_ns);
	json_close(json, "}");
}

static void add_calls(struct json *json)
{
	if (calls_functions() == 0) {
		json_null(json, "calls");
		return;
	}
	json_open(json, "calls", "[");
	for (size_t i = 0; i < calls_functions(); i++) {
		struct calls_sum sum;

		calls_read(i, &sum);
		if (sum.count == 0)
			continue;
		json_open(json, NULL, "{");
		json_text(json, "name", calls_name(i));
		json_text(json, "class", call_class_names[call_class_of(calls_name(i))]);
		json_number(json, "count", sum.count);
		json_number(json, "total_ns", sum.total_ns);
		json_number(json, "longest_ns", sum.longest_ns);
		json_close(json, "}");
	}
	json_close(json, "]");
}

static void add_tail(const struct report *report, struct json *json)
{
	json_open(json, "overhead", "{");
	json_number(json, "start_ns", report->start_ns);
	json_number(json, "callbacks_ns", report->collected.buffers.callback_ns);
	json_number(json, "appends_ns", report->calls.append_ns);
	json_known(json, "background_ns", report->collected.device != NULL,
		   report->collected.background_ns + python_sampler_cost_ns());
	json_close(json, "}");

	json_open(json, "counters", "{");
	for (int counter = 0; counter < HP_COUNTER_COUNT; counter++)
		json_number(json, hp_counter_names[counter],
			    atomic_load_explicit(&hp_counters[counter], memory_order_relaxed));
	json_close(json, "}");

	json_open(json, "warnings", "[");
	for (size_t i = 0; i < report->warnings; i++)
		json_text(json, NULL, report->warning[i]);
	json_close(json, "]");
	json_bool(json, "truncated", report->truncated);
}

void emit_json(const struct report *report, struct writer *writer)
{
	struct json json = { .writer = writer };

	/* Other fields refer to a site by its index. */
	sites_hold(true);
	json_open(&json, NULL, "{");
	add_head(report, &json);
	add_split(report, &json);
	add_activity(report, &json);
	json_open(&json, "transfers", "[");
	if (report->device)
		add_device_transfers(report->collected.device, &json);
	add_host_transfers(&report->calls, &json);
	json_close(&json, "]");
	add_coverage(report, &json);
	add_kernels(report->device ? report->collected.device : NULL, &json);
	add_calls(&json);
	emit_lists(report, &json);
	add_whatif(report, &json);
	add_stages(report, &json);
	emit_events(report, &json);
	add_clock(report, &json);
	add_records(report, &json);
	add_tail(report, &json);
	json_close(&json, "}");
	sites_hold(false);
	writer_put(writer, "\n");
}
