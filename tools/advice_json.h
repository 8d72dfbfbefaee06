/*
 * Advice for programs.
 */
#ifndef HP_TOOLS_ADVICE_JSON_H
#define HP_TOOLS_ADVICE_JSON_H

#include "advice.h"

#include <jansson.h>

/* One entry, and the whole list; null for what is not known.  The caller owns them. */
json_t *advice_json(const struct profile *profile, const struct advice *advice);
json_t *advice_list_json(const struct profile *profile, const struct advice_list *list);

#endif
