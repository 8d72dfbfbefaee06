/*
 * The advice as JSON.
 */
#ifndef HP_TOOLS_ADVICE_JSON_H
#define HP_TOOLS_ADVICE_JSON_H

#include "advice.h"

#include <jansson.h>

/* Return one entry, and the whole list; unknown values are null.  The caller owns the result. */
json_t *advice_json(const struct profile *profile, const struct advice *advice);
json_t *advice_list_json(const struct profile *profile, const struct advice_list *list);

#endif
