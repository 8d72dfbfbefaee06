/*
 * The profiled process: host, time, rank, program.  The % marks in HOTPIN_OUT stand for these.
 */
#ifndef HP_TRACE_OUT_PROCESS_H
#define HP_TRACE_OUT_PROCESS_H

#include "base/rank.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process {
	long pid;
	char host[65];
	char time[24];           /* UTC of process_read(), such as 20261121-034915 */
	char ended[24];          /* UTC of process_mark_end() or process_read() */
	uint64_t unix_offset_ns; /* at that time: the time of day less hp_now_ns() */
	char rank[HP_RANK_ROOM]; /* "": not started by mpirun, srun or torchrun */
	unsigned long ranks;     /* their number; 0: unknown */
	char arguments[5]; /* 4 hexadecimal digits made of the program's arguments; "": unknown */
	unsigned cpus;     /* CPUs that it may run on; 0: unknown */
	/* Waits of the first thread for a CPU: until process_read(), then until `ended`. */
	uint64_t cpu_waits_before_ns, cpu_wait_ns; /* UINT64_MAX: unknown */
	char program[64];                          /* as the kernel knows it */
	bool awaited;          /* by `hotpin run --profile`, which prints the report */
	uint64_t run_began_ns; /* CLOCK_REALTIME, when `hotpin run` started; 0: unknown */
	char columns[8];       /* COLUMNS as it was at the start; "": not set */
	bool utf8;             /* the locale of the user */
};

/* Fills in *ret, by some system calls.  No lock is needed. */
void process_read(struct process *ret);

/* Sets `ended` to the current time, and cpu_wait_ns. */
void process_mark_end(struct process *process);

/* Returns how this process started: it is what `hotpin run` became, or its descendant, or neither.
 */
enum process_start { PROCESS_HOTPIN_RUN, PROCESS_DESCENDANT, PROCESS_PRELOADED };
enum process_start process_start(void);

/* True if the process has waited for a child.  The children of a shell have their own profiles. */
bool process_had_children(void);

/*
 * Writes HOTPIN_OUT with its marks replaced; a `pid` of -1 is written as "*".  Returns 0 or
 * -ENAMETOOLONG.
 */
int process_expand(const struct process *process, const char *pattern, char *ret, size_t room);

#endif
