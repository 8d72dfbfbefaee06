/*
 * The report for programs: one object, include/hotpin/report.schema.json.
 */
#ifndef HP_TOOLS_REPORT_JSON_H
#define HP_TOOLS_REPORT_JSON_H

#include "profile.h"

/* Prints profiles whose names are resolved, in their order.  They are not added up. */
void report_json(struct profile *profiles, size_t count);

#endif
