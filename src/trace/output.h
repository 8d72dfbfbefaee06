/*
 * Where does a report go?  The table to the log, the JSON to HOTPIN_OUT.
 */
#ifndef HP_TRACE_OUTPUT_H
#define HP_TRACE_OUTPUT_H

#include "trace/report.h"

enum output_kind {
	OUTPUT_END,     /* the report */
	OUTPUT_RUNNING, /* what a program that is killed leaves behind: JSON, and only to a file */
	OUTPUT_ALONE,   /* the report, unless another process has written one meanwhile */
	OUTPUT_WINDOW,  /* of the last part of the run: JSON, in a file of its own */
	OUTPUT_DUMP,    /* asked for by HOTPIN_DUMP: a table and a JSON file of its own */
};

/*
 * Writes the table, and then the JSON.  `number` of a dump goes into its name.  Errors cost a
 * warning; no signal reaches the program because of us.
 */
void output_write(const struct report *report, enum output_kind kind, unsigned number);

/* Each alone.  Any thread: where one is writing JSON, another one does not, and says so. */
void output_text(const struct report *report);
void output_json(const struct report *report, enum output_kind kind, unsigned number);

/* Warns that the last JSON is not there: what writes it has stalled. */
void output_stalled(const struct report *report);

#endif
