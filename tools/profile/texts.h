/*
 * Texts for figures and names of a profile, the same in reports, pages and tables.
 *
 * Each function returns a text that lives until the command ends.  UNKNOWN is "n/a".
 */
#ifndef HP_TOOLS_PROFILE_TEXTS_H
#define HP_TOOLS_PROFILE_TEXTS_H

#include "profile/profile.h"

#include <stdarg.h>
#include <stdio.h>

char *text_made(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_of(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* The same, or "": a part of a sentence. */
const char *text_if(bool is_said, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Lines for a writer are one text, in which each ends with a newline; NULL: there are none.  Adds a
 * line.  Takes off the first one and returns it, or NULL.
 */
void text_add_line(const char **lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *text_take_line(const char **lines);

const char *text_time(int64_t ns);
const char *text_bytes(int64_t bytes);
const char *text_count(int64_t count);

/* "1 run" or "7 runs": the count with what it counts. */
const char *text_several(int64_t count, const char *one, const char *several);

const char *text_rate(int64_t bytes, int64_t ns);    /* GB/s */
const char *text_share(int64_t part, int64_t whole); /* "12.3 %" */

/* "Peak of the link: 63.0 GB/s H2D, ..", or the best rate of the run where that is the peak. */
const char *text_peak(const struct profile *profile);

/* True if the profile's peak is the best rate of its run. */
bool text_peak_is_best(const struct profile *profile);

/* A size that is a power of 2: "64 KiB". */
const char *text_power(int64_t bytes);

/* "3.10 s less", "no change", "12.0 ms more". */
const char *text_change(int64_t before_ns, int64_t after_ns);

/* True if the change from before to after is below the noise. */
bool text_is_same(int64_t before, int64_t after, unsigned noise_tenths);

/* Returns the text escaped for a terminal, at most `columns` wide; "n/a" for NULL. */
const char *text_name(const char *text, size_t columns);

/*
 * Writes the text.  instead() returns what stands for a character, or NULL; what no terminal should
 * see becomes \x1b.
 */
void text_put(FILE *to, const char *text, const char *(*instead)(const char *at));

/* Returns a JSON string, or null for NULL.  Bytes that are not UTF-8 are escaped. */
struct json_t *text_json(const char *text);

/* The room that so many columns need, with characters of up to four bytes. */
#define TEXT_BYTES(columns) (4 * (columns) + 1)

/* "H2D" of "h2d". */
const char *text_direction(const char *direction);

/* "kernel", "copy", ..; "other" for a kind of a later version. */
const char *text_event_kind(int64_t kind);

/* "2026-11-21 10:15:00 UTC" of "20261121-101500". */
const char *text_when(const char *ended_utc);

/* "13.0" of 13000, "13.0" of 130001, "API 26" of 26. */
const char *text_cuda_version(int64_t version);
const char *text_cupti_version(int64_t version);

/* Returns that the profile has no split of the wall time, and the reason if the profile says it. */
const char *text_no_split(const struct profile *profile);

/* The states of the wall time, in the order in which they are shown. */
#define TEXT_STATES 6
struct text_state {
	const char *field, *title, *heading; /* as in base/states.def; field: its class on a page */
	size_t at;                           /* in struct profile_split */
};
extern const struct text_state text_states[TEXT_STATES];
int64_t text_state_ns(const struct profile_split *split, int state);

/*
 * Returns the shares of the states in tenths of a percent, which sum to 1000; unknown states are 0.
 */
void text_split_tenths(const struct profile_split *split, unsigned ret_tenths[TEXT_STATES]);

#endif
