/*
 * The rank of this process among those that mpirun, srun or torchrun started.
 */
#ifndef HP_BASE_RANK_H
#define HP_BASE_RANK_H

#define HP_RANK_ROOM 16

/*
 * Reads the rank from the environment; "": there is none.  Returns the number of ranks; 0: unknown.
 */
unsigned long hp_rank_find(char ret[HP_RANK_ROOM]);

#endif
