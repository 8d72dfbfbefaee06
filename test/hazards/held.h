/*
 * Shared by the tests of liveness: a kernel that runs until the host has written a word, one action
 * of the program during that time, and whether the action has returned.
 */
#ifndef HP_TEST_GPU_HELD_H
#define HP_TEST_GPU_HELD_H

#include "defer.h"

/* Streams, relative to the one that is held. */
enum stream_kind { SAME, OTHER, LEGACY, OWN, STREAM_KINDS };

struct action {
	char name[64];
	/* With nothing in flight before; while the stream is held; after everything is complete. */
	void (*prepare)(const struct action *action);
	void (*run)(const struct action *action);
	void (*check)(const struct action *action);
	enum stream_kind kind;
	int way, memory; /* of copies */
	size_t bytes;
	unsigned takes_ms; /* the program's own duration */
	bool modeled_only; /* may never return with a real driver */
};

/* Returns the stream of a kind while the row's own is held. */
CUstream kind_stream(enum stream_kind kind);

/* True if work on it is ordered after the kernel. */
bool kind_is_held(enum stream_kind kind);

/* Runs the action, and compares the result with that without the library. */
void held(const struct action *action);

/* Two non-blocking streams that nothing holds; the second is for threads. */
extern CUstream other, third;

/* True if this row makes all copies, not a part. */
extern bool thorough;

/* mark() writes a word in each page, marked() checks them. */
void mark(char *block, size_t bytes, unsigned seed);
bool marked(const char *block, size_t bytes, unsigned seed);

/* Returns a block that is pinned if the library pins, or that was copied `times` times. */
char *promoted(size_t bytes, int times);

/* The tables. */
void held_copies(void);
void held_others(void);

#endif
