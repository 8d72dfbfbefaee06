/*
 * Copy workers: threads that move the pieces of staged copies.
 *
 * A job is one copy cut into pieces.  Its owner, the program's thread, allows pieces to be moved,
 * and moves some itself.  Copy workers move the rest, in turns between all jobs.  Workers without a
 * piece spin for some microseconds, then sleep.
 */
#ifndef HP_STAGE_WORKERS_H
#define HP_STAGE_WORKERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The upper bound of HOTPIN_THREADS. */
#define WORKERS_MOST   32

/* Piece i may be allowed once piece i - WORKERS_WINDOW is done. */
#define WORKERS_WINDOW 256

/*
 * Moves piece `index` of a job, in the thread of its `owner` or in another.  False: not possible.
 */
typedef bool workers_move(const void *arg, size_t index, bool owner);

enum workers_state { WORKERS_WAITING, WORKERS_MOVED, WORKERS_REFUSED };

/* One KiB.  Defined here so that an owner can have a job on its stack. */
struct workers_job {
	/* Constant from workers_open() to workers_close(). */
	workers_move *move;
	const void *arg;
	bool alone; /* no worker serves the job: its owner moves all pieces */

	/* Constant too, but workers may read it after the job has ended. */
	_Atomic unsigned workers; /* the most workers that serve the job */

	/* low half: the first piece that no thread has taken; high half: the job's number */
	_Atomic uint64_t next;
	_Atomic uint32_t limit; /* pieces from here on may not be moved yet */

	_Atomic uint32_t finished; /* pieces moved, or refused */
	/* At i % WORKERS_WINDOW: 2 * (i + 1) when piece i was moved, one more if it was refused. */
	_Atomic uint32_t done[WORKERS_WINDOW];
};

/* Returns the number of workers for a process that may use so many CPUs.  Pure. */
unsigned workers_for(uint64_t cpus);

/*
 * Returns the number for HOTPIN_THREADS=auto, by the calling thread's affinity mask and the CPU
 * quotas of the cgroups.  errno is kept.
 */
unsigned workers_default(void);

/*
 * Starts `count` workers, unless workers were started before.  Any thread.  Returns their number:
 * fewer than `count`, or none, if threads cannot be created.
 */
unsigned workers_start(unsigned count);

/* Returns the number of workers; 0 before workers_start(). */
unsigned workers_count(void);

/*
 * Opens a job that up to `most` workers serve.  Returns one of a few shared jobs.  If all are
 * taken, or without workers, returns `own`, whose owner moves all pieces.
 */
struct workers_job *workers_open(struct workers_job *own, unsigned most, workers_move *move,
				 const void *arg);

/* Allows pieces below `limit` to be moved.  By the owner; the limit only grows. */
void workers_allow(struct workers_job *job, size_t limit);

/*
 * Wakes sleeping workers for `count` pieces that will be allowed in a few microseconds.  By the
 * owner.
 */
void workers_call(struct workers_job *job, size_t count);

/* Moves one piece in the owner's thread.  False: no piece is left to take. */
bool workers_help(struct workers_job *job);

/* Returns the first piece that no thread has taken. */
size_t workers_next(const struct workers_job *job);

/* Returns the state of a piece that is less than WORKERS_WINDOW old. */
enum workers_state workers_look(const struct workers_job *job, size_t index);

/* Ends the job: no more pieces are taken.  Waits for pieces that workers are moving. */
void workers_close(struct workers_job *job);

/* Pauses in an owner's loop that has found nothing to do `turn` times in a row. */
void workers_pause(unsigned turn);

/* In the child of fork(): there are no workers. */
void workers_after_fork_child(void);

#endif
