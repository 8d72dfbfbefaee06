/*
 * Writes the table at exit.
 */
#ifndef HP_TRACE_OUT_EMIT_TEXT_H
#define HP_TRACE_OUT_EMIT_TEXT_H

#include "trace/out/report.h"
#include "trace/out/writer.h"

#define EMIT_TEXT_LINES_MOST 12

/* Writes at most EMIT_TEXT_LINES_MOST lines, of at most `columns` columns. */
void emit_text(const struct report *report, struct writer *writer, unsigned columns);

#endif
