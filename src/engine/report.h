/* Reports a finished copy: its duration to the cost model, a record to the profile. */
#ifndef HP_ENGINE_REPORT_H
#define HP_ENGINE_REPORT_H

#include "engine/copy_state.h"

/* Called for copies that succeeded and are measured or profiled. */
void report_copy(const struct copy *copy);

/* Called before a profiled copy is cut into several calls, which the profile shows as one copy. */
void report_cut(struct copy *copy);

#endif
