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

/* The program: its parts in turn, each with its thread, and the options that it needs. */
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

/* Its things, by the numbers that the walk gave them. */
extern CUcontext c[CONTEXTS]; /* 0: the primary one */
extern char *h[HOSTS];
extern CUdeviceptr d[DEVICES], scratch;
extern CUstream l[LINES];
extern CUevent e[EVENTS], spare;
extern CUgraph recorded;
extern CUgraphExec g[GRAPHS];

/* A part runs on that thread, of which there are THREADS; 0 is the main thread. */
void on(int thread, void (*part)(void));

/* A call of the driver's: its code is printed. */
#define CODE(call)      printf("%d: %d\n", __LINE__, (int)(call))
/* A question whose answer depends on how far the device has come. */
#define EITHER(call)    printf("%d: %d\n", __LINE__, (int)(call) % CUDA_ERROR_NOT_READY)
/* Bytes of the host's that are read. */
#define LOOK(at, bytes) printf("%d: %016llx\n", __LINE__, (unsigned long long)hash_of(at, bytes))
#define KERNEL(which, on, ...)                                                                    \
	do {                                                                                      \
		uint64_t arguments_[] = { __VA_ARGS__ };                                          \
		void *at_[] = { &arguments_[0], &arguments_[1], &arguments_[2], &arguments_[3] }; \
		CODE(cu[0].cuLaunchKernel(p.kernel[0][which], 4, 1, 1, 64, 1, 1, 0, on, at_,      \
					  NULL));                                                 \
	} while (0)

/* Memory as the walk has it: of malloc() and its kin, mapped, static. */
char *aligned(size_t bytes);
char *mapped(size_t bytes);
char *of_data(size_t bytes);
/* What a host function does to a range; the walk's does something like it. */
void change(CUstream on, char *at, size_t bytes);
/* The stand-in comes to n operations of the stream. */
void step(CUstream on, int n);

#endif
