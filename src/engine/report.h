/*
 * What becomes known of a copy: a measurement for the cost model, a record of the profile.
 */
#ifndef HP_ENGINE_REPORT_H
#define HP_ENGINE_REPORT_H

#include "engine/copy_state.h"

/* The copy has succeeded.  For copies that are measured or profiled. */
void report_copy(const struct copy *copy);

/* A profiled copy is about to be cut into several calls, which are one copy in the profile. */
void report_cut(struct copy *copy);

#endif
