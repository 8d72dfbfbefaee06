/*
 * Ranks the changes that a profile suggests, by the wall time that each could save.
 *
 * A pure function of the profile.  A saving is a bound, which is the most that the change can save,
 * or an estimate.  Savings of several entries do not add up.  The list omits changes that the
 * profile cannot judge.
 */
#ifndef HP_TOOLS_ANALYZE_ADVICE_H
#define HP_TOOLS_ANALYZE_ADVICE_H

#include "profile/profile.h"

#define ADVICE_MOST 48  /* entries */
#define ADVICE_TEXT 400 /* characters of a sentence that are shown */

enum advice_kind {
	ADVICE_PIN,         /* pageable copies */
	ADVICE_UPLOAD_ONCE, /* copies of data that the device already has */
	ADVICE_KEEP,        /* downloads whose data is uploaded again */
	ADVICE_PORT,        /* host code */
	ADVICE_ALLOCATE,    /* allocations in a loop */
	ADVICE_BATCH,       /* many small copies */
	ADVICE_HOST_COPY,   /* copies from host to host by CUDA */
	ADVICE_OVERLAP,
	ADVICE_SYNCHRONIZE, /* calls that wait while the device is idle */
	ADVICE_SETTING,     /* a setting of a library that the program uses */
	ADVICE_KINDS
};

struct advice {
	enum advice_kind kind;
	bool is_estimate;    /* of saves_ns; else a bound */
	bool hotpin_does_it; /* `hotpin run` does it without a change of the program */
	int64_t saves_ns;    /* at most the wall time */
	const struct profile_frame *frame; /* its line of source; NULL: none, or not known */
	/* Not escaped; "" if there is nothing to say. */
	const char *what, *where, *how, *assumes;
};

struct advice_list {
	struct advice items[ADVICE_MOST]; /* largest saves_ns first */
	size_t count;
	bool is_done; /* no change that is worth its effort is left */
	/* Sentences as above: the activities that take the time that no entry saves; the facts that
	 * are unknown, and why. */
	const char *left, *blind;
};

/* Makes the list.  Without names_resolve(), functions are summed up by the files that hold them. */
void advice_make(const struct profile *profile, struct advice_list *ret);

/* True if an entry saves 1 % of the wall time or more. */
bool advice_is_worth(const struct profile *profile, const struct advice *advice);

/* Returns a sentence for a list without an entry that is worth its effort. */
const char *advice_nothing(const struct advice_list *list);

/* The names of the kinds in JSON: "pin", "upload_once", .. */
extern const char *const advice_kinds[ADVICE_KINDS];

#endif
