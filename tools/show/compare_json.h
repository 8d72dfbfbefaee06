/*
 * Prints the comparison of porting stages as JSON.
 */
#ifndef HP_TOOLS_SHOW_COMPARE_JSON_H
#define HP_TOOLS_SHOW_COMPARE_JSON_H

#include "compare/compare.h"

/* `least_tenths`: the least noise; `given`: the user stated it. */
void compare_json(const struct compare_stage *stages, size_t count, unsigned least_tenths,
		  bool given);

#endif
