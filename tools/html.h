/*
 * The sections of a page.
 *
 * html.c puts them together.  A page opens one run: the last stage's median run, or its slowest
 * rank.  Only that run has sections with an id; other runs are folded.
 */
#ifndef HP_TOOLS_HTML_H
#define HP_TOOLS_HTML_H

#include "advice.h"
#include "annotate_lines.h"
#include "compare.h"
#include "profile.h"

#include <stdio.h>

/* What takes the time, and what to do first, in one sentence each. */
void html_headline(FILE *to, const struct profile *profile, const struct advice_list *advice);

/* The states of the wall time as a bar, as figures and over time; without them, why. */
void html_time(FILE *to, const struct profile *profile);

/* The advice as cards in order of saving; html_tables() was called before for its links. */
void html_next(FILE *to, const struct profile *profile, const struct advice_list *advice);

/* The same of a run that is folded: the first cards, without links. */
void html_next_folded(FILE *to, const struct profile *profile);

/* The timeline of a trace. */
void html_timeline(FILE *to, struct profile *profile);

/* Host code: functions by samples, and what lies between calls; nothing if neither is known. */
void html_host(FILE *to, struct profile *profile);
void html_icicle(FILE *to, struct profile *profile);

/* "solve() at solve.cu:42, called from main() in heat", with control characters escaped. */
void html_place(const struct profile *profile, const struct profile_frames *frames, bool allocation,
		char *ret, size_t room);

/* The sources with most time, from the folders of `where`; nothing if no line is known. */
void html_source(FILE *to, struct profile *profile, const struct annotate_where *where);

/* The id of the frame's line in that section; false if it shows no such line. */
bool html_source_anchor(const struct profile_frame *frame, char *ret, size_t room);

/* Copies, sites, buffers, kernels, calls, ranges; `opened`: as sections, else under titles. */
void html_tables(FILE *to, const struct profile *profile, bool opened);

/* Parts of them. */
void html_copies(FILE *to, const struct profile *profile, bool opened);
void html_buffers(FILE *to, const struct profile *profile, bool opened);

/* What hotpin did, counters, options and environment, folded. */
void html_did(FILE *to, const struct profile *profile, bool opened);

/* The figures of stages as a table, and what changed from each to the next. */
void html_comparison(FILE *to, const struct compare_stage *stages, size_t count,
		     unsigned noise_tenths);

/* The stages as columns on one scale with the changes between them, and the comparison table. */
void html_stages(FILE *to, const struct compare_stage *stages, size_t count, unsigned noise_tenths);

/* The ranks of a stage: each state by rank, and how far ranks lie apart. */
void html_ranks(FILE *to, const struct compare_stage *stage);

/* The rank with the longest wall time. */
const struct profile *html_slowest(const struct compare_stage *stage);

#endif
