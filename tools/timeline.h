/*
 * The timeline of a trace, laid out in rows.
 *
 * A group holds the events of a thread, of copies in one direction, of a stream's kernels.
 * Overlapping events of a group are in separate rows.
 */
#ifndef HP_TOOLS_TIMELINE_H
#define HP_TOOLS_TIMELINE_H

#include "profile.h"

#define TIMELINE_GROUPS_MOST    24 /* the busiest */
#define TIMELINE_SUBTRACKS_MOST 6  /* rows of a group */
#define TIMELINE_NAME           128

enum timeline_kind {
	TIMELINE_RANGES,
	TIMELINE_THREAD,
	TIMELINE_UPLOADS,
	TIMELINE_DOWNLOADS,
	TIMELINE_MEMORY,
	TIMELINE_KERNELS,
	TIMELINE_OWN,
	TIMELINE_KINDS
};

struct timeline_slice {
	const struct profile_event *event;
	enum timeline_kind kind;
	int64_t device, track; /* UNKNOWN: all */
	int subtrack;          /* in its group; TIMELINE_SUBTRACKS_MOST: left out */
};

struct timeline_group {
	struct timeline_slice *slices; /* in order of start */
	size_t count;
	int subtracks;
	int64_t busy_ns;
	bool is_kept;
};

struct timeline {
	const struct profile *profile;
	struct timeline_slice *slices;
	struct timeline_group *groups; /* in the order in which they are shown */
	size_t group_count, left_out;
	bool has_devices; /* more than one */
	int64_t end_ns;
};

/* Arranges the events of a trace.  The lists belong to the profile. */
void timeline_make(struct profile *profile, struct timeline *ret);

/* Writes "Thread main" or "Kernels, GPU 0, stream 7", in at most TIMELINE_NAME bytes. */
void timeline_name(const struct timeline *timeline, const struct timeline_group *group, char *ret);

/* Returns the style sheet class of the group's kind of events. */
const char *timeline_class(const struct timeline_group *group);

/* True if the page shows the slice. */
bool timeline_shows(const struct timeline_group *group, const struct timeline_slice *slice);

/*
 * Returns the function of a sample or of its caller, or the name of its file; `frame` may be NULL.
 */
const char *timeline_place(const struct profile *profile, const struct profile_frame *frame);

/* Returns the name of an event; "?" if it has none. */
const char *timeline_event(const struct profile *profile, const struct profile_event *event);

#endif
