/*
 * One profiled run on the mock CUPTI, from options to the text and the JSON that it wrote.
 *
 * The test controls the clock of the program: stage_clock() freezes CLOCK_MONOTONIC, so that
 * figures are exact to the nanosecond.
 */
#ifndef HP_TEST_STAGE_H
#define HP_TEST_STAGE_H

#include "mock_cupti.h"
#include "trace/cupti_min.h"
#include "trace/trace.h"

#define SECOND 1000000000ull
#define MILLI  1000000ull
#define MICRO  1000ull

/* What stage_end() read back; "" where nothing was written. */
extern char stage_text[1 << 16], stage_json[1 << 22];
extern char stage_folder[256]; /* of this test alone, removed by stage_end() */

/* Where the profiled run began: ten seconds before the frozen clock. */
extern uint64_t stage_base;

/* false: the real clock again. */
void stage_clock(bool frozen);

/* The frozen clock goes on by so much. */
void stage_pass(uint64_t ns);

/* So much later is the frozen clock at each look; 0 to begin with. */
extern _Atomic uint64_t stage_tick_ns;

/*
 * trace_start() with these options (ended by NULL) besides the log file and, where `json` is set,
 * HOTPIN_OUT; the clock is frozen.
 */
void stage_begin(bool json, const char *const *options);

/* As stage_begin(), with these facts; those of stage_begin() are of an H200. */
void stage_begin_with(bool json, const char *const *options, const struct trace_facts *facts);

/* trace_finish(), then reads what was written. */
void stage_end(void);

/* A copy as the shim reports it, at stage_base + `at_ns`. */
void stage_copied(enum trace_direction direction, enum trace_memory memory, uint64_t bytes,
		  uint64_t at_ns, uint64_t took_ns);

/*
 * The number that follows "key": after "section": (NULL: anywhere) in the JSON; -1: none, -2: null.
 */
long long stage_number(const char *section, const char *key);

/* The number of the row of transfers that has this view, direction and memory. */
long long stage_row(const char *view, const char *direction, const char *memory, const char *key);

/* How often `part` stands in `text`. */
int stage_count(const char *text, const char *part);

/*
 * Does stage_text equal the file `name` in HOTPIN_GOLDEN (the process's number and the share of our
 * own overhead put aside)?  HOTPIN_GOLDEN_WRITE in the environment writes the file instead.
 */
int stage_is_golden(const char *name);

#endif
