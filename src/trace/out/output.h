/*
 * Writes reports: the table to the log, the JSON to HOTPIN_OUT.
 *
 * The JSON is written at the start, from time to time and at the end, so that a killed program
 * leaves its profile behind.
 */
#ifndef HP_TRACE_OUT_OUTPUT_H
#define HP_TRACE_OUT_OUTPUT_H

#include "trace/out/report.h"

/*
 * The time until the next report, in a program that has run for `elapsed_ns`: a fiftieth of the
 * run, at least half a second and at most a minute.  So the last hour of a day writes 60 reports,
 * and a killed program loses at most a fiftieth of its profile.  Pure.
 */
uint64_t output_interval_ns(uint64_t elapsed_ns);

/* Allows reports of the running program.  `base` holds what is constant in every report. */
void output_begin(const struct report *base);

/* Writes such a report if one is due.  A collect_look_fn. */
void output_look(const struct collect_result *so_far, uint64_t until_ns);

/*
 * Fills in the report of a program that has ended, after collect_stop(), and writes it.  Warns if
 * the JSON is missing or has another name.
 */
void output_end(struct report *report, uint64_t ended_ns);

/*
 * True if the JSON has been written since then (in UNIX time): by a child, such as a shell's, or by
 * the program that this process was before it executed another one.
 */
bool output_is_written(const struct process *process, uint64_t since_ns);

#endif
