/*
 * rank.c - the variables of the launchers.
 */
#include "base/rank.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * torchrun, Open MPI, MPICH and derivatives, Slurm, by falling priority.  torchrun comes first,
 * since its workers inherit the rank that srun or mpirun gave to torchrun.  The third variable, if
 * any, must exist for the first two to count.  Slurm's batch script has rank 0 of all tasks of the
 * job, but is not one of the tasks.
 */
static const struct {
	const char *rank, *ranks, *needed;
} variables[] = {
	{ "RANK", "WORLD_SIZE", "LOCAL_RANK" },
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL },
	{ "PMIX_RANK", "PMIX_SIZE", NULL },
	{ "PMI_RANK", "PMI_SIZE", NULL },
	{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_TASKS" },
	{ "RANK", "WORLD_SIZE", NULL },
};

unsigned long hp_rank_find(char ret[HP_RANK_ROOM])
{
	ret[0] = '\0';
	for (size_t i = 0; i < HP_LEN(variables); i++) {
		const char *rank = getenv(variables[i].rank), *ranks = getenv(variables[i].ranks);
		hp_count_t number;

		if (!hp_parse_short(rank, &number) ||
		    (variables[i].needed != NULL && getenv(variables[i].needed) == NULL))
			continue;
		snprintf(ret, HP_RANK_ROOM, "%s", rank);
		return hp_parse_short(ranks, &number) ? (unsigned long)number : 0;
	}
	return 0;
}
