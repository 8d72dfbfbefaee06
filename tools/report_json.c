/*
 * report_json.c - writes the report as JSON for programs.
 *
 * The figures are those of the text, but exact, with null for unknown ones; places have names.
 */
#include "report_json.h"
#include "advice_json.h"
#include "host_code.h"
#include "names.h"
#include "order.h"
#include "places.h"
#include "python_lines.h"
#include "show.h"
#include "base/parse.h"

#include <jansson.h>
#include <stdio.h>

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void set_number(json_t *object, const char *key, int64_t value)
{
	set(object, key, value < 0 ? json_null() : json_integer(value));
}

/* File names need not be UTF-8. */
static void set_text(json_t *object, const char *key, const char *value)
{
	json_t *made = value != NULL ? json_string(value) : json_null();

	set(object, key, made != NULL ? made : json_string(show_text(value, 300)));
}

static json_t *place_of(const struct profile *profile, const struct profile_frame *frame)
{
	if (frame == NULL)
		return json_null();
	json_t *made = json_object();
	set_text(made, "function", frame->function);
	set_text(made, "file", frame->path);
	set_number(made, "line", frame->path != NULL ? frame->number : UNKNOWN);
	set_text(made, "module", frame->module >= 0 ? profile->modules[frame->module].path : NULL);
	set_number(made, "offset", frame->offset);
	set(made, "likely", json_boolean(frame->guessed));
	return made;
}

static json_t *frames_of(const struct profile *profile, const struct profile_frames *frames)
{
	json_t *made = json_array();

	for (size_t i = 0; i < frames->count; i++)
		json_array_append_new(made, place_of(profile, &frames->items[i]));
	return made;
}

/* Returns a list of sorted items, each made by `make`; null if the profile has no `list`. */
static json_t *list_of(const struct profile *profile, const void *list, const void *sorted,
		       size_t count, json_t *(*make)(const struct profile *profile, const void *of))
{
	if (list == NULL)
		return json_null();
	json_t *made = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(made, make(profile, ((const void *const *)sorted)[i]));
	return made;
}

static json_t *copy_of(const struct profile *profile, const void *of)
{
	const struct profile_transfer *row = of;
	json_t *made = json_object();

	(void)profile;
	set_text(made, "view", row->view);
	set_text(made, "direction", row->direction);
	set_text(made, "memory", row->memory);
	set_number(made, "count", row->count);
	set_number(made, "bytes", row->bytes);
	set_number(made, "busy_ns", row->busy_ns);
	set_number(made, "host_ns", row->host_ns);
	return made;
}

static json_t *call_of(const struct profile *profile, const void *of)
{
	const struct profile_call *call = of;
	json_t *made = json_object();

	(void)profile;
	set_text(made, "name", call->name);
	set_text(made, "class", call->class);
	set_number(made, "count", call->count);
	set_number(made, "total_ns", call->total_ns);
	set_number(made, "longest_ns", call->longest_ns);
	return made;
}

static json_t *kernel_of(const struct profile *profile, const void *of)
{
	const struct profile_kernel *kernel = of;
	json_t *made = json_object();

	(void)profile;
	set_text(made, "name", kernel->readable);
	set_number(made, "count", kernel->count);
	set_number(made, "busy_ns", kernel->busy_ns);
	set_number(made, "longest_ns", kernel->longest_ns);
	return made;
}

static json_t *gap_end_of(const struct profile *profile, const struct profile_gap_end *end)
{
	if (end->call == NULL)
		return json_null();
	json_t *made = json_object();
	set_text(made, "call", end->call);
	set(made, "place", place_of(profile, names_frame(profile, &end->frames, false)));
	return made;
}

static json_t *gap_of(const struct profile *profile, const void *of)
{
	const struct profile_gap *gap = of;
	json_t *made = json_object();

	set(made, "before", gap_end_of(profile, &gap->before));
	set(made, "after", gap_end_of(profile, &gap->after));
	set_number(made, "count", gap->count);
	set_number(made, "total_ns", gap->total_ns);
	set_number(made, "longest_ns", gap->longest_ns);
	return made;
}

static json_t *row_of(const struct profile *profile, const void *of)
{
	const struct profile_row *row = of;
	json_t *made = json_object();

	(void)profile;
	set_text(made, "direction", row->direction);
	set_text(made, "memory", row->memory);
	set_number(made, "count", row->count);
	set_number(made, "bytes", row->bytes);
	set_number(made, "host_ns", row->host_ns);
	set_number(made, "sync_count", row->sync_count);
	set_number(made, "sync_ns", row->sync_ns);
	return made;
}

