/*
 * One profiled run on the mock CUPTI, from options to the text and the JSON that it wrote.
 *
 * The test controls the clock of the program: stage_clock() freezes CLOCK_MONOTONIC, so that
 * figures are exact to the nanosecond.
 */
#ifndef HP_TEST_STAGE_H
#define HP_TEST_STAGE_H

#include "mock_cupti.h"
#include "trace/collect/cupti_min.h"
#include "trace/trace.h"

#define SECOND 1000000000ull
#define MILLI  1000000ull
#define MICRO  1000ull

/*
 * The files `log` and `profile.json` of the test's folder, which stage_end() reads and removes; ""
 * if nothing was written.
 */
extern char stage_text[1 << 16], stage_json[1 << 22];

/* The start of the profiled run: ten seconds before the frozen clock. */
extern uint64_t stage_base;

/* Freezes the clock; false: uses the real clock again. */
void stage_clock(bool frozen);

/* Advances the frozen clock. */
void stage_pass(uint64_t ns);

/* The frozen clock advances by so much at each look; initially 0. */
extern _Atomic uint64_t stage_tick_ns;

/*
 * Calls trace_start() with these options (NULL-terminated) and the log file, and with HOTPIN_OUT if
 * `json` is set.  The clock is frozen.
 */
void stage_begin(bool json, const char *const *options);

/*
 * Like stage_begin(), with these facts; stage_begin() has those of an H200.  Without driver
 * functions, there is one, which waits.
 */
void stage_begin_with(bool json, const char *const *options, const struct trace_facts *facts);

/* Like stage_begin(), with the JSON, one option or NULL, and these driver functions. */
void stage_begin_calls(const char *option, const char *(*name)(size_t function), size_t functions);

/* Calls trace_finish(), then reads the written files. */
void stage_end(void);

/* Reports a copy as the shim does, at stage_base + `at_ns`. */
void stage_copied(enum trace_direction direction, enum trace_memory memory, uint64_t bytes,
		  uint64_t at_ns, uint64_t took_ns);

/* Reports a call of the function that waits, as the shim does, at stage_base + `at_ns`. */
void stage_waited(uint64_t at_ns, uint64_t took_ns);

/*
 * Returns the number after "key": after "section": (NULL: anywhere) in the JSON; -1: none, -2:
 * null.
 */
long long stage_number(const char *section, const char *key);

/* Returns `key` of the row of transfers with this view, direction and memory. */
long long stage_row(const char *view, const char *direction, const char *memory, const char *key);

/* Returns how often `text` contains `part`. */
int stage_count(const char *text, const char *part);

/*
 * Compares stage_text with the file `name` in HOTPIN_GOLDEN, without the process id and the cost of
 * profiling.
 */
int stage_is_golden(const char *name);

#endif
