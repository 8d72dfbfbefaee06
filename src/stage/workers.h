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

/* There are never more, whatever HOTPIN_THREADS says. */
#define WORKERS_MOST   32

/* A piece may only be allowed once the one so many before it is done. */
#define WORKERS_WINDOW 256

/* Moves piece `index` of a job, in its `owner`'s thread or in another.  False: it cannot be. */
typedef bool workers_move(const void *arg, size_t index, bool owner);

enum workers_state { WORKERS_WAITING, WORKERS_MOVED, WORKERS_REFUSED };

/* A kilobyte; defined here so that an owner can have a job of its own on its stack. */
struct workers_job {
	/* Constant from workers_open() to workers_close(). */
	workers_move *move;
	const void *arg;
	bool alone; /* no worker serves the job: its owner moves all pieces */

	/* Likewise, but read before it is known whether the job has ended. */
	_Atomic unsigned workers; /* how many serve it at most */

	/* First piece that nobody has taken; above it the job's number, which a stale value lacks.
	 */
	_Atomic uint64_t next;
	_Atomic uint32_t limit; /* pieces from here on may not be moved yet */

	_Atomic uint32_t finished; /* pieces moved, or refused */
	/* At i % WORKERS_WINDOW: twice i + 1 once piece i is moved, one more where it cannot be. */
	_Atomic uint32_t done[WORKERS_WINDOW];
};

/*
 * Starts `count` workers, unless workers have been started.  Any thread.  Returns how many there
 * are: fewer than asked for, or none, where threads cannot be had.
 */
unsigned workers_start(unsigned count);

/* Returns how many workers there are; 0 before workers_start(). */
unsigned workers_count(void);

/*
 * Opens a job that `most` workers may serve.  Returns one of the few jobs that workers look at.
 * Where none is left, or there are no workers: `own`, which its owner serves alone.
 */
struct workers_job *workers_open(struct workers_job *own, unsigned most, workers_move *move,
				 const void *arg);

/* Allows pieces below `limit` to be moved.  By the owner; the limit only grows. */
void workers_allow(struct workers_job *job, size_t limit);

/* Wakes sleeping workers for `count` pieces, which come in some microseconds.  By the owner. */
void workers_call(struct workers_job *job, size_t count);

/* Moves one piece in the owner's thread.  False: no piece is left to take. */
bool workers_help(struct workers_job *job);

/* Returns the first piece that nobody has taken. */
size_t workers_next(const struct workers_job *job);

/* Returns the state of a piece that is less than WORKERS_WINDOW old. */
enum workers_state workers_look(const struct workers_job *job, size_t index);

/* Ends the job: no more pieces are taken.  Waits for pieces that workers are moving. */
void workers_close(struct workers_job *job);

/* Pauses in a loop of the owner that has found nothing to do `turn` times. */
void workers_pause(unsigned turn);

/* In the child of fork(): there are no workers, and running jobs have none. */
void workers_after_fork_child(void);

#endif
