/*
 * The sections of a page.
 *
 * cmd/html.c assembles them.  Below the stages, a page shows one run: the last stage's median run,
 * or its slowest rank.
 */
#ifndef HP_TOOLS_SHOW_PAGE_HTML_H
#define HP_TOOLS_SHOW_PAGE_HTML_H

#include "compare/compare.h"
#include "names/source.h"
#include "show/page/page.h"

/* Writes what costs most, and what the first suggestion saves. */
void html_headline(FILE *to, const struct profile *profile);

/* Writes host code: functions by samples, and the gaps between calls; nothing if it is unknown. */
void html_host(FILE *to, struct profile *profile, struct page *page);
void html_icicle(FILE *to, struct profile *profile);

/* Writes the sources with most time, which are those of the page; nothing if there are none. */
void html_source(FILE *to, struct profile *profile, const struct source_lines *lines,
		 struct page *page);

/* Says on stderr which files that section quotes.  False: none. */
bool html_source_say(const struct page *page);

/* Writes the tables of tables.h as sections, and what hotpin did. */
void html_tables(FILE *to, const struct profile *profile, struct page *page);

/* Writes the stages on one scale, their figures, and the changes from each to the next. */
void html_stages(FILE *to, const struct comparison *comparison, struct page *page);

/* Writes the ranks of a stage, and their spread. */
void html_ranks(FILE *to, const struct compare_stage *stage, struct page *page);

#endif
