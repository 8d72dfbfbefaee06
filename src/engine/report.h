/*
 * What becomes known of a copy: a count, a measurement for the cost model, a record of the profile.
 */
#ifndef HP_ENGINE_REPORT_H
#define HP_ENGINE_REPORT_H

#include "engine/copy_state.h"

/* The copy has ended.  `moved`: without an error, and not empty; else it is only counted. */
void report_copy(const struct copy *copy, bool moved);

/* The copy is about to be cut into several calls, which are one copy in the profile. */
void report_cut(struct copy *copy);

#endif
