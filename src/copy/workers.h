/*
 * The copy threads: who moves which piece of which copy?
 *
 * A job is one copy cut into pieces.  Its owner, the program's thread, says how far the pieces may
 * be moved by now, and moves some itself; the crew moves the rest, in turns between all jobs there
 * are.  Threads without a piece spin for some microseconds, then sleep.
 */
#ifndef HP_COPY_WORKERS_H
#define HP_COPY_WORKERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The crew never has more, whatever HOTPIN_THREADS says. */
#define WORKERS_MOST   32

/* A piece may only be allowed once the one so many before it is done. */
#define WORKERS_WINDOW 256

/* Moves piece `index` of a job, in any thread; is it the `owner`'s?  False: it cannot be. */
typedef bool workers_move(const void *arg, size_t index, bool owner);

enum workers_state { WORKERS_WAITING, WORKERS_MOVED, WORKERS_REFUSED };

/* A kilobyte; here so that an owner may have one of its own, on its stack. */
struct workers_job {
	/* Constant from workers_open() to workers_close(). */
	workers_move *move;
	const void *arg;
	bool alone; /* no thread of the crew serves it: the job is its owner's */

	/* Likewise, but looked at before it is known whether the job has ended. */
	_Atomic unsigned hands; /* threads of the crew that serve it */

	/* First piece that nobody has taken; above it the job's number: a stale one is no good. */
	_Atomic uint64_t next;
	_Atomic uint32_t limit; /* pieces from here on may not be moved yet */

	_Atomic uint32_t finished; /* pieces moved, or refused */
	/* At i % WORKERS_WINDOW: twice i + 1 once piece i is moved, one more where it cannot be. */
	_Atomic uint32_t done[WORKERS_WINDOW];
};

/*
 * Starts the crew, `count` threads, unless it has been started.  Any thread.  Returns how many
 * there are: fewer than asked for, or none, where threads cannot be had.
 */
unsigned workers_start(unsigned count);

/* How many there are; 0 before workers_start(). */
unsigned workers_count(void);

/*
 * Opens a job that `hands` threads of the crew may serve.  Returns one of the few that the crew
 * looks at, or `own`, which its owner serves alone, where there is none left or no crew.
 */
struct workers_job *workers_open(struct workers_job *own, unsigned hands, workers_move *move,
				 const void *arg);

/* Pieces below `limit` may be moved.  By the owner; the limit only grows. */
void workers_allow(struct workers_job *job, size_t limit);

/*
 * Wakes those who sleep: there will be pieces in some microseconds, `count` of them.  By the owner.
 */
void workers_call(struct workers_job *job, size_t count);

/* Moves one piece in the owner's thread.  False: there is none to take. */
bool workers_help(struct workers_job *job);

/* The first piece that nobody has taken yet. */
size_t workers_next(const struct workers_job *job);

/* What became of the piece?  For pieces less than WORKERS_WINDOW old. */
enum workers_state workers_look(const struct workers_job *job, size_t index);

/* No more pieces are taken; returns when nobody is at those that were. */
void workers_close(struct workers_job *job);

/* For loops of the owner: the `turn`th time that there was nothing to do. */
void workers_pause(unsigned turn);

/* In the child of fork(): there are none, and jobs under way are nobody's. */
void workers_after_fork_child(void);

#endif
