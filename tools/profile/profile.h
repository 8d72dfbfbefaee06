/*
 * The content of a profile, after its file has been checked.
 *
 * base/profile.def lists its records and fields.  Each output escapes the texts.
 */
#ifndef HP_TOOLS_PROFILE_PROFILE_H
#define HP_TOOLS_PROFILE_PROFILE_H

#include "base/profile_fields.h"

#define PROFILE_FRAMES_MOST 24 /* with inlined functions */

/* The columns of an activity bin: the states of the split in their order, then these. */
enum { ACTIVITY_UP_BYTES = 6, ACTIVITY_DOWN_BYTES, ACTIVITY_CALLS, ACTIVITY_COLUMNS };
_Static_assert(sizeof(struct profile_bin) == ACTIVITY_COLUMNS * sizeof(int64_t), "a number each");

/* The numbers of trace/collect/events.h; test_events.c compares them. */
enum profile_event_kind {
	PROFILE_KERNEL,
	PROFILE_COPY,
	PROFILE_MEMSET,
	PROFILE_COPY_CALL,
	PROFILE_WAIT,
	PROFILE_RANGE,
	PROFILE_API,
	PROFILE_OWN,
	PROFILE_SAMPLE,
	PROFILE_EVENT_COUNT
};

/* Frees a profile that was opened or merged, or that is all zeros. */
void profile_close(struct profile *profile);

/* Closes and frees a list of profile_open_all(); NULL is allowed. */
void profile_close_all(struct profile *profiles, size_t count);

/* Ends the tool after a message. */
_Noreturn void profile_end_without_memory(void);

/*
 * Returns zeroed memory that profile_close() frees.  Ends the tool if there is no memory.  The
 * memory of a profile grows; its data stay as they are.
 */
void *profile_allocate(const struct profile *profile, size_t count, size_t size);

/* Returns a + b, at most INT64_MAX; UNKNOWN if a or b is UNKNOWN. */
int64_t profile_add(int64_t a, int64_t b);

/* Returns the time that the profile has added to the run, or UNKNOWN.  Old files lack the exit. */
int64_t profile_cost_ns(const struct profile *profile);

bool profile_same_frame(const struct profile_frame *a, const struct profile_frame *b);

/* True if the split of the wall time is known. */
bool profile_has_split(const struct profile *profile);

/* True if the program was still running when the profile was written, or was killed. */
bool profile_is_unended(const struct profile *profile);

/* True if the run used no device, as before a port: all figures of the device are 0. */
bool profile_used_no_device(const struct profile *profile);

/* Returns the value of an option in the run; NULL: not known. */
const char *profile_option(const struct profile *profile, const char *name);

/* True if only a capture range of the run was profiled, and if that never began. */
bool profile_is_part(const struct profile *profile);
bool profile_is_empty(const struct profile *profile);

/* True if buffers lack names because the program ran without hotpin's heap, as with --observe. */
bool profile_lacks_heap(const struct profile *profile);

/* Returns the view of the transfers, with device times if there are any: "cupti" or "hotpin". */
const char *profile_view(const struct profile *profile);

/* Returns the rate at which the link moves uploads or downloads, at most; UNKNOWN: not known. */
int64_t profile_peak(const struct profile *profile, const char *direction);

/* Returns the bytes of those copies of a CUPTI row that have a duration. */
int64_t profile_timed_bytes(const struct profile_transfer *row);

/* True if there are copies of pageable memory in profile_view(). */
bool profile_has_pageable(const struct profile *profile);

/* Returns the sums of the copies of one direction in a view; NULL: of all directions. */
struct profile_transfer profile_moved(const struct profile *profile, const char *view,
				      const char *direction);

/* Returns the time of copies by their view: on the device, or in the calls. */
int64_t profile_moved_ns(const struct profile_transfer *copies);

#endif
