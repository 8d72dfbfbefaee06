/*
 * Sums of a timeline: the time of each kernel, copy and call, and the work of each stream, device
 * and thread.
 */
#ifndef HP_TOOLS_ANALYZE_TIMELINE_SUMS_H
#define HP_TOOLS_ANALYZE_TIMELINE_SUMS_H

#include "profile/profile.h"
#include "analyze/statistics.h"

/* Events of one kind and name. */
struct timeline_sum {
	int64_t kind;
	const char *name; /* of a kernel: readable after names_resolve() */
	int64_t count, total_ns, bytes;
	struct statistics times;
};

/*
 * Returns a list in the profile's memory, largest total first, without ranges and hotpin's own
 * work.
 */
struct timeline_sum *timeline_sums(struct profile *profile, size_t *ret_count);

/* Returns "kernel", "copy", ..; "other" for a kind of a later version. */
const char *timeline_kind_name(int64_t kind);

/* The work of a stream or thread, or of all streams of a device if `track` is NULL. */
struct timeline_track {
	const struct profile_track *track;
	int64_t device; /* UNKNOWN: of a thread */
	int64_t kernels, kernels_ns, copies, copied_bytes, copies_ns;
	int64_t calls, calls_ns, waits, waits_ns; /* of a thread */
	int64_t busy_ns; /* time in which anything ran; overlaps count once */
	int64_t end_ns;  /* of the last event */
};

/* Returns devices, then streams, then threads, in the profile's memory. */
struct timeline_track *timeline_tracks(struct profile *profile, size_t *ret_count);

#endif