/* Returns where the main thread was; null if unknown. */
static json_t *main_thread_of(const struct profile *profile, const struct profile_site *site)
{
	if (site->mains == NULL)
		return json_null();
	json_t *made = json_object(), *places = json_array();
	for (size_t i = 0; i < site->main_count; i++) {
		const struct profile_main *seen = &site->mains[i];
		json_t *place = json_object();

		set_number(place, "looks", seen->looks);
		set(place, "place", place_of(profile, names_frame(profile, &seen->frames, false)));
		json_array_append_new(places, place);
	}
	set_number(made, "looks", site->main_looks);
	set(made, "places", places);
	return made;
}

static json_t *site_of(const struct profile *profile, const void *of)
{
	const struct profile_site *site = of;
	json_t *made = json_object();

	set(made, "place", place_of(profile, names_frame(profile, &site->frames, false)));
	set(made, "frames", frames_of(profile, &site->frames));
	set(made, "main_thread", main_thread_of(profile, site));
	set(made, "folded", json_boolean(site->folded));
	set(made, "rows",
	    list_of(profile, site->rows, order_rows(profile, site), site->row_count, row_of));
	return made;
}

static json_t *launch_of(const struct profile *profile, const void *of)
{
	const struct profile_launch *launch = of;
	json_t *made = json_object();

	set(made, "place", place_of(profile, names_frame(profile, &launch->frames, false)));
	set(made, "frames", frames_of(profile, &launch->frames));
	set_number(made, "count", launch->count);
	set_number(made, "host_ns", launch->host_ns);
	set_number(made, "kernels", launch->kernels);
	set_number(made, "device_ns", launch->device_ns);
	set_number(made, "estimated_ns", launch->estimated_ns);
	return made;
}

static json_t *sum_of(const struct profile_sum *sum)
{
	json_t *made = json_object();

	set_number(made, "count", sum->count);
	set_number(made, "bytes", sum->bytes);
	set_number(made, "host_ns", sum->host_ns);
	return made;
}

static json_t *buffer_of(const struct profile *profile, const void *of)
{
	const struct profile_buffer *buffer = of;
	json_t *made = json_object();

	set_text(made, "kind", buffer->kind);
	set(made, "place", place_of(profile, names_frame(profile, &buffer->frames, true)));
	set(made, "frames", frames_of(profile, &buffer->frames));
	set_number(made, "largest_bytes", buffer->largest_bytes);
	set(made, "h2d", sum_of(&buffer->h2d));
	set(made, "d2h", sum_of(&buffer->d2h));
	set_number(made, "promoted_bytes", buffer->promoted_bytes);
	set_number(made, "pins", buffer->pins);
	set_number(made, "pin_ns", buffer->pin_ns);
	set_number(made, "saved_ns", buffer->saved_ns);
	set_number(made, "could_save_ns", buffer->could_save_ns);
	return made;
}

/* Returns the function with its name, if reliable, and with the line that has most samples. */
static json_t *function_of(const struct profile *profile, const struct host_function *function)
{
	const struct profile_frame *frame = function->frame, *line = function->line;
	bool named = host_code_has_name(profile, frame);
	json_t *made = json_object();

	set_text(made, "function", named ? frame->function : NULL);
	set_text(made, "file", named && line != NULL ? line->path : NULL);
	set_number(made, "line",
		   named && line != NULL && line->path != NULL ? line->number : UNKNOWN);
	set_text(made, "module", frame->module >= 0 ? profile->modules[frame->module].path : NULL);
	set_number(made, "self_samples", function->self);
	set_number(made, "total_samples", function->total);
	set_number(made, "self_ns", host_code_ns(profile, function->self));
	set_number(made, "total_ns", host_code_ns(profile, function->total));
	return made;
}

static json_t *samples_of(struct profile *profile)
{
	struct host_code code;

	if (profile->samples == NULL)
		return json_null();
	json_t *made = json_array();
	host_code_sum(profile, &code);
	for (size_t i = 0; i < code.function_count; i++) {
		host_code_look_closer(&code, code.order[i]);
		json_array_append_new(made, function_of(profile, code.order[i]));
	}
	return made;
}

