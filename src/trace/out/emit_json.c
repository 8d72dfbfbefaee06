/*
 * emit_json.c - fills the profile's record, and writes it as JSON.
 *
 * base/profile.def lists the fields and their order.  Lists are written one entry after the other.
 * Within one major version, fields may be added but not removed.
 */
#include "trace/out/emit.h"
#include "base/counters.h"
#include "base/options.h"
#include "trace/calls/calls.h"
#include "trace/calls/gaps.h"
#include "trace/calls/host_buffers.h"
#include "trace/calls/launches.h"
#include "trace/calls/repeats.h"
#include "trace/places/sites.h"

static const struct json_list *const lists[] = { emit_lists, emit_places_lists, emit_events_lists,
						 NULL };

static void fill_head(const struct report *report, struct profile *ret)
{
	const struct process *process = &report->process;
	const struct cupti *cupti = report->cupti;
	const uint64_t *peak = report->peak;
	bool loaded = cupti->handle != NULL;

	ret->schema = "hotpin.profile";
	ret->schema_version = "2.0";
	ret->hotpin_version = HOTPIN_VERSION;
	ret->state = report->ended ? "ended" : "running";
	ret->stage = report->stage;
	ret->process = (struct profile_process){
		.pid = process->pid,
		.program = process->program,
		.host = process->host,
		.rank = process->rank,
		.ended_utc = process->ended,
		.ranks = json_known(process->ranks != 0, process->ranks),
		.arguments_hash = process->arguments,
		.cpus = process->cpus,
		.cpu_wait_ns = json_known(process->cpu_wait_ns != UINT64_MAX, process->cpu_wait_ns),
		.exit_status =
			report->ended && report->exit_status >= 0 ? report->exit_status : UNKNOWN,
		.began_ns = report->began_ns,
		.began_unix_ns = report->began_ns + process->unix_offset_ns,
	};
	ret->environment = (struct profile_environment){
		.device = report->device_name,
		.driver_version = report->driver_version != 0 ? report->driver_version : UNKNOWN,
		.stand_in = report->on_stand_in,
		.torch_registers =
			modules_have_text("/libc10_cuda.so", "pinned_use_cuda_host_register"),
		.cupti_version = json_known(loaded && cupti->version != 0, cupti->version),
		.cupti_path = loaded ? cupti->path : NULL,
		.peak_h2d_bytes_per_s = json_known(peak[TRACE_H2D] != 0, peak[TRACE_H2D]),
		.peak_d2h_bytes_per_s = json_known(peak[TRACE_D2H] != 0, peak[TRACE_D2H]),
		.peak_source = peak[TRACE_H2D] == 0 && peak[TRACE_D2H] == 0 ? NULL
			       : report->peak_observed                      ? "observed"
									    : "link",
	};
	ret->backend = (struct profile_backend){
		.kind = report->no_device ? "none"
			: report->device  ? "cupti"
					  : "interpose",
		.why = report->why_not,
	};
	ret->truncated = report->truncated;
}

static void fill_times(const struct report *report, struct profile *ret)
{
	const struct split_sum *split = &report->split;
	const struct collect_result *collected = &report->collected;
	bool known = report->aligned;
	/* Copies of several threads overlap. */
	int64_t staging_ns = report_excess_ns(report), most_ns = (int64_t)split->call_copying_ns;

	ret->wall_ns = split->wall_ns;
	ret->split = report_split(report, split);
	ret->split_why = known ? NULL : report->split_why;
	ret->host = (struct profile_host){
		.copy_calls_ns = split->layer_ns[SPLIT_COPY_CALL],
		.copying_ns = json_known(known, split->call_copying_ns),
		.waiting_for_kernels_ns = json_known(known, split->call_waiting_ns),
		.overhead_ns = json_known(known, split->call_overhead_ns),
		.staging_ns = staging_ns < most_ns ? staging_ns : most_ns,
		.waits = report->operations.waits,
		.waits_ns = split->layer_ns[SPLIT_WAIT],
		.launches = report->operations.kernels,
		.graph_launches = report->operations.graphs,
		.threads = json_known(calls_functions() > 0, calls_threads()),
	};
	if (known && report->ranges != NULL)
		ret->activity = (struct profile_activity){
			.bin_ns = (int64_t)report->ranges->strip.width,
			.bins = (struct profile_bin *)report->ranges->strip.bin,
			.bin_count = report->ranges->strip.bins,
		};
	ret->overhead = (struct profile_overhead){
		.start_ns = report->start_ns,
		.callbacks_ns = collected->buffers.callback_ns,
		.appends_ns = report->operations.append_ns,
		.exit_ns = report->ended ? SO_FAR : UNKNOWN,
	};
}

