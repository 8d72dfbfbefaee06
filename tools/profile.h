/*
 * What a profile's file holds, once it has been found to be one.
 *
 * Names of fields are those of include/hotpin/profile.schema.json, which describes them.  A figure
 * that is null or missing is UNKNOWN, a text NULL, a list NULL; an empty list is not NULL.  No text
 * was made harmless: each way out escapes what it shows.
 */
#ifndef HP_TOOLS_PROFILE_H
#define HP_TOOLS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNKNOWN             (-1)
#define PROFILE_FRAMES_MOST 12

/*
 * All known, or none; except for startup_ns of a file of format 1, where start-up and calls that
 * neither copy nor wait are in host_ns.
 */
struct profile_split {
	int64_t host_ns, startup_ns, calls_ns, transfer_ns, kernel_ns, overlap_ns;
};

/* A bin of the activity: the states of the split in their order, then these. */
enum { ACTIVITY_UP_BYTES = 6, ACTIVITY_DOWN_BYTES, ACTIVITY_CALLS, ACTIVITY_COLUMNS };

struct profile_bin {
	int64_t column[ACTIVITY_COLUMNS];
};

/* A driver function; of a file of format 1 no times are known. */
struct profile_call {
	const char *name, *class;
	int64_t count, total_ns, longest_ns;
};

struct profile_sum {
	int64_t count, bytes, host_ns;
};

struct profile_size {
	int64_t from_bytes, count, bytes, busy_ns;
};

struct profile_transfer {
	const char *view, *direction, *memory;
	int64_t count, bytes, busy_ns, untimed_bytes, pieces;
	int64_t host_ns, sync_count, sync_bytes, sync_ns;
	struct profile_size *sizes;
	size_t size_count;
};

struct profile_kernel {
	const char *name, *readable; /* readable: demangled by names_resolve(), else the name */
	int64_t count, busy_ns, longest_ns;
};

struct profile_module {
	const char *path, *build_id;
};

struct profile_frame {
	int64_t module, offset; /* module: an index, or UNKNOWN */
	const char *function;   /* by names_resolve(), or of the profile; NULL: not found */
	const char *line;       /* "solve.cu:42", likewise */
	const char *path;       /* of that source file, as the compiler knew it; NULL: not found */
	int64_t number;         /* of that line */
	bool guessed;
	bool is_python; /* of the profile: module and offset are UNKNOWN, all others known */
};

struct profile_frames {
	struct profile_frame *items;
	size_t count;
};

/* One of the two calls that a gap lies between. */
struct profile_gap_end {
	const char *call; /* NULL: the process began or ended there */
	struct profile_frames frames;
};

struct profile_gap {
	struct profile_gap_end before, after;
	int64_t count, total_ns, longest_ns;
};

struct profile_gap_sum {
	int64_t count, total_ns, longest_ns;
};

struct profile_row {
	const char *direction, *memory;
	int64_t count, bytes, host_ns, sync_count, sync_ns;
};

/* Where the main thread was in Python in so many looks. */
struct profile_main {
	struct profile_frames frames;
	int64_t looks;
};

struct profile_site {
	struct profile_frames frames;
	struct profile_row *rows;
	size_t row_count;
	bool folded;                /* of several call stacks */
	struct profile_main *mains; /* of threads without Python; NULL: not known */
	size_t main_count;
	int64_t main_looks; /* in all */
};

/* A place that launches kernels or graphs; these kernels are UNKNOWN of an older file. */
struct profile_launch {
	struct profile_frames frames;
	int64_t count, host_ns;
	int64_t kernels, device_ns, estimated_ns; /* estimated_ns: of device_ns */
};

/* frames[0] is where it was, others are its likely callers. */
struct profile_sample {
	struct profile_frames frames;
	int64_t first_thread, other_threads; /* samples */
	bool folded;
};

/* CPU time of threads that use CUDA, by the place in Python; no frames: without a place. */
struct profile_python {
	struct profile_frames frames;
	int64_t samples, cpu_ns;
};

/* Downloads that went up again; all UNKNOWN of an older file. */
struct profile_trips {
	int64_t count, bytes, host_ns, copy_ns;
	int64_t after; /* of what follows: the buffer that came down, or UNKNOWN */
};

