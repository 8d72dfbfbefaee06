/*
 * The timeline of a trace, laid out in rows.
 *
 * A group holds the events of a thread, of copies in one direction, of a stream's kernels.  Events
 * of a group that overlap lie in rows of their own.
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
	int64_t device, track; /* UNKNOWN: of all */
	int subtrack;          /* in its group; TIMELINE_SUBTRACKS_MOST: left out */
};

struct timeline_group {
	struct timeline_slice *slices; /* by start */
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

/* Lays the events of a trace out.  The lists are the profile's. */
void timeline_make(struct profile *profile, struct timeline *ret);

/* "Thread main", "Kernels, GPU 0, stream 7", in at most TIMELINE_NAME bytes. */
void timeline_name(const struct timeline *timeline, const struct timeline_group *group, char *ret);

/* The class of the page's style sheet for what the group holds. */
const char *timeline_class(const struct timeline_group *group);

/* True if the page shows the slice. */
bool timeline_shows(const struct timeline_group *group, const struct timeline_slice *slice);

/* The function of a sample or of its caller, or the name of its file; `frame` may be NULL. */
const char *timeline_place(const struct profile *profile, const struct profile_frame *frame);

/* The name of an event; "?" if it has none. */
const char *timeline_event(const struct profile *profile, const struct profile_event *event);

#endif
