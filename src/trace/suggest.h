/*
 * The changes that the table at exit names.
 *
 * They are the kinds of `hotpin report`, without places: those need the program's files.
 */
#ifndef HP_TRACE_SUGGEST_H
#define HP_TRACE_SUGGEST_H

#include "trace/report.h"

#define SUGGEST_MOST 3

struct suggestion {
	const char *what;
	uint64_t saves_ns;   /* of the wall time, at most */
	bool hotpin_does_it; /* without a change of the program */
};

/*
 * Writes the changes that save most, 1 % of the wall time at least, by falling saving.  Returns how
 * many.  Takes the lock `trace`.
 */
size_t suggest(const struct report *report, struct suggestion ret[SUGGEST_MOST]);

#endif
