/*
 * What the parts of `hotpin trace` share: events of the Chrome Trace Event Format.
 */
#ifndef HP_TOOLS_TRACE_WRITE_H
#define HP_TOOLS_TRACE_WRITE_H

#include "profile.h"

#include <stdio.h>

/* Above every number that Linux gives to a process or thread: 2^22 at most. */
#define TRACE_DEVICE_PID   10000000
#define TRACE_SUBTRACK_TID 20000000
#define TRACE_DEVICES      1000 /* numbers of each file */

struct trace_output {
	FILE *to;
	bool any;         /* an event was written */
	int64_t next_tid; /* of subtracks */
	size_t arrows;
	size_t left_out; /* for want of subtracks */

	/* Of the file that is being written. */
	struct profile *profile;
	int64_t file, pid, offset_ns; /* offset_ns: when it began, by the clock of all files */
	const char *prefix;           /* of the names of its processes */
	const char **names, **sites, **buffers, **routes; /* as JSON */
	const char **places;                              /* likewise; the last one is unknown */
	int64_t *tids; /* by row: the subtrack it is in; 0: none */
	size_t *calls; /* by row: flows_find(); NULL: not known */
};

/* A comma, unless it is the first. */
void trace_begin_event(struct trace_output *output);

/* ,"name":12.345 of what is no time of the profile's, and of what is. */
void trace_microseconds(FILE *to, const char *name, int64_t ns);
void trace_at(struct trace_output *output, int64_t ns);

/* As JSON, in ASCII; in the profile's memory. */
const char *trace_quoted(struct profile *profile, const char *text);

/* `what` is "process" or "thread"; `name` is JSON.  Tracks stand by `order`. */
void trace_name_track(struct trace_output *output, const char *what, int64_t pid, int64_t tid,
		      const char *name, int64_t order);

/* Of a process of the viewer's that holds all of one device. */
int64_t trace_device_pid(const struct trace_output *output, int64_t device);
bool trace_is_stream(const struct profile_track *track);

/* All slices of the file, and its arrows; rows are sorted by track. */
void trace_slices(struct trace_output *output);

/* For each device: copies, what runs, and the memory in use; after trace_slices(). */
void trace_counters(struct trace_output *output);

#endif
