/*
 * The sections of a page.
 */
#ifndef HP_TOOLS_SHOW_PAGE_HTML_H
#define HP_TOOLS_SHOW_PAGE_HTML_H

#include "compare/compare.h"
#include "show/page/page.h"

/* True if the runs of a stage are the ranks of one run. */
bool html_is_of_ranks(const struct compare_stage *stage);

/* Writes what costs most in the run of the page, and what the first suggestion saves. */
void html_headline(struct page *page);

/* Writes the stages and their ranks, and all sections of the run of the page. */
void html_sections(struct page *page, const struct comparison *stages);

/* Writes call chains of host samples as an icicle chart. */
void html_icicle(FILE *to, struct profile *profile);

#endif
