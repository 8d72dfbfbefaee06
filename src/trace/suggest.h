/*
 * Suggests changes for the table at exit.
 *
 * The suggestions are of the same kinds as in `hotpin report`, without places, which need the
 * program's files.
 */
#ifndef HP_TRACE_SUGGEST_H
#define HP_TRACE_SUGGEST_H

#include "trace/report.h"

#define SUGGEST_MOST 3

struct suggestion {
	const char *what;
	uint64_t saves_ns;   /* of the wall time, at most */
	bool hotpin_does_it; /* without a change to the program */
};

/*
 * Writes the changes that save most, each at least 1 % of the wall time, by falling saving.
 * Returns their number.  Takes the lock `trace`.
 */
size_t suggest(const struct report *report, struct suggestion ret[SUGGEST_MOST]);

#endif
