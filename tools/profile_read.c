/*
 * profile_read.c - reads the fields of a profile.
 *
 * The file may be of another user's program, so indices are checked here, once for all readers.
 * Fields that a newer 2.x added are ignored.
 */
#include "profile_read.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

static void read_split(struct reader *reader, json_t *parent, struct profile_split *ret)
{
	static const struct reader_field fields[] = {
		NUMBER_OF(profile_split, host_ns),   NUMBER_OF(profile_split, startup_ns),
		NUMBER_OF(profile_split, calls_ns),  NUMBER_OF(profile_split, transfer_ns),
		NUMBER_OF(profile_split, kernel_ns), NUMBER_OF(profile_split, overlap_ns),
	};

	reader_part(reader, parent, "split", fields, HP_LEN(fields), ret);
	if (ret->host_ns < 0 || ret->startup_ns < 0 || ret->calls_ns < 0 || ret->transfer_ns < 0 ||
	    ret->kernel_ns < 0 || ret->overlap_ns < 0)
		*ret = (struct profile_split){
			UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN
		};
}

static void read_sum(struct reader *reader, json_t *parent, const char *name,
		     struct profile_sum *ret)
{
	static const struct reader_field fields[] = {
		NUMBER_OF(profile_sum, count),
		NUMBER_OF(profile_sum, bytes),
		NUMBER_OF(profile_sum, host_ns),
	};

	reader_part(reader, parent, name, fields, HP_LEN(fields), ret);
}

static void read_size(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		NUMBER_OF(profile_size, from_bytes),
		NUMBER_OF(profile_size, count),
		NUMBER_OF(profile_size, bytes),
		NUMBER_OF(profile_size, busy_ns),
	};

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), to);
}

static void read_transfer(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		TEXT_OF(profile_transfer, view),         TEXT_OF(profile_transfer, direction),
		TEXT_OF(profile_transfer, memory),       NUMBER_OF(profile_transfer, count),
		NUMBER_OF(profile_transfer, bytes),      NUMBER_OF(profile_transfer, busy_ns),
		NUMBER_OF(profile_transfer, pieces),     NUMBER_OF(profile_transfer, untimed_bytes),
		NUMBER_OF(profile_transfer, host_ns),    NUMBER_OF(profile_transfer, sync_count),
		NUMBER_OF(profile_transfer, sync_bytes), NUMBER_OF(profile_transfer, sync_ns),
	};
	struct profile_transfer *transfer = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), transfer);
	if (transfer->view == NULL || transfer->direction == NULL || transfer->memory == NULL)
		reader_complain(reader, "%sview, direction or memory is missing", reader->where);
	transfer->sizes = reader_short_list(reader, value, "sizes", sizeof(*transfer->sizes),
					    read_size, &transfer->size_count);
}

static void read_kernel(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		TEXT_OF(profile_kernel, name),
		NUMBER_OF(profile_kernel, count),
		NUMBER_OF(profile_kernel, busy_ns),
		NUMBER_OF(profile_kernel, longest_ns),
	};

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), to);
}

static void read_module(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		NAME_OF(profile_module, path),
		TEXT_OF(profile_module, build_id),
	};

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), to);
}

static void read_row(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		TEXT_OF(profile_row, direction), TEXT_OF(profile_row, memory),
		NUMBER_OF(profile_row, count),   NUMBER_OF(profile_row, bytes),
		NUMBER_OF(profile_row, host_ns), NUMBER_OF(profile_row, sync_count),
		NUMBER_OF(profile_row, sync_ns),
	};
	struct profile_row *row = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), row);
	if (row->direction == NULL || row->memory == NULL)
		reader_complain(reader, "%sdirection or memory is missing", reader->where);
}

/* Reads frames of Python; native frames, which come last, do not belong there. */
static void read_python_frames(struct reader *reader, json_t *value, struct profile_frames *ret)
{
	profile_read_frames(reader, value, ret);
	while (ret->count > 0 && !ret->items[ret->count - 1].is_python)
		ret->count--;
}

