/*
 * Writes timelines in the Chrome Trace Event Format; the last part is for its own sources.
 */
#ifndef HP_TOOLS_SHOW_TRACE_WRITE_H
#define HP_TOOLS_SHOW_TRACE_WRITE_H

#include "profile/profile.h"

#include <jansson.h>
#include <stdio.h>

/* Writes the timelines of the profiles, which have one, on one clock. */
void trace_write(FILE *to, struct profile *profiles, size_t count);

struct trace_output {
	FILE *to;
	bool any;         /* an event was written */
	int64_t next_tid; /* of the next subtrack */
	size_t arrows;
	size_t left_out; /* because all subtracks are used */

	/* Of the file that is being written. */
	struct profile *profile;
	int64_t file, pid, offset_ns;  /* offset_ns: when it began, by the clock of all files */
	const char *prefix;            /* of the names of its processes */
	int64_t *tids;                 /* the subtrack of each row; 0: none */
	const char **sites, **buffers; /* their names; NULL: not yet made */
};

/* Writes a comma, except before the first event. */
void trace_begin_event(struct trace_output *output);

/* Write ,"name":12.345: for a duration; for a time of the profile. */
void trace_microseconds(FILE *to, const char *name, int64_t ns);
void trace_at(struct trace_output *output, int64_t ns);

/* Returns the text as a JSON string; writes a value in ASCII and frees it. */
json_t *trace_text(const char *text);
void trace_put(struct trace_output *output, json_t *value);

/* Names a track.  `what` is "process" or "thread"; `order` sorts the tracks. */
void trace_name_track(struct trace_output *output, const char *what, int64_t pid, int64_t tid,
		      const char *name, int64_t order);

bool trace_is_stream(const struct profile_track *track);

/* Returns the id of the viewer's process of a track: all streams of a device are in one. */
int64_t trace_pid(const struct trace_output *output, const struct profile_track *track);

/* Writes all slices of the file.  Rows must be sorted by track. */
void trace_slices(struct trace_output *output);

/* Writes arrows from calls to their copies.  Called after trace_slices(). */
void trace_arrows(struct trace_output *output);

#endif
