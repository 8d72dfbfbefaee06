/*
 * The process that is profiled: host, time, rank, program.  HOTPIN_OUT names them by its % marks.
 */
#ifndef HP_TRACE_PROCESS_H
#define HP_TRACE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process {
	long pid;
	char host[65];
	char time[24];           /* 20261121-034915, UTC: when it was looked at first */
	char ended[24];          /* likewise: when it was looked at last */
	uint64_t unix_offset_ns; /* then: the time of day less hp_now_ns() */
	char rank[16];           /* "": not started by mpirun, srun or torchrun */
	unsigned long ranks;     /* how many there are; 0: unknown */
	char arguments[17]; /* 16 hexadecimal digits made of the program's arguments; "": unknown */
	unsigned cpus;      /* that it may run on; 0: unknown */
	char program[64];   /* as the kernel knows it */
	uint64_t run_began_ns; /* CLOCK_REALTIME, when `hotpin run` started; 0: unknown */
	char columns[8];       /* COLUMNS as it was at the start; "": not set */
	bool utf8;             /* the locale of the user */
};

void process_read(struct process *ret);

/* Looks at the clock once more. */
void process_mark_end(struct process *process);

/* Is this the process that `hotpin run` became? */
bool process_is_hotpin_run(void);

/* True if the process has waited for a child: those of a shell have profiles of their own. */
bool process_had_children(void);

/* HOTPIN_OUT with its marks replaced.  0 or -ENAMETOOLONG. */
int process_expand(const struct process *process, const char *pattern, char *ret, size_t room);

#endif
