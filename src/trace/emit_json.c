/*
 * emit_json.c - the profile for programs.
 *
 * Integers in nanoseconds and bytes, null for what is unknown; valid for any name, because what
 * is not UTF-8 becomes U+FFFD.  Fields may be added, none is taken away within one major version.
 */
#include "base/counters.h"
#include "base/options.h"
#include "base/units.h"
#include "trace/report.h"

#include <string.h>

#define DEPTH_MOST 8

struct json {
	struct writer *writer;
	unsigned depth;
	bool filled[DEPTH_MOST]; /* something stands at this depth already */
};

static void separate(struct json *json)
{
	if (json->filled[json->depth])
		writer_put(json->writer, ",");
	if (json->depth > 0)
		writer_put(json->writer, "\n%.*s", (int)json->depth, "\t\t\t\t\t\t\t\t");
	json->filled[json->depth] = true;
}

static void string(struct json *json, const char *text)
{
	size_t length = strlen(text);

	writer_put(json->writer, "\"");
	for (size_t at = 0; at < length;) {
		size_t bytes = units_printable(text + at, length - at);
		unsigned char byte = (unsigned char)text[at];

		if (bytes == 1 && (byte == '"' || byte == '\\'))
			writer_put(json->writer, "\\%c", byte);
		else if (bytes > 0)
			writer_bytes(json->writer, text + at, bytes);
		else if (byte < 0x20 || byte == 0x7f)
			writer_put(json->writer, "\\u%04x", byte);
		else
			writer_put(json->writer, "\\ufffd");
		at += bytes > 0 ? bytes : 1;
	}
	writer_put(json->writer, "\"");
}

static void key(struct json *json, const char *name)
{
	separate(json);
	if (name == NULL)
		return;
	string(json, name);
	writer_put(json->writer, ": ");
}

static void open_with(struct json *json, const char *name, const char *bracket)
{
	key(json, name);
	writer_put(json->writer, "%s", bracket);
	json->filled[++json->depth] = false;
}

static void close_with(struct json *json, const char *bracket)
{
	bool filled = json->filled[json->depth--];

	if (filled)
		writer_put(json->writer, "\n%.*s", (int)json->depth, "\t\t\t\t\t\t\t\t");
	writer_put(json->writer, "%s", bracket);
}

static void add_number(struct json *json, const char *name, uint64_t value)
{
	key(json, name);
	writer_put(json->writer, "%llu", (unsigned long long)value);
}

static void add_signed(struct json *json, const char *name, int64_t value)
{
	key(json, name);
	writer_put(json->writer, "%lld", (long long)value);
}

static void add_null(struct json *json, const char *name)
{
	key(json, name);
	writer_put(json->writer, "null");
}

static void add_known(struct json *json, const char *name, bool known, uint64_t value)
{
	if (known)
		add_number(json, name, value);
	else
		add_null(json, name);
}

static void add_bool(struct json *json, const char *name, bool value)
{
	key(json, name);
	writer_put(json->writer, "%s", value ? "true" : "false");
}

/* "" is unknown. */
static void add_text(struct json *json, const char *name, const char *value)
{
	if (value[0] == '\0') {
		add_null(json, name);
		return;
	}
	key(json, name);
	string(json, value);
}

static void add_option(const struct hp_option_row *row, void *arg)
{
	struct json *json = arg;

	key(json, row->variable);
	string(json, row->value);
}

