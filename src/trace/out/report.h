/*
 * The contents of a report, gathered once.  The emitters only format them.
 */
#ifndef HP_TRACE_OUT_REPORT_H
#define HP_TRACE_OUT_REPORT_H

#include "base/profile_fields.h"
#include "trace/calls/operations.h"
#include "trace/collect/collect.h"
#include "trace/operation.h"
#include "trace/out/process.h"

#define REPORT_WARNINGS_MOST 12
#define REPORT_WARNING_ROOM  200

struct report {
	struct process process;
	const char *stage;     /* "": none */
	char device_name[128]; /* "": unknown */
	int driver_version;
	bool on_stand_in;
	uint64_t link_bytes_per_s;       /* in each direction; 0: unknown */
	uint64_t peak[TRACE_DIRECTIONS]; /* bytes a second; 0: unknown */
	bool peak_observed;              /* by the run's own copies: a lower bound */
	uint64_t began_ns, ended_ns;
	bool ended;      /* false: results so far, while the program runs */
	int exit_status; /* -1: not known */

	const struct cupti *cupti; /* its path and version, where one was loaded */
	const char *why_not;       /* "" where CUPTI was used */
	struct collect_result collected;
	struct split_sum split;
	const struct split *ranges; /* for split_range_sum(); NULL: unknown */
	struct operations operations;
	bool calls;        /* true if calls were collected, with their places */
	uint64_t start_ns; /* time to start collecting */
	uint64_t exit_ns;  /* when the process would have ended without a profile */

	/* The program used no device: values of the device are 0, not unknown. */
	bool no_device;

	bool nothing_in_range; /* the capture range never began */

	/* Which results are reliable.  Without `device`, the device's times are unknown. */
	bool device, aligned;
	bool truncated;
	char split_why[REPORT_WARNING_ROOM]; /* why there is no split; "": there is a split */
	size_t warnings;
	char warning[REPORT_WARNINGS_MOST][REPORT_WARNING_ROOM];
};

/*
 * Lower bounds of the wall time, from its split.  Each bound is the least wall time under its
 * assumption, so each saving is the most.
 */
#define REPORT_BOUNDS 3
void report_bounds(const struct report *report, struct profile_bound ret[REPORT_BOUNDS]);

/* Returns the time of copies of pageable memory in excess of the time at the link's peak. */
int64_t report_excess_ns(const struct report *report);

/* Sums the copies between host and devices in both views. */
void report_bus_read(const struct report *report, struct profile_coverage *ret,
		     struct profile_promotion *ret_pinned);

/* Returns the states of a split, unknown if the report has none. */
struct profile_split report_split(const struct report *report, const struct split_sum *split);

/* Returns the time for which the host continued while deferred copies were in flight. */
int64_t report_ahead_ns(const struct report *report);

/* Names that all emitters use, by enum. */
extern const char *const report_directions[AGGREGATE_DIRECTIONS]; /* h2d.. */
extern const char *const report_memories[TRACE_MEMORIES];         /* pageable.. */

#endif
