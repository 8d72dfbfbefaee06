/*
 * Figures and names of a profile in words, the same in the text, the page and the table.
 *
 * Each returns a text that stays until sixteen more were asked for.  UNKNOWN is "n/a".
 */
#ifndef HP_TOOLS_SHOW_H
#define HP_TOOLS_SHOW_H

#include "profile.h"

const char *show_time(int64_t ns);
const char *show_bytes(int64_t bytes);
const char *show_count(int64_t count);

/* "1 run" or "7 runs": the count with what it counts. */
const char *show_several(int64_t count, const char *one, const char *several);

const char *show_rate(int64_t bytes, int64_t ns);    /* GB/s */
const char *show_share(int64_t part, int64_t whole); /* "12.3 %" */

/* Bytes in proportion to what the link could have moved in their time on the device. */
const char *show_of_peak(const struct profile *profile, const struct profile_transfer *row);

/* A size that is a power of 2: "64 KiB". */
const char *show_power(int64_t bytes);

/* "3.10 s less", "no change", "12.0 ms more". */
const char *show_change(int64_t before_ns, int64_t after_ns);

/* "12 % less", "the same" (within `noise_tenths` of a percent), "3.2 times", "new", "gone". */
const char *show_ratio(int64_t before, int64_t after, unsigned noise_tenths);

/* Is what changed from before to after less than that noise? */
bool show_is_same(int64_t before, int64_t after, unsigned noise_tenths);

/* Harmless on a terminal, at most `columns` wide; "n/a" for NULL. */
const char *show_text(const char *text, size_t columns);

/* Room for so many columns, so that no character of four bytes is cut in two. */
#define SHOW_BYTES(columns) (4 * (columns) + 1)

/* "H2D" of "h2d". */
const char *show_direction(const char *direction);

/* "2026-11-21 10:15:00 UTC" of "20261121-101500". */
const char *show_when(const char *ended_utc);

/* "13.0" of 13000, "13.0" of 130001, "API 26" of 26. */
const char *show_cuda_version(int64_t version);
const char *show_cupti_version(int64_t version);

/*
 * Sentences: how the program ended, if badly, and its largest part of the wall time; NULL: not
 * known.  `on_host_code` follows if that is host code; NULL: how to find what to port.
 */
const char *show_verdict(const struct profile *profile, const char *on_host_code);

/* Says that the profile has no split of the wall time, and why as far as the profile says it. */
const char *show_no_split(const struct profile *profile);

/* What a bound of what_if means, in a few words. */
const char *show_bound(const char *name);

/* The states of the wall time, in the order in which they are shown, with what each means. */
#define SHOW_PARTS 6
struct show_part {
	const char *name, *title, *heading, *note; /* heading: of a column */
	size_t at;                                 /* in struct profile_split */
};
extern const struct show_part show_parts[SHOW_PARTS];
int64_t show_part_ns(const struct profile_split *split, int part);

/* Their shares as tenths of a percent that sum to 1000; of what is not known, 0. */
void show_split_tenths(const struct profile_split *split, unsigned ret_tenths[SHOW_PARTS]);

#endif
