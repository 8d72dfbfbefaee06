/*
 * Sentences on a run that the report and the page share.
 */
#ifndef HP_TOOLS_ANALYZE_RUN_NOTES_H
#define HP_TOOLS_ANALYZE_RUN_NOTES_H

#include "profile/profile.h"

/* Tell a reader what he must know before any figure, a sentence at a time, without a period. */
void run_notes(const struct profile *profile, void (*say)(void *arg, const char *text), void *arg);

/* True if there are such sentences. */
bool run_has_notes(const struct profile *profile);

/* Tell how long calls that copy, and calls that wait, block the host. */
void run_blocked(const struct profile *profile, void (*say)(void *arg, const char *text),
		 void *arg);

/* Tell which process the profile is of, what it misses, and what it cost. */
void run_facts(const struct profile *profile, void (*say)(void *arg, const char *text), void *arg);

#endif