static void read_site(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field folded = { "folded", FLAG,
						    offsetof(struct profile_site, folded) };
	struct profile_site *site = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, &folded, 1, site);
	profile_read_frames(reader, value, &site->frames);
	site->rows = reader_short_list(reader, value, "rows", sizeof(*site->rows), read_row,
				       &site->row_count);
}

static void read_gap_end(struct reader *reader, json_t *gap, const char *name,
			 struct profile_gap_end *ret)
{
	static const struct reader_field fields[] = { TEXT_OF(profile_gap_end, call) };
	json_t *value = json_object_get(gap, name);

	reader_part(reader, gap, name, fields, HP_LEN(fields), ret);
	if (json_is_object(value))
		profile_read_frames(reader, value, &ret->frames);
}

static void read_gap(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		NUMBER_OF(profile_gap, count),
		NUMBER_OF(profile_gap, total_ns),
		NUMBER_OF(profile_gap, longest_ns),
	};
	struct profile_gap *gap = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), gap);
	read_gap_end(reader, value, "before", &gap->before);
	read_gap_end(reader, value, "after", &gap->after);
}

static void read_launch(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		NUMBER_OF(profile_launch, count),        NUMBER_OF(profile_launch, host_ns),
		NUMBER_OF(profile_launch, kernels),      NUMBER_OF(profile_launch, device_ns),
		NUMBER_OF(profile_launch, estimated_ns),
	};
	struct profile_launch *launch = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), launch);
	profile_read_frames(reader, value, &launch->frames);
}

static void read_trips(struct reader *reader, json_t *parent, const char *name,
		       struct profile_trips *ret)
{
	static const struct reader_field fields[] = {
		NUMBER_OF(profile_trips, count),       NUMBER_OF(profile_trips, bytes),
		NUMBER_OF(profile_trips, host_ns),     NUMBER_OF(profile_trips, copy_ns),
		NUMBER_OF(profile_trips, after),       NUMBER_OF(profile_trips, download_site),
		NUMBER_OF(profile_trips, upload_site),
	};

	reader_part(reader, parent, name, fields, HP_LEN(fields), ret);
}

static void forget_beyond(int64_t *index, size_t count)
{
	if (*index >= (int64_t)count)
		*index = UNKNOWN;
}

/* Makes indices that the file does not have UNKNOWN. */
static void check_trips(const struct profile *profile, struct profile_trips *trips)
{
	forget_beyond(&trips->after, profile->buffer_count);
	forget_beyond(&trips->download_site, profile->site_count);
	forget_beyond(&trips->upload_site, profile->site_count);
}

static void read_buffer(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		TEXT_OF(profile_buffer, kind),
		NUMBER_OF(profile_buffer, largest_bytes),
		NUMBER_OF(profile_buffer, promoted_bytes),
		NUMBER_OF(profile_buffer, pins),
		NUMBER_OF(profile_buffer, pin_ns),
		NUMBER_OF(profile_buffer, saved_ns),
		NUMBER_OF(profile_buffer, could_save_ns),
	};
	struct profile_buffer *buffer = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), buffer);
	if (buffer->kind == NULL)
		reader_complain(reader, "%skind is missing", reader->where);
	profile_read_frames(reader, value, &buffer->frames);
	read_sum(reader, value, "h2d", &buffer->h2d);
	read_sum(reader, value, "d2h", &buffer->d2h);
	read_trips(reader, value, "round_trips", &buffer->round_trips);
	read_trips(reader, value, "follows", &buffer->follows);
}

static void read_sample(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		NUMBER_OF(profile_sample, first_thread),
		NUMBER_OF(profile_sample, other_threads),
		{ "folded", FLAG, offsetof(struct profile_sample, folded) },
	};
	struct profile_sample *sample = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), sample);
	profile_read_frames(reader, value, &sample->frames);
}

static void read_python(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		NUMBER_OF(profile_python, samples),
		NUMBER_OF(profile_python, cpu_ns),
	};
	struct profile_python *python = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), python);
	read_python_frames(reader, value, &python->frames);
}

static void read_python_file(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		TEXT_OF(profile_python_file, file),
		NUMBER_OF(profile_python_file, bytes),
		NUMBER_OF(profile_python_file, modified_ns),
	};
	struct profile_python_file *file = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), file);
	if (file->file == NULL)
		reader_complain(reader, "%sfile is missing", reader->where);
}

