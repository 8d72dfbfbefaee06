/*
 * An entry of the advice as JSON.
 */
#ifndef HP_TOOLS_ANALYZE_ADVICE_JSON_H
#define HP_TOOLS_ANALYZE_ADVICE_JSON_H

#include "analyze/advice.h"

#include <jansson.h>

/* Unknown values are null.  The caller owns the result. */
json_t *advice_json(const struct profile *profile, const struct advice *advice);

#endif