static void add_head(const struct report *report, struct json *json)
{
	const struct place *place = &report->place;
	bool loaded = report->cupti->handle != NULL;

	add_text(json, "schema", "hotpin.profile");
	add_text(json, "schema_version", "1.0");
	add_text(json, "stage", report->stage);

	open_with(json, "process", "{");
	add_number(json, "pid", (uint64_t)place->pid);
	add_text(json, "program", place->program);
	add_text(json, "host", place->host);
	add_text(json, "rank", place->rank);
	add_text(json, "ended_utc", place->time);
	close_with(json, "}");

	open_with(json, "environment", "{");
	add_text(json, "device", report->device_name);
	add_known(json, "driver_version", report->driver_version != 0,
		  (uint64_t)report->driver_version);
	add_bool(json, "stand_in", report->on_stand_in);
	add_known(json, "cupti_version", loaded && report->cupti->version != 0,
		  report->cupti->version);
	add_text(json, "cupti_path", loaded ? report->cupti->path : "");
	add_known(json, "peak_h2d_bytes_per_s", report->peak[TRACE_H2D] != 0,
		  report->peak[TRACE_H2D]);
	add_known(json, "peak_d2h_bytes_per_s", report->peak[TRACE_D2H] != 0,
		  report->peak[TRACE_D2H]);
	close_with(json, "}");

	open_with(json, "backend", "{");
	add_text(json, "kind", report->device ? "cupti" : "interpose");
	add_text(json, "why", report->why_not);
	close_with(json, "}");

	open_with(json, "options", "{");
	hp_options_each(add_option, json);
	close_with(json, "}");
}

static void add_clock(const struct report *report, struct json *json)
{
	const struct clockmap *clock;

	if (!report->device || !report->collected.device->clock.anchored) {
		add_null(json, "clock");
		return;
	}
	clock = &report->collected.device->clock;
	open_with(json, "clock", "{");
	add_signed(json, "offset_ns", clock->last.offset_ns);
	add_number(json, "gap_ns", clock->last.gap_ns);
	add_signed(json, "drift_ppb", clockmap_drift_ppb(clock));
	add_number(json, "largest_step_ns", clock->most_step_ns);
	close_with(json, "}");
}

static void add_split(const struct report *report, struct json *json)
{
	const struct split_sum *split = &report->split;
	bool known = report->aligned;

	add_number(json, "wall_ns", split->wall_ns);
	if (known) {
		open_with(json, "split", "{");
		add_number(json, "cpu_ns", split->cpu_ns);
		add_number(json, "transfer_ns", split->transfer_ns);
		add_number(json, "kernel_ns", split->kernel_ns);
		add_number(json, "overlap_ns", split->overlap_ns);
		add_number(json, "idle_ns", split->idle_ns);
		close_with(json, "}");
	} else {
		add_null(json, "split");
	}

	open_with(json, "host", "{");
	add_number(json, "copy_calls_ns", split->layer_ns[SPLIT_COPY_CALL]);
	add_known(json, "copying_ns", known, split->call_copying_ns);
	add_known(json, "waiting_for_kernels_ns", known, split->call_waiting_ns);
	add_known(json, "overhead_ns", known, split->call_overhead_ns);
	add_number(json, "waits", report->calls.waits);
	add_number(json, "waits_ns", split->layer_ns[SPLIT_WAIT]);
	add_number(json, "launches", report->calls.kernels);
	add_number(json, "graph_launches", report->calls.graphs);
	add_number(json, "captured_copies", report->calls.captured);
	close_with(json, "}");
}

static void add_row(struct json *json, const char *view, const char *direction, const char *memory)
{
	open_with(json, NULL, "{");
	add_text(json, "view", view);
	add_text(json, "direction", direction);
	add_text(json, "memory", memory);
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
			add_number(json, "count", sum->count);
			add_number(json, "bytes", sum->bytes);
			add_known(json, "busy_ns", sum->busy_ns != 0, sum->busy_ns);
			add_number(json, "untimed_bytes", sum->untimed_bytes);
			close_with(json, "}");
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
			add_number(json, "count", sum->count);
			add_number(json, "bytes", sum->bytes);
			add_number(json, "host_ns", sum->host_ns);
			add_number(json, "sync_count", sum->sync_count);
			add_number(json, "sync_bytes", sum->sync_bytes);
			add_number(json, "sync_ns", sum->sync_ns);
			close_with(json, "}");
		}
	}
}

static void add_coverage(const struct report *report, struct json *json)
{
	struct report_bus bus;

	report_bus_read(report, &bus);
	open_with(json, "coverage", "{");
	add_number(json, "hotpin_copies", bus.our_count);
	add_number(json, "hotpin_bytes", bus.our_bytes);
	add_known(json, "cupti_copies", report->device, bus.their_count);
	add_known(json, "cupti_bytes", report->device, bus.their_bytes);
	close_with(json, "}");

	open_with(json, "promotion", "{");
	add_number(json, "promoted_bytes", bus.promoted_bytes);
	add_number(json, "program_pinned_bytes", bus.own_pinned_bytes);
	add_known(json, "cupti_pinned_bytes", report->device, bus.their_pinned_bytes);
	close_with(json, "}");
}

