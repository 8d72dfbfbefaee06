/*
 * Numbers and names in readable form.  Pure, and the same in every locale.
 *
 * These functions do not use printf's %f, whose output depends on the program's locale.
 */
#ifndef HP_BASE_UNITS_H
#define HP_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* The buffer size that each function for numbers needs. */
#define UNITS_ROOM 32

/* "4.10 s", "12.3 ms", "870 us", "55 ns": three digits. */
const char *units_time(char *buffer, uint64_t ns);

/* "31.5 GB", "870 kB", "12 B": powers of 1000, as bandwidths are given. */
const char *units_bytes(char *buffer, uint64_t bytes);

/* GB/s: "7.90", "55.1"; "n/a" if `bytes` or `ns` is 0. */
const char *units_rate(char *buffer, uint64_t bytes, uint64_t ns);

/* "4 200". */
const char *units_count(char *buffer, uint64_t count);

/* Tenths of a percent: "31.9 %". */
const char *units_tenths(char *buffer, unsigned tenths);

/*
 * Writes shares of a whole in tenths of a percent, rounded so that they add up to exactly 1000
 * (largest remainders first).  If the parts sum to 0, all shares are 0.  At most 64 parts.
 */
void units_split_tenths(const uint64_t *parts, size_t count, unsigned *ret_tenths);

/* part / whole in percent, "98.8 %"; "n/a" if `whole` is 0. */
const char *units_share(char *buffer, uint64_t part, uint64_t whole);

/*
 * Returns the length of the UTF-8 character at `text`, or 0 if it is malformed or a control
 * character; then the first byte must be escaped.
 */
size_t units_printable(const char *text, size_t length);

/*
 * Copies `text`, with control characters and malformed UTF-8 as \xNN.  Text beyond `columns`
 * characters is replaced by "..".
 */
const char *units_escape(char *buffer, size_t room, const char *text, size_t columns);

/* Replaces each byte of a control character, or of malformed UTF-8, by "?". */
void units_clean(char *text);

#endif
