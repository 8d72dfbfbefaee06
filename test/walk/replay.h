/*
 * Included by programs that replay.py has written.
 *
 * Such a program is the reduced form of a random program that observed a difference: a sequence of
 * calls, by one thread or by several that take turns.  It prints what it reads and what calls
 * return, which must be the same with the library and without.
 */
#ifndef HP_WALK_REPLAY_H
#define HP_WALK_REPLAY_H

#include "walk.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A program: its parts in order, each with its thread, and the options that it needs. */
#define PROGRAM(id, options)                                                    \
	static void program_##id(void);                                         \
	static struct replay entry_##id = { #id, options, program_##id, NULL }; \
	__attribute__((constructor)) static void add_##id(void)                 \
	{                                                                       \
		entry_##id.next = replays;                                      \
		replays = &entry_##id;                                          \
	}                                                                       \
	static void program_##id(void)

struct replay {
	const char *name, *options;
	void (*run)(void);
	struct replay *next;
};
extern struct replay *replays;

/* The program's objects, by the numbers of the walk. */
extern CUcontext c[CONTEXTS]; /* 0: the primary one */
extern char *h[HOSTS];
extern CUdeviceptr d[DEVICES], scratch;
extern CUstream l[LINES];
extern CUevent e[EVENTS], spare;
extern CUgraph recorded;
extern CUgraphExec g[GRAPHS];

/* Runs a part on that thread, of which there are THREADS; 0 is the main thread. */
void on(int thread, void (*part)(void));

/* Makes a driver call and prints its code. */
#define CODE(call)      printf("%d: %d\n", __LINE__, (int)(call))
/* Makes a query whose result depends on the progress of the device. */
#define EITHER(call)    printf("%d: %d\n", __LINE__, (int)(call) % CUDA_ERROR_NOT_READY)
/* Reads host memory and prints its hash. */
#define LOOK(at, bytes) printf("%d: %016llx\n", __LINE__, (unsigned long long)hash_of(at, bytes))
#define KERNEL(which, on, ...)                                                                    \
	do {                                                                                      \
		uint64_t arguments_[] = { __VA_ARGS__ };                                          \
		void *at_[] = { &arguments_[0], &arguments_[1], &arguments_[2], &arguments_[3] }; \
		CODE(cu[0].cuLaunchKernel(p.kernel[0][which], 4, 1, 1, 64, 1, 1, 0, on, at_,      \
					  NULL));                                                 \
	} while (0)

/* Memory as in the walk: of malloc() and its relatives, mapped, static. */
char *aligned(size_t bytes);
char *mapped(size_t bytes);
char *of_data(size_t bytes);
/* Enqueues a host function that changes a range, much like the walk's. */
void change(CUstream on, char *at, size_t bytes);
/* Makes the stand-in run n operations of the stream. */
void step(CUstream on, int n);

#endif