static void add_sum(struct json *json, const char *name, const struct aggregate_sum *sum)
{
	open_with(json, name, "{");
	add_number(json, "count", sum->count);
	add_number(json, "bytes", sum->bytes);
	add_known(json, "busy_ns", sum->count == 0 || sum->busy_ns != 0, sum->busy_ns);
	close_with(json, "}");
}

static void add_kernels(const struct aggregate *device, struct json *json)
{
	if (device == NULL) {
		add_null(json, "memsets");
		add_null(json, "kernel_runs");
		add_null(json, "devices");
		add_null(json, "kernels");
		return;
	}
	add_sum(json, "memsets", &device->memsets);
	add_sum(json, "kernel_runs", &device->launches);
	add_number(json, "devices", (uint64_t)__builtin_popcountll(device->device_mask));
	open_with(json, "kernels", "[");
	for (size_t i = 0; i <= AGGREGATE_KERNELS_MOST; i++) {
		const struct aggregate_kernel *kernel = &device->kernels[i];

		if (kernel->count == 0)
			continue;
		open_with(json, NULL, "{");
		add_text(json, "name", kernel->name);
		add_number(json, "count", kernel->count);
		add_number(json, "busy_ns", kernel->busy_ns);
		add_number(json, "longest_ns", kernel->most_ns);
		close_with(json, "}");
	}
	close_with(json, "]");
}

static void add_records(const struct report *report, struct json *json)
{
	const struct aggregate *device = report->collected.device;

	if (!report->device) {
		add_null(json, "records");
		return;
	}
	open_with(json, "records", "{");
	add_number(json, "read", device->records);
	add_number(json, "dropped", report->collected.dropped);
	add_number(json, "buffers", report->collected.buffers.requested);
	add_number(json, "buffers_discarded", report->collected.buffers.discarded);
	add_number(json, "incomplete", device->incomplete);
	add_number(json, "untimed", device->untimed);
	add_number(json, "outside_run", device->outside);
	add_number(json, "unknown_kinds", device->unknown_kinds);
	add_number(json, "late_ns", report->split.late_ns);
	close_with(json, "}");
}

static void add_tail(const struct report *report, struct json *json)
{
	open_with(json, "overhead", "{");
	add_number(json, "start_ns", report->start_ns);
	add_number(json, "callbacks_ns", report->collected.buffers.callback_ns);
	add_number(json, "appends_ns", report->calls.append_ns);
	add_known(json, "background_ns", report->collected.device != NULL,
		  report->collected.background_ns);
	close_with(json, "}");

	if (report->call_names != NULL) {
		open_with(json, "calls", "{");
		for (const struct trace_call *call = report->call_names; call->name != NULL; call++)
			add_number(json, call->name, call->count);
		close_with(json, "}");
	} else {
		add_null(json, "calls");
	}

	open_with(json, "counters", "{");
	for (int counter = 0; counter < HP_COUNTER_COUNT; counter++)
		add_number(json, hp_counter_names[counter],
			   atomic_load_explicit(&hp_counters[counter], memory_order_relaxed));
	close_with(json, "}");

	open_with(json, "warnings", "[");
	for (size_t i = 0; i < report->warnings; i++)
		add_text(json, NULL, report->warning[i]);
	close_with(json, "]");
	add_bool(json, "truncated", report->truncated);
}

void report_json(const struct report *report, struct writer *writer)
{
	struct json json = { .writer = writer };

	open_with(&json, NULL, "{");
	add_head(report, &json);
	add_split(report, &json);
	open_with(&json, "transfers", "[");
	if (report->device)
		add_device_transfers(report->collected.device, &json);
	add_host_transfers(&report->calls, &json);
	close_with(&json, "]");
	add_coverage(report, &json);
	add_kernels(report->device ? report->collected.device : NULL, &json);
	add_clock(report, &json);
	add_records(report, &json);
	add_tail(report, &json);
	close_with(&json, "}");
	writer_put(writer, "\n");
}
