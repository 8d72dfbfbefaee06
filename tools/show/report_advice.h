/*
 * The section of a report that advises what to do next.
 */
#ifndef HP_TOOLS_SHOW_REPORT_ADVICE_H
#define HP_TOOLS_SHOW_REPORT_ADVICE_H

#include "analyze/advice.h"

void report_advice(const struct profile *profile, const struct advice_list *list, bool all);

#endif