static void read_repeat(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		TEXT_OF(profile_repeat, kind),     NUMBER_OF(profile_repeat, site),
		NUMBER_OF(profile_repeat, buffer), NUMBER_OF(profile_repeat, count),
		NUMBER_OF(profile_repeat, bytes),  NUMBER_OF(profile_repeat, host_ns),
	};
	struct profile_repeat *repeat = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), repeat);
	if (repeat->kind == NULL)
		reader_complain(reader, "%skind is missing", reader->where);
	if (repeat->site >= (int64_t)reader->profile->site_count ||
	    repeat->buffer >= (int64_t)reader->profile->buffer_count)
		reader_complain(reader, "%ssite or buffer does not exist", reader->where);
}

static void read_bound(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		TEXT_OF(profile_bound, name),
		TEXT_OF(profile_bound, assumes),
		NUMBER_OF(profile_bound, wall_ns),
		NUMBER_OF(profile_bound, saves_ns),
	};
	struct profile_bound *bound = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), bound);
	if (bound->name == NULL)
		reader_complain(reader, "%sname is missing", reader->where);
}

static void read_stage(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		TEXT_OF(profile_stage, name),       TEXT_OF(profile_stage, domain),
		NUMBER_OF(profile_stage, entered),  NUMBER_OF(profile_stage, wall_ns),
		NUMBER_OF(profile_stage, launches),
	};
	struct profile_stage *stage = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), stage);
	if (stage->name == NULL)
		reader_complain(reader, "%sname is missing", reader->where);
	read_split(reader, value, &stage->split);
	read_sum(reader, value, "h2d", &stage->h2d);
	read_sum(reader, value, "d2h", &stage->d2h);
}

static void read_entries(struct reader *reader, json_t *root, const char *name, bool texts,
			 struct profile_entries *ret)
{
	json_t *object = reader_object(reader, root, name), *value;
	const char *key;

	if (object == NULL)
		return;
	if (json_object_size(object) > READER_SHORT_MOST) {
		reader_complain(reader, "%s has more than %d entries", name, READER_SHORT_MOST);
		return;
	}
	size_t before = reader_enter(reader, "%s.", name);
	struct profile_entry *entry =
		profile_allocate(reader->profile, json_object_size(object), sizeof(*entry));
	ret->items = entry;
	json_object_foreach(object, key, value)
	{
		entry->name = key;
		if (texts)
			entry->text = reader_text(reader, value, key);
		else
			entry->value = reader_number(reader, value, key);
		entry++;
	}
	ret->count = json_object_size(object);
	reader_leave(reader, before);
}

static void read_repeats(struct reader *reader, json_t *root)
{
	struct profile *profile = reader->profile;
	json_t *object = reader_object(reader, root, "repeats");
	size_t before = reader_enter(reader, "repeats.");

	profile->repeats.known = object != NULL;
	profile->repeats.hashed_copies =
		reader_number(reader, json_object_get(object, "hashed_copies"), "hashed_copies");
	profile->repeats.hashed_bytes =
		reader_number(reader, json_object_get(object, "hashed_bytes"), "hashed_bytes");
	profile->repeats.hash_ns =
		reader_number(reader, json_object_get(object, "hash_ns"), "hash_ns");
	read_sum(reader, object, "duplicates", &profile->repeats.duplicates);
	read_sum(reader, object, "ping_pong", &profile->repeats.ping_pong);
	profile->repeats.sites =
		reader_short_list(reader, object, "sites", sizeof(*profile->repeats.sites),
				  read_repeat, &profile->repeats.site_count);
	reader_leave(reader, before);
}

static void read_call(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		TEXT_OF(profile_call, name),         TEXT_OF(profile_call, class),
		NUMBER_OF(profile_call, count),      NUMBER_OF(profile_call, total_ns),
		NUMBER_OF(profile_call, longest_ns),
	};
	struct profile_call *call = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), call);
	if (call->name == NULL)
		reader_complain(reader, "%sname is missing", reader->where);
}

