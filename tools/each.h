/*
 * What one kernel, copy or call took, and what each stream, device and thread did: from a timeline.
 */
#ifndef HP_TOOLS_EACH_H
#define HP_TOOLS_EACH_H

#include "profile.h"
#include "spread.h"

/* Events of one kind and name. */
struct each {
	int64_t kind;
	const char *name; /* of a kernel: readable, where names_resolve() was called */
	int64_t count, total_ns, bytes;
	struct spread spread;
};

/* In the profile's memory, by falling total; stages and hotpin's own work are not in it. */
struct each *each_make(struct profile *profile, size_t *ret_count);

/* "kernel", "copy", ..; "other" for a kind of a later version. */
const char *each_kind_name(int64_t kind);

/* What a stream or thread did, or all streams of a device: track is NULL, then. */
struct each_track {
	const struct profile_track *track;
	int64_t device; /* UNKNOWN: of a thread */
	int64_t kernels, kernels_ns, copies, copied_bytes, copies_ns;
	int64_t calls, calls_ns, waits, waits_ns; /* of a thread */
	int64_t busy_ns;                          /* when anything ran: what overlaps counts once */
};

/* Devices, then streams, then threads; in the profile's memory. */
struct each_track *each_tracks(struct profile *profile, size_t *ret_count);

#endif
