/*
 * Prints the comparison of porting stages, as text or as a table of Markdown.  `least_tenths` is
 * the least noise.
 */
#ifndef HP_TOOLS_SHOW_COMPARE_SHOW_H
#define HP_TOOLS_SHOW_COMPARE_SHOW_H

#include "compare/compare.h"

#include <stdio.h>

void compare_show_table(const struct compare_stage *stages, size_t count, unsigned least_tenths,
			bool markdown);

/* Prints the changes from each stage to the next, and the saving that a next change could bring. */
void compare_show_steps(const struct compare_stage *stages, size_t count, unsigned least_tenths);

/* Writes what was advised for `before`, and whether it came true; nothing if nothing was. */
void compare_show_prediction(FILE *to, const struct compare_stage *before,
			     const struct profile *after);

#endif