static struct profile_runs runs_of(const struct aggregate_sum *sum)
{
	return (struct profile_runs){
		.count = sum->count,
		.bytes = sum->bytes,
		.busy_ns = json_known(sum->count == 0 || sum->busy_ns != 0, sum->busy_ns),
	};
}

/* Fills in what CUPTI recorded, and how much of it is missing. */
static void fill_device(const struct report *report, struct profile *ret)
{
	const struct collect_result *collected = &report->collected;
	const struct aggregate *device = collected->device;

	if (!report->device || device == NULL)
		return;
	ret->memsets = runs_of(&device->memsets);
	ret->kernel_runs = runs_of(&device->kernel_runs);
	ret->devices = __builtin_popcountll(device->device_mask);
	if (!report->no_device)
		ret->records = (struct profile_records){
			.read = device->records,
			.dropped = collected->dropped,
			.buffers = collected->buffers.requested,
			.buffers_discarded = collected->buffers.discarded,
			.incomplete = device->incomplete,
			.untimed = device->untimed,
			.outside_run = device->outside,
			.late_ns = report->split.late_ns,
		};
}

/* A program that waits for all copies in flight at once has waited once. */
static uint64_t removed_waits(const struct operations *operations)
{
	return operations->deferred > operations->joins ? operations->deferred - operations->joins
							: 0;
}

static void fill_effect(const struct report *report, struct profile_effect *ret)
{
	*ret = (struct profile_effect){
		.deferred_copies = report->operations.deferred,
		.waits_removed = removed_waits(&report->operations),
		.ahead_ns = report_ahead_ns(report),
		.pins = hp_count_read(pins),
		.unpins = hp_count_read(unpins),
		.saved_ns = json_known(report->calls, 0),
		.spent_ns = json_known(report->calls, 0),
	};
	for (int direction = TRACE_H2D; direction <= TRACE_D2H; direction++) {
		const struct trace_sum *sums = report->operations.copies[direction];

		ret->promoted_copies += sums[TRACE_PROMOTED].count;
		ret->promoted_bytes += sums[TRACE_PROMOTED].bytes;
		ret->staged_copies += sums[TRACE_STAGED].count;
		ret->staged_bytes += sums[TRACE_STAGED].bytes;
	}
	struct host_buffer buffer;
	for (size_t i = 0; report->calls && host_buffers_read(i, &buffer); i++) {
		ret->saved_ns += buffer.sums.saved_ns;
		ret->spent_ns += buffer.sums.pin_ns;
	}
}

/* Fills in what the lists leave out. */
static void fill_rests(const struct report *report, struct profile *ret)
{
	struct sites_counts sites;
	struct gaps_counts gaps;

	ret->sites_lost = ret->sites_folded = 0;
	if (!report->calls)
		return;
	sites_count(&sites);
	gaps_count(&gaps);
	ret->sites_lost = sites.lost;
	ret->sites_folded = sites.folded;
	ret->gaps_short = gaps.short_ones;
	ret->gaps_dropped = gaps.dropped;
	ret->launches_lost = launches_lost();
	/* The thread that adds the times runs this code, or has ended. */
	if (launches_are_recorded() && report->collected.device != NULL)
		launches_read_rest(&ret->launches_rest);
}

void emit_json(const struct report *report, struct writer *writer)
{
	struct json json = {
		.writer = writer,
		.report = report,
		.since_ns = report->exit_ns,
		.lists = lists,
	};
	static struct profile_bound bounds[REPORT_BOUNDS]; /* one thread at a time writes */
	struct profile profile;

	/* Other fields refer to a site by its index. */
	sites_hold(true);
	profile_forget(profile_id, &profile);
	fill_head(report, &profile);
	fill_times(report, &profile);
	fill_device(report, &profile);
	report_bus_read(report, &profile.coverage, &profile.promotion);
	fill_effect(report, &profile.effect);
	fill_rests(report, &profile);
	profile.sampling = emit_sampling(report);
	report_bounds(report, bounds);
	profile.bounds = bounds;
	profile.bound_count = REPORT_BOUNDS;
	if (report->calls && hp_options->hash)
		repeats_read(&profile.repeats);
	emit_events_begin(report, &profile.events);
	json_record(&json, NULL, profile_id, &profile);
	emit_events_end();
	sites_hold(false);
	writer_put(writer, "\n");
}