static json_t *python_of(struct profile *profile)
{
	struct python_line *lines;
	int64_t all_ns;
	size_t count = python_lines(profile, &lines, &all_ns);
	json_t *made = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *line = json_object();

		set(line, "place", place_of(profile, lines[i].frame));
		set_number(line, "samples", lines[i].samples);
		set_number(line, "cpu_ns", lines[i].cpu_ns);
		json_array_append_new(made, line);
	}
	return made;
}

static json_t *split_of(const struct profile_split *split)
{
	if (split->host_ns < 0)
		return json_null();
	json_t *made = json_object();
	set_number(made, "host_ns", split->host_ns);
	set_number(made, "startup_ns", split->startup_ns);
	set_number(made, "calls_ns", split->calls_ns);
	set_number(made, "transfer_ns", split->transfer_ns);
	set_number(made, "kernel_ns", split->kernel_ns);
	set_number(made, "overlap_ns", split->overlap_ns);
	return made;
}

static json_t *host_of(const struct profile *profile)
{
	json_t *made = json_object();

	set_number(made, "copy_calls_ns", profile->host.copy_calls_ns);
	set_number(made, "copying_ns", profile->host.copying_ns);
	set_number(made, "waiting_for_kernels_ns", profile->host.waiting_for_kernels_ns);
	set_number(made, "overhead_ns", profile->host.overhead_ns);
	set_number(made, "waits", profile->host.waits);
	set_number(made, "waits_ns", profile->host.waits_ns);
	set_number(made, "launches", profile->host.launches);
	return made;
}

static json_t *sampling_of(const struct profile *profile)
{
	json_t *made = json_object();

	set_text(made, "mode", profile->sampling.mode);
	set_text(made, "why", profile->sampling.why);
	set_number(made, "hz", profile->sampling.hz);
	return made;
}

static json_t *warnings_of(const struct profile *profile)
{
	json_t *made = json_array();

	for (size_t i = 0; i < profile->warning_count; i++)
		json_array_append_new(made, json_string(profile->warnings[i]));
	return made;
}

static json_t *advice_of(const struct profile *profile)
{
	static struct advice_list list;

	advice_make(profile, &list);
	return advice_list_json(profile, &list);
}

static json_t *run_of(struct profile *profile)
{
	json_t *made = json_object();
	json_t *sites = list_of(profile, profile->sites, order_sites(profile), profile->site_count,
				site_of);

	/* The list has all sites; the advice is the same as in the text. */
	places_merge_sites(profile, 1);
	set_text(made, "profile", profile->path);
	set_text(made, "profile_version", profile->schema_version);
	set_text(made, "program", profile->process.program);
	set_text(made, "stage", profile->stage);
	set_text(made, "rank", profile->process.rank);
	set_text(made, "host_name", profile->process.host);
	set_text(made, "device", profile->environment.device);
	set_text(made, "backend", profile->backend.kind);
	set_text(made, "state", profile->state);
	set_number(made, "exit_status", profile->process.exit_status);
	set_text(made, "other_build", profile->other_build);
	set(made, "warnings", warnings_of(profile));
	set_number(made, "wall_ns", profile->wall_ns);
	set(made, "split", split_of(&profile->split));
	set_text(made, "split_why", profile->split_why);
	set(made, "advice", advice_of(profile));
	set(made, "host", host_of(profile));
	set(made, "copies",
	    list_of(profile, profile->transfers, order_transfers(profile), profile->transfer_count,
		    copy_of));
	set(made, "kernels",
	    list_of(profile, profile->kernels, order_kernels(profile), profile->kernel_count,
		    kernel_of));
	set(made, "calls",
	    list_of(profile, profile->calls, order_calls(profile), profile->call_count, call_of));
	set(made, "gaps",
	    list_of(profile, profile->gaps, order_gaps(profile), profile->gap_count, gap_of));
	set(made, "sampling", sampling_of(profile));
	set(made, "samples", samples_of(profile));
	if (profile->python != NULL)
		set(made, "python_lines", python_of(profile));
	set(made, "sites", sites);
	set(made, "launches",
	    list_of(profile, profile->launches, order_launches(profile), profile->launch_count,
		    launch_of));
	set(made, "buffers",
	    list_of(profile, profile->buffers, order_buffers(profile), profile->buffer_count,
		    buffer_of));
	return made;
}

void report_json(struct profile *profiles, size_t count)
{
	json_t *made = json_object(), *runs = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(runs, run_of(&profiles[i]));
	set_text(made, "schema", "hotpin.report");
	set_text(made, "schema_version", "1.0");
	set(made, "runs", runs);
	json_dumpf(made, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(made);
}