struct profile_buffer {
	const char *kind;
	struct profile_frames frames;
	struct profile_sum h2d, d2h;
	int64_t largest_bytes, promoted_bytes, pins, pin_ns, saved_ns, could_save_ns;
	struct profile_trips round_trips, follows;
};

struct profile_repeat {
	const char *kind;
	int64_t site, buffer, count, bytes, host_ns;
};

struct profile_bound {
	const char *name, *assumes;
	int64_t wall_ns, saves_ns;
};

struct profile_stage {
	const char *name, *domain;
	int64_t entered, wall_ns, launches;
	struct profile_split split;
	struct profile_sum h2d, d2h;
};

/* The numbers of trace/events.h, held against them by test_events.c. */
enum profile_event_kind {
	PROFILE_KERNEL,
	PROFILE_COPY,
	PROFILE_MEMSET,
	PROFILE_COPY_CALL,
	PROFILE_WAIT,
	PROFILE_STAGE,
	PROFILE_API,
	PROFILE_OWN,
	PROFILE_SAMPLE,
	PROFILE_EVENT_COUNT
};

struct profile_event {
	int64_t kind, track, start_ns, duration_ns, name, bytes, site; /* indices are in range */
	int64_t call_track, call_ns; /* who called for a copy, and when; or UNKNOWN */
	/* Of a kernel: in shapes; of a call that copies: in buffers; of a sample: in places. */
	int64_t detail;
	int64_t route; /* of such a call */
};

/* How a kernel was launched. */
struct profile_shape {
	int64_t grid[3], block[3], registers, static_shared_bytes, dynamic_shared_bytes;
};

/* From `at_ns` on, so many bytes are in use. */
struct profile_level {
	int64_t at_ns, bytes;
};

/* Of one device. */
struct profile_device_memory {
	int64_t device;
	struct profile_level *levels; /* by at_ns */
	size_t level_count;
};

struct profile_track {
	const char *kind, *name;
	int64_t device, context, stream, tid, threads;
};

/* A name and its value: counters, calls (text is NULL), options (text). */
struct profile_entry {
	const char *name, *text;
	int64_t value;
};

struct profile_entries {
	struct profile_entry *items;
	size_t count;
};

struct profile {
	const char *path; /* as it was given */

	const char *schema_version, *hotpin_version, *state, *stage;
	const char *split_why; /* NULL: there is a split, or the reason is unknown */
	int64_t wall_ns;
	int64_t window_of_ns; /* the run's, of which this is the last part; UNKNOWN: it is all */
	bool truncated;
	struct {
		const char *program, *host, *rank, *ended_utc, *arguments_hash;
		int64_t pid, ranks, cpus, exit_status, began_ns, began_unix_ns;
	} process;
	struct {
		const char *device, *device_uuid, *cupti_path, *peak_source;
		int64_t driver_version, cupti_version, peak_h2d_bytes_per_s, peak_d2h_bytes_per_s;
		bool stand_in;
	} environment;
	struct {
		const char *kind, *why;
	} backend;
	struct profile_split split;
	struct {
		int64_t copy_calls_ns, copying_ns, waiting_for_kernels_ns, overhead_ns, staging_ns;
		int64_t waits, waits_ns, launches, graph_launches, captured_copies;
	} host;
	struct {
		int64_t hotpin_copies, hotpin_bytes, cupti_copies, cupti_bytes;
	} coverage;
	struct {
		int64_t promoted_bytes, program_pinned_bytes, cupti_pinned_bytes;
	} promotion;
	struct {
		int64_t promoted_copies, promoted_bytes, staged_copies, staged_bytes;
		int64_t deferred_copies, deferred_bytes, waits_removed, ahead_ns, pins, unpins;
		int64_t saved_ns, spent_ns;
	} effect;
	struct {
		int64_t count, bytes, busy_ns;
	} memsets, kernel_runs;
	struct {
		int64_t start_ns, callbacks_ns, appends_ns, background_ns;
	} overhead;
	struct {
		int64_t read, dropped, buffers, buffers_discarded, incomplete, untimed, outside_run;
		int64_t unknown_kinds, late_ns;
	} records;
	struct {
		const char *mode, *why;
		int64_t hz, began_ns, samples, empty, lost, dropped, throttled, threads_most;
		int64_t threads_sampled, threads_refused, threads_at_once, cost_ns;
		bool in_turn;
	} sampling;
	int64_t devices, sites_lost, sites_folded;

