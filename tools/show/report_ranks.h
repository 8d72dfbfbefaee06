/*
 * The section of a report that compares the ranks of a run.
 */
#ifndef HP_TOOLS_SHOW_REPORT_RANKS_H
#define HP_TOOLS_SHOW_REPORT_RANKS_H

#include "profile/profile.h"

/* Prints a row for each rank, and the load imbalance. */
void report_rank_table(const struct profile *profiles, size_t count);

#endif
