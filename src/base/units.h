/*
 * Figures and names as people read them.  Pure, and the same in every locale.
 *
 * printf's %f is not used anywhere here: it would write what the program's locale says.
 */
#ifndef HP_BASE_UNITS_H
#define HP_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Room that each of these needs. */
#define UNITS_ROOM 32

/* "4.10 s", "12.3 ms", "870 us", "55 ns": three digits. */
const char *units_time(char *buffer, uint64_t ns);

/* "31.5 GB", "870 kB", "12 B": powers of 1000, as bandwidths are given. */
const char *units_bytes(char *buffer, uint64_t bytes);

/* GB/s: "7.90", "55.1"; "n/a" where nothing was moved or no time was taken. */
const char *units_rate(char *buffer, uint64_t bytes, uint64_t ns);

/* "4 200". */
const char *units_count(char *buffer, uint64_t count);

/* Tenths of a percent: "31.9 %". */
const char *units_tenths(char *buffer, unsigned tenths);

/* part / whole in percent, "98.8 %"; "n/a" where there is no whole. */
const char *units_share(char *buffer, uint64_t part, uint64_t whole);

/*
 * How many bytes at `text` make up one character of well-formed UTF-8 that is no control
 * character; 0: none, escape the first byte.
 */
size_t units_printable(const char *text, size_t length);

/*
 * `text` with control bytes and broken UTF-8 written as \xNN, cut to at most `columns` characters
 * (with ".." at the end where it was).
 */
const char *units_escape(char *buffer, size_t room, const char *text, size_t columns);

/*
 * The readable part of a mangled C++ name: "ns::kernel<..>" of _ZN2ns6kernelIfEEvPT_.  Anything
 * that is not understood comes back as it is.  Cut at `room`.
 */
const char *units_kernel_name(char *buffer, size_t room, const char *mangled);

#endif
