/*
 * The content of a profile, after its file has been checked.
 *
 * Names of fields are those of include/hotpin/profile.schema.json, which describes them.  If null
 * or missing, a figure is UNKNOWN, a text NULL and a list NULL; an empty list is not NULL.  Texts
 * are unescaped: each output escapes them.
 */
#ifndef HP_TOOLS_PROFILE_H
#define HP_TOOLS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNKNOWN             (-1)
#define PROFILE_FRAMES_MOST 24 /* with inlined functions */
/* A full timeline takes 30 MB.  In memory it may take twenty times as much. */
#define PROFILE_MIB_MOST    256

/* All are known or none is. */
struct profile_split {
	int64_t host_ns, startup_ns, calls_ns, transfer_ns, kernel_ns, overlap_ns;
};

/* The rows of an activity bin: the states of the split in their order, then these. */
enum { ACTIVITY_UP_BYTES = 6, ACTIVITY_DOWN_BYTES, ACTIVITY_CALLS, ACTIVITY_COLUMNS };

struct profile_bin {
	int64_t column[ACTIVITY_COLUMNS];
};

/* A driver function. */
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
	const char *path; /* "": not known */
	const char *build_id;
	/* By names_resolve(), of the file on this machine. */
	bool differs;     /* it is another build */
	bool is_public;   /* everybody may read it, or it has the build ID of the one that ran */
	int error;        /* why it was not read; 0: it was */
	int64_t modified; /* seconds since 1970 */
};

struct profile_frame {
	int64_t module, offset; /* module: an index, or UNKNOWN */
	const char *function;   /* by names_resolve(), or from the profile; NULL: not found */
	const char *line;       /* "solve.cu:42"; NULL: not found */
	const char *path;       /* of that source file, as the compiler wrote it; NULL: not found */
	int64_t number;         /* of that line */
	bool is_verified;       /* the line, by a build with the recorded build ID */
	bool guessed;
	bool is_python;  /* from the profile: module and offset are UNKNOWN, the rest is known */
	bool is_inlined; /* by names_resolve(), into the next frame that is not inlined */
	const struct profile_frames *inlined; /* by names_find(), innermost first; NULL: none */
};

struct profile_frames {
	struct profile_frame *items;
	size_t count;
};

/* One of the two calls around a gap. */
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

struct profile_site {
	struct profile_frames frames;
	struct profile_row *rows;
	size_t row_count;
	bool folded; /* sum of several call stacks */
};

/* A place that launches kernels or graphs.  In older files `kernels` is UNKNOWN. */
struct profile_launch {
	struct profile_frames frames;
	int64_t count, host_ns;
	int64_t kernels, device_ns, estimated_ns; /* estimated_ns: a part of device_ns */
};

/* frames[0] is the place of the thread, the others are its likely callers. */
struct profile_sample {
	struct profile_frames frames;
	int64_t first_thread, other_threads; /* samples */
	bool folded;
};

/* CPU time of threads that use CUDA, by place in Python.  No frames: the place is unknown. */
struct profile_python {
	struct profile_frames frames;
	int64_t samples, cpu_ns;
};

/* A file of Python that ran, when the profile was written. */
struct profile_python_file {
	const char *file;
	int64_t bytes, modified_ns; /* since 1970 */
};

/* Downloads whose data was uploaded again.  In older files all are UNKNOWN. */
struct profile_trips {
	int64_t count, bytes, host_ns, copy_ns;
	int64_t after; /* if `follows`: the buffer that was downloaded, or UNKNOWN */
	/* Of the latest of them; UNKNOWN: not known, as in older files. */
	int64_t download_site, upload_site;
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

/* The numbers of trace/collect/events.h; test_events.c compares them. */
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
	int64_t call_track, call_ns; /* of the call that started a copy; or UNKNOWN */
	/*
	 * An index: for a kernel in shapes, for a call that copies in buffers, for a sample in
	 * places.
	 */
	int64_t detail;
	int64_t route; /* of a call that copies */
};

/* The launch configuration of a kernel. */
struct profile_shape {
	int64_t grid[3], block[3], registers, static_shared_bytes, dynamic_shared_bytes;
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
	const char *path; /* as the user gave it */

