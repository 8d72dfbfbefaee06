/*
 * Writes a report: the table to the log, the JSON to HOTPIN_OUT.
 */
#ifndef HP_TRACE_OUT_OUTPUT_H
#define HP_TRACE_OUT_OUTPUT_H

#include "trace/out/report.h"

enum output_kind {
	OUTPUT_END,     /* the report */
	OUTPUT_RUNNING, /* for a program that may be killed: JSON, and only to a file */
	OUTPUT_ALONE,   /* the report of a program without CUDA: only to a file */
};

/*
 * Write the table or the JSON.  Writing sends no signal to the program.  Any thread.  False:
 * another thread writes JSON.
 */
void output_text(const struct report *report);
bool output_json(const struct report *report, enum output_kind kind);

/*
 * Warns if the last JSON is missing or has another name; `alone`: only if it is missing.  Not in
 * the thread that writes, which does not have the program's stderr.
 */
void output_warn(bool alone);

/*
 * True if the JSON has been written since then (in UNIX time): by a child, such as a shell's, or by
 * the program that this process was before it executed another one.
 */
bool output_is_written(const struct process *process, uint64_t since_ns);

/* Warns that the last JSON is missing, since its writer has stalled. */
void output_stalled(const struct report *report);

#endif