static void read_calls(struct reader *reader, json_t *root)
{
	struct profile *profile = reader->profile;

	profile->calls = reader_short_list(reader, root, "calls", sizeof(*profile->calls),
					   read_call, &profile->call_count);
}

static void read_bin(struct reader *reader, json_t *value, void *to)
{
	struct profile_bin *bin = to;

	if (json_array_size(value) < ACTIVITY_COLUMNS) {
		reader_complain(reader, "%s: too few numbers", reader->where);
		return;
	}
	for (size_t i = 0; i < ACTIVITY_COLUMNS; i++) {
		bin->column[i] = reader_number(reader, json_array_get(value, i), "bin");
		/* Sums of bins must not overflow. */
		if (bin->column[i] > INT64_MAX / 4096)
			reader_complain(reader, "%sout of range", reader->where);
	}
}

static void read_activity(struct reader *reader, json_t *root)
{
	struct profile *profile = reader->profile;
	json_t *activity = json_object_get(root, "activity");

	if (!json_is_object(activity))
		return;
	size_t before = reader_enter(reader, "activity.");
	profile->activity.bin_ns =
		reader_number(reader, json_object_get(activity, "bin_ns"), "bin_ns");
	profile->activity.bins =
		reader_list(reader, activity, "bins", sizeof(*profile->activity.bins), read_bin,
			    &profile->activity.bin_count);
	reader_leave(reader, before);
}

void profile_read_head(struct reader *reader, json_t *root)
{
	static const struct reader_field head[] = {
		TEXT_OF(profile, schema_version),
		TEXT_OF(profile, hotpin_version),
		TEXT_OF(profile, state),
		TEXT_OF(profile, stage),
		TEXT_OF(profile, split_why),
		NUMBER_OF(profile, wall_ns),
		NUMBER_OF(profile, devices),
		NUMBER_OF(profile, sites_lost),
		NUMBER_OF(profile, sites_folded),
		{ "truncated", FLAG, offsetof(struct profile, truncated) },
	};
	static const struct {
		const char *object;
		struct reader_field field;
	} parts[] = {
/* clang-format off */
#define N(object, name) { #object, { #name, NUMBER, offsetof(struct profile, object.name) } }
#define T(object, name) { #object, { #name, TEXT, offsetof(struct profile, object.name) } }
#define F(object, name) { #object, { #name, FLAG, offsetof(struct profile, object.name) } }
		T(process, program), T(process, host), T(process, rank), T(process, ended_utc),
		T(process, arguments_hash), N(process, pid), N(process, ranks), N(process, cpus),
		N(process, exit_status), N(process, began_ns), N(process, began_unix_ns),
		T(environment, device), T(environment, device_uuid), T(environment, cupti_path),
		T(environment, peak_source), N(environment, driver_version),
		N(environment, cupti_version), N(environment, peak_h2d_bytes_per_s),
		N(environment, peak_d2h_bytes_per_s), F(environment, stand_in),
		T(backend, kind), T(backend, why),
		N(host, copy_calls_ns), N(host, copying_ns), N(host, waiting_for_kernels_ns),
		N(host, overhead_ns), N(host, staging_ns), N(host, waits), N(host, waits_ns),
		N(host, launches), N(host, graph_launches), N(host, captured_copies),
		N(host, threads),
		N(coverage, hotpin_copies), N(coverage, hotpin_bytes), N(coverage, cupti_copies),
		N(coverage, cupti_bytes),
		N(promotion, promoted_bytes), N(promotion, program_pinned_bytes),
		N(promotion, cupti_pinned_bytes),
		N(effect, promoted_copies), N(effect, promoted_bytes), N(effect, staged_copies),
		N(effect, staged_bytes), N(effect, deferred_copies), N(effect, waits_removed),
		N(effect, deferred_bytes), N(effect, ahead_ns), N(effect, spent_ns),
		N(effect, pins), N(effect, unpins), N(effect, saved_ns),
		N(memsets, count), N(memsets, bytes), N(memsets, busy_ns),
		N(kernel_runs, count), N(kernel_runs, bytes), N(kernel_runs, busy_ns),
		N(gaps_short, count), N(gaps_short, total_ns), N(gaps_short, longest_ns),
		N(launches_rest, kernels), N(launches_rest, device_ns),
		N(gaps_dropped, count), N(gaps_dropped, total_ns), N(gaps_dropped, longest_ns),
		N(overhead, start_ns), N(overhead, callbacks_ns), N(overhead, appends_ns),
		N(overhead, background_ns),
		N(records, read), N(records, dropped), N(records, buffers),
		T(sampling, mode), T(sampling, why), N(sampling, hz), N(sampling, began_ns),
		N(sampling, samples), N(sampling, empty), N(sampling, lost), N(sampling, dropped),
		N(sampling, throttled), N(sampling, threads_most), N(sampling, threads_sampled),
		N(sampling, threads_refused), N(sampling, threads_at_once), N(sampling, cost_ns),
		F(sampling, in_turn),
		N(records, buffers_discarded), N(records, incomplete), N(records, untimed),
		N(records, outside_run), N(records, unknown_kinds), N(records, late_ns),
#undef N
#undef T
#undef F
		/* clang-format on */
	};

	reader_fields(reader, root, head, HP_LEN(head), reader->profile);
	for (size_t i = 0; i < HP_LEN(parts); i++)
		reader_part(reader, root, parts[i].object, &parts[i].field, 1, reader->profile);
}