	struct profile_transfer *transfers;
	struct profile_kernel *kernels;
	struct profile_module *modules;
	struct profile_site *sites;
	struct profile_buffer *buffers;
	struct profile_sample *samples;
	struct profile_python *python; /* NULL: no Python ran, or it is not known */
	struct profile_bound *bounds;  /* what_if */
	struct profile_stage *stages;
	const char **warnings;
	const char *other_build; /* by names_resolve(): a file there is not the one that ran */
	const char *missing;     /* likewise: one that ran is not there */
	size_t transfer_count, kernel_count, module_count, site_count, buffer_count, bound_count;
	size_t stage_count, warning_count, sample_count, python_count;
	struct profile_entries counters, options;
	struct profile_call *calls;      /* NULL: not known */
	struct profile_gap *gaps;        /* likewise */
	struct profile_launch *launches; /* likewise */
	size_t call_count, gap_count, launch_count;
	struct {
		int64_t kernels, device_ns;
	} launches_rest;                                 /* kernels of no known place */
	struct profile_gap_sum gaps_short, gaps_dropped; /* gaps without places */
	struct {
		int64_t bin_ns;
		struct profile_bin *bins; /* NULL: not known */
		size_t bin_count;
	} activity;
	struct {
		bool known;
		int64_t hashed_copies, hashed_bytes, hash_ns;
		struct profile_sum duplicates, ping_pong;
		struct profile_repeat *sites;
		size_t site_count;
	} repeats;
	struct {
		bool known;
		int64_t dropped, shortest_ns, trackless;
		const char **names, **routes;
		struct profile_shape *shapes;
		struct profile_frames *places; /* of one frame each */
		int64_t *callers;              /* by place: an earlier place; UNKNOWN: none */
		struct profile_track *tracks;
		struct profile_event *rows;
		struct profile_device_memory *memory;
		size_t name_count, route_count, shape_count, place_count, track_count, row_count;
		size_t memory_count;
	} events;

	void *json;                    /* owns the texts */
	struct profile_memory *memory; /* owns the lists */
};

/*
 * Reads the profile in the file at `path`, which must outlive it.  Any file may be asked about;
 * what is wrong with it is said on stderr, with its name.  Returns 0 or a negative errno.
 */
int profile_open(const char *path, struct profile *ret);

/* Of one that was opened, merged, or is all zeros. */
void profile_close(struct profile *profile);

/* Zeroed memory that profile_close() gives back; ends the tool where there is none. */
void *profile_allocate(struct profile *profile, size_t count, size_t size);

/* a + b, where what is UNKNOWN makes the sum so; never more than INT64_MAX. */
int64_t profile_add(int64_t a, int64_t b);

/* Is the split of the wall time known? */
bool profile_has_split(const struct profile *profile);

/* Had the program not ended when this was written, or was it killed? */
bool profile_is_unended(const struct profile *profile);

/* A stage of a port that was not ported yet: all that a device would have done is 0. */
bool profile_used_no_device(const struct profile *profile);

/* The value that an option had in the run; NULL: not known. */
const char *profile_option(const struct profile *profile, const char *name);

/* Do its buffers lack names because it ran without hotpin's heap, as --observe does? */
bool profile_lacks_heap(const struct profile *profile);

/* The view of the transfers that has device times where there is one: "cupti" or "hotpin". */
const char *profile_view(const struct profile *profile);

/* The bytes of a row of CUPTI's that took a time by their stamps. */
int64_t profile_timed_bytes(const struct profile_transfer *row);

/* Are there copies of pageable memory in that view? */
bool profile_has_pageable(const struct profile *profile);

/* Copies, bytes and time (on the device, or in the calls) of one direction in that view. */
struct profile_sum profile_moved(const struct profile *profile, const char *direction);

#endif
