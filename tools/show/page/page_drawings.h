/*
 * The drawings of a page: stages, ranks, and the rates of copies.
 */
#ifndef HP_TOOLS_SHOW_PAGE_PAGE_DRAWINGS_H
#define HP_TOOLS_SHOW_PAGE_PAGE_DRAWINGS_H

#include "analyze/ranks.h"
#include "compare/compare.h"

#include <stdio.h>

/* Draws the wall time of each stage by state, and the changes in between. */
void page_stages(FILE *to, const struct comparison *comparison);

/* Draws a tile for each rank. */
void page_ranks(FILE *to, const struct ranks *ranks);

/* Draws GB/s by size of copy, if there are two sizes and device times. */
void page_rates(FILE *to, const struct profile *profile);

#endif