void profile_read_lists(struct reader *reader, json_t *root)
{
	struct profile *profile = reader->profile;

	read_split(reader, root, &profile->split);
	profile->transfers =
		reader_short_list(reader, root, "transfers", sizeof(*profile->transfers),
				  read_transfer, &profile->transfer_count);
	profile->kernels = reader_list(reader, root, "kernels", sizeof(*profile->kernels),
				       read_kernel, &profile->kernel_count);
	/* Read first: frames refer to modules, repeats and events to sites and buffers. */
	profile->modules = reader_short_list(reader, root, "modules", sizeof(*profile->modules),
					     read_module, &profile->module_count);
	profile->names = reader_list(reader, root, "names", sizeof(*profile->names),
				     profile_read_name, &profile->name_count);
	if (profile->name_count > 0)
		qsort(profile->names, profile->name_count, sizeof(*profile->names),
		      profile_by_place);
	profile->sites = reader_list(reader, root, "sites", sizeof(*profile->sites), read_site,
				     &profile->site_count);
	profile->gaps = reader_short_list(reader, root, "gaps", sizeof(*profile->gaps), read_gap,
					  &profile->gap_count);
	profile->launches = reader_short_list(reader, root, "launches", sizeof(*profile->launches),
					      read_launch, &profile->launch_count);
	profile->buffers = reader_list(reader, root, "buffers", sizeof(*profile->buffers),
				       read_buffer, &profile->buffer_count);
	for (size_t i = 0; i < profile->buffer_count; i++) {
		check_trips(profile, &profile->buffers[i].round_trips);
		check_trips(profile, &profile->buffers[i].follows);
	}
	profile->samples = reader_list(reader, root, "samples", sizeof(*profile->samples),
				       read_sample, &profile->sample_count);
	profile->python =
		reader_short_list(reader, root, "python_samples", sizeof(*profile->python),
				  read_python, &profile->python_count);
	profile->python_files =
		reader_list(reader, root, "python_files", sizeof(*profile->python_files),
			    read_python_file, &profile->python_file_count);
	profile->bounds = reader_short_list(reader, root, "what_if", sizeof(*profile->bounds),
					    read_bound, &profile->bound_count);
	profile->stages = reader_short_list(reader, root, "stages", sizeof(*profile->stages),
					    read_stage, &profile->stage_count);
	profile->warnings = (const char **)reader_short_list(reader, root, "warnings",
							     sizeof(*profile->warnings),
							     reader_line, &profile->warning_count);
	read_entries(reader, root, "counters", false, &profile->counters);
	read_calls(reader, root);
	read_activity(reader, root);
	read_entries(reader, root, "options", true, &profile->options);
	read_repeats(reader, root);
	profile_read_events(reader, root);
}
