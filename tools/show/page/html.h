/*
 * The sections of a page.
 *
 * cmd/html.c assembles them.  A page shows one run open: the last stage's median run, or its
 * slowest rank.  Only that run has sections with an id, and `links`; other runs are folded.
 */
#ifndef HP_TOOLS_SHOW_PAGE_HTML_H
#define HP_TOOLS_SHOW_PAGE_HTML_H

#include "analyze/advice.h"
#include "compare/compare.h"
#include "names/source.h"
#include "show/page/page_links.h"
#include "profile/profile.h"

#include <stdio.h>

/* Writes one sentence on where the time goes, and one on what to do first. */
void html_headline(FILE *to, const struct profile *profile, const struct advice_list *advice);

/*
 * Writes the states of the wall time as a bar, as figures and over time; or why they are unknown.
 */
void html_time(FILE *to, const struct profile *profile);

/*
 * Writes the advice as cards in order of saving.  Call html_tables() first: the cards link to it.
 */
void html_next(FILE *to, const struct profile *profile, const struct advice_list *advice,
	       const struct page_links *links);

/* Writes the first cards of a folded run, without links. */
void html_next_folded(FILE *to, const struct profile *profile);

/*
 * Writes host code: functions by samples, and the gaps between calls; nothing if neither is known.
 */
void html_host(FILE *to, struct profile *profile, struct page_links *links);
void html_icicle(FILE *to, struct profile *profile);

/* Writes the sources with most time, from the folders of `where`; nothing if no line is known. */
void html_source(FILE *to, struct profile *profile, const struct source_where *where,
		 struct page_links *links);

/* Says on stderr which files that section quotes.  False: none. */
bool html_source_say(const struct page_links *links);

/* Writes the tables of tables.h as sections, or under titles if `links` is NULL. */
void html_tables(FILE *to, const struct profile *profile, struct page_links *links);

/* Writes what hotpin did, counters, options and environment, folded. */
void html_did(FILE *to, const struct profile *profile, bool opened);

/* Writes the figures of stages as a table, and the changes from each to the next. */
void html_comparison(FILE *to, const struct compare_stage *stages, size_t count);

/* Writes the stages as columns on one scale, the changes between them, and the comparison table. */
void html_stages(FILE *to, const struct compare_stage *stages, size_t count);

/* Writes the ranks of a stage: each state by rank, and the spread of the ranks. */
void html_ranks(FILE *to, const struct compare_stage *stage);

#endif