	const char *schema_version, *hotpin_version, *state, *stage;
	const char *split_why; /* NULL: there is a split, or the reason is unknown */
	int64_t wall_ns;
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
		int64_t threads; /* that called the driver */
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
	struct profile_frame *names; /* by `hotpin resolve`, in the order of profile_by_place() */
	struct profile_site *sites;
	struct profile_buffer *buffers;
	struct profile_sample *samples;
	struct profile_python *python; /* NULL: no Python ran, or not known */
	struct profile_python_file *python_files;
	struct profile_bound *bounds; /* what_if */
	struct profile_stage *stages;
	const char **warnings;
	const char *other_build; /* by names_resolve(): a file that differs from the one that ran */
	const char *missing;     /* by names_resolve(): a file that ran and is missing */
	size_t transfer_count, kernel_count, module_count, site_count, buffer_count, bound_count;
	size_t stage_count, warning_count, sample_count, python_count, python_file_count;
	size_t name_count;
	struct profile_entries counters, options;
	struct profile_call *calls;      /* NULL: not known */
	struct profile_gap *gaps;        /* NULL: not known */
	struct profile_launch *launches; /* NULL: not known */
	size_t call_count, gap_count, launch_count;
	struct {
		int64_t kernels, device_ns;
	} launches_rest;                                 /* kernels whose place is unknown */
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
		size_t name_count, route_count, shape_count, place_count, track_count, row_count;
	} events;

	void *json;                    /* owns the texts */
	struct profile_memory *memory; /* owns the lists */
	size_t name_bytes;             /* of the texts that names_find() found */
	bool is_own;                   /* the file belongs to the user */
};

/*
 * Reads the profile in the file at `path`; the string must outlive the profile.  Any file is safe
 * to read; errors go to stderr with its name.  Returns 0 or a negative errno.
 */
int profile_open(const char *path, struct profile *ret);

/* Frees a profile that was opened or merged, or that is all zeros. */
void profile_close(struct profile *profile);

/* Opens `count` files.  NULL, after a message: a file cannot be opened. */
struct profile *profile_open_all(char *const *paths, size_t count);

/* Closes and frees them; NULL is allowed. */
void profile_close_all(struct profile *profiles, size_t count);

/* Returns zeroed memory that profile_close() frees.  Ends the tool if there is no memory. */
void *profile_allocate(struct profile *profile, size_t count, size_t size);

/* Returns a copy of the text in such memory. */
const char *profile_copy(struct profile *profile, const char *text);

/* Compares two struct profile_frame by module, then by offset, for qsort(). */
int profile_by_place(const void *left, const void *right);

/* Returns a + b, at most INT64_MAX; UNKNOWN if a or b is UNKNOWN. */
int64_t profile_add(int64_t a, int64_t b);

bool profile_same_frame(const struct profile_frame *a, const struct profile_frame *b);

/* True if the split of the wall time is known. */
bool profile_has_split(const struct profile *profile);

/* True if the program was still running when the profile was written, or was killed. */
bool profile_is_unended(const struct profile *profile);

/* True if the run used no device, as before a port: all figures of the device are 0. */
bool profile_used_no_device(const struct profile *profile);

/* Returns the value of an option in the run; NULL: not known. */
const char *profile_option(const struct profile *profile, const char *name);

/* True if buffers lack names because the program ran without hotpin's heap, as with --observe. */
bool profile_lacks_heap(const struct profile *profile);

/* Returns the view of the transfers, with device times if there are any: "cupti" or "hotpin". */
const char *profile_view(const struct profile *profile);

/* Returns the bytes of those copies of a CUPTI row that have a duration. */
int64_t profile_timed_bytes(const struct profile_transfer *row);

/* True if there are copies of pageable memory in profile_view(). */
bool profile_has_pageable(const struct profile *profile);

/*
 * Returns copies, bytes and time (on the device, or in the calls) of one direction in
 * profile_view().
 */
struct profile_sum profile_moved(const struct profile *profile, const char *direction);

#endif
