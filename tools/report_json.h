/*
 * The report as JSON: one object, include/hotpin/report.schema.json.
 */
#ifndef HP_TOOLS_REPORT_JSON_H
#define HP_TOOLS_REPORT_JSON_H

#include "profile.h"

/* Prints the profiles, with resolved names, in their order.  Does not add them up. */
void report_json(struct profile *profiles, size_t count);

#endif
