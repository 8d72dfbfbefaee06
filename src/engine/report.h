/* Reports a finished copy to the profile. */
#ifndef HP_ENGINE_REPORT_H
#define HP_ENGINE_REPORT_H

#include "engine/copy_state.h"

/* Called for copies that succeeded, if they are profiled. */
void report_copy(const struct copy *copy);

#endif
