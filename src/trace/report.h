/*
 * Everything that a report says, gathered once; the emitters only lay it out.
 */
#ifndef HP_TRACE_REPORT_H
#define HP_TRACE_REPORT_H

#include "trace/collect.h"
#include "trace/hostcalls.h"
#include "trace/operation.h"
#include "trace/process.h"
#include "trace/whatif.h"

#define REPORT_WARNINGS_MOST 12
#define REPORT_WARNING_ROOM  200

struct report {
	struct process process;
	const char *stage;     /* "": none */
	char device_name[128]; /* "": unknown */
	char device_uuid[33];  /* likewise */
	int driver_version;
	bool on_stand_in;
	uint64_t peak[TRACE_DIRECTIONS];      /* bytes a second; 0: not measured */
	bool peak_observed[TRACE_DIRECTIONS]; /* of the run's own copies: a lower bound */
	uint64_t began_ns, ended_ns;
	bool ended;      /* false: what is known so far, while the program runs */
	int exit_status; /* -1: not known */

	const struct cupti *cupti; /* its path and version, where one was loaded */
	const char *why_not;       /* "" where CUPTI was used */
	struct collect_result collected;
	struct split_sum split;
	struct window *window;      /* what to leave out; NULL: the report is of the whole run */
	const struct split *stages; /* for split_stage_sum(); NULL: unknown */
	struct hostcalls calls;
	bool events;       /* was the timeline collected? */
	bool repeats;      /* were copies hashed? */
	bool buffers;      /* were those of the host collected? */
	bool sites;        /* were call sites collected? */
	bool gaps;         /* was host code between calls? */
	bool launches;     /* were call sites of launches? */
	uint64_t start_ns; /* what starting to collect took */

	/* The program used none: what there would be to know of it is 0, not unknown. */
	bool no_device;

	/* What may be believed.  Without `device`, nothing is known of the device's times. */
	bool device, aligned;
	bool truncated;
	char split_why[REPORT_WARNING_ROOM]; /* why there is no split; "": there is one */
	size_t warnings;
	char warning[REPORT_WARNINGS_MOST][REPORT_WARNING_ROOM];
};

/* Copies between host and devices, in both views; the device's are 0 where nothing is known. */
struct report_bus {
	uint64_t our_count, our_bytes, promoted_bytes, own_pinned_bytes;
	bool own_unknown; /* of some memory nobody has asked who has pinned it */
	uint64_t their_count, their_bytes, their_pinned_bytes;
};

void report_bus_read(const struct report *report, struct report_bus *ret);

/* What the bounds of whatif.h are made of. */
void report_whatif(const struct report *report, struct whatif_facts *ret);

/* Words of all emitters, by enum. */
extern const char *const report_directions[AGGREGATE_DIRECTIONS];    /* h2d.. */
extern const char *const report_device_memories[AGGREGATE_MEMORIES]; /* pageable.. */
extern const char *const report_host_memories[TRACE_MEMORIES];

#endif
