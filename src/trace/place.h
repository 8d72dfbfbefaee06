/*
 * Where are we?  Host, time, rank, program: what a report says of itself and what stands behind
 * the % marks of HOTPIN_OUT.
 */
#ifndef HP_TRACE_PLACE_H
#define HP_TRACE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct place {
	long pid;
	char host[65];
	char time[24];       /* 20261121-034915, UTC: when it was looked at first */
	char ended[24];      /* likewise: when it was looked at last */
	char rank[16];       /* "": not started by mpirun, srun or torchrun */
	unsigned long ranks; /* how many there are; 0: unknown */
	char arguments[17]; /* 16 hexadecimal digits made of the program's arguments; "": unknown */
	unsigned cpus;      /* that it may run on; 0: unknown */
	char program[64];   /* as the kernel knows it */
};

void place_look(struct place *ret);

/* Looks at the clock once more. */
void place_end(struct place *place);

/* Is this the process that `hotpin run` became? */
bool place_is_run(void);

/* HOTPIN_OUT with its marks replaced.  0 or -ENAMETOOLONG. */
int place_expand(const struct place *place, const char *pattern, char *ret, size_t room);

#endif
