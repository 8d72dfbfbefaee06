/*
 * Sentences on a run that the report and the page share.
 */
#ifndef HP_TOOLS_ANALYZE_RUN_NOTES_H
#define HP_TOOLS_ANALYZE_RUN_NOTES_H

#include "profile/profile.h"

/*
 * Returns what a reader must know before any figure, in lines of text_add_line() without a period;
 * NULL: nothing.
 */
const char *run_notes(const struct profile *profile);

/* Returns which process the profile is of, what it misses, and what it cost, in such lines. */
const char *run_facts(const struct profile *profile);

#endif
