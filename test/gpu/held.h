/*
 * Shared by the tests of liveness: a kernel that runs until the host has written a word, one action
 * of the program during that time, and whether the action has returned.
 */
#ifndef HP_TEST_GPU_HELD_H
#define HP_TEST_GPU_HELD_H

#include "defer.h"

/* Streams, as seen from the one that is held. */
enum stream_kind { SAME, OTHER, LEGACY, OWN, STREAM_KINDS };

struct action {
	char name[64];
	/* With nothing in flight before; while the stream is held; once all is over. */
	void (*prepare)(const struct action *action);
	void (*run)(const struct action *action);
	void (*check)(const struct action *action);
	enum stream_kind kind;
	int way, memory; /* of copies */
	size_t bytes;
	unsigned takes_ms; /* of the program's own time */
	bool modeled_only; /* a driver's own may never return */
};

/* The stream of a kind while the row's own is held. */
CUstream kind_stream(enum stream_kind kind);

/* Does what comes on it come behind the kernel? */
bool kind_is_held(enum stream_kind kind);

/* Runs the action, and holds what came of it against how it went without the library. */
void held(const struct action *action);

/* A non-blocking stream that nothing holds, and its twin for threads. */
extern CUstream other, third;

/* Is this row to do everything, and not a part of the copies? */
extern bool thorough;

/* A word each page: writes them, or looks at them. */
void mark(char *block, size_t bytes, unsigned seed);
bool marked(const char *block, size_t bytes, unsigned seed);

/* A block that is pinned where the library pins, or that has been copied `times` times. */
char *promoted(size_t bytes, int times);

/* The tables. */
void held_copies(void);
void held_others(void);

#endif
