/*
 * Which copies have come back before the device was done with them, and what says that it is?
 *
 * A lane is a stream that synchronous copies run on: the legacy stream of a context, or a thread's
 * own.  What is outstanding on it is over when its event has come.  The event is recorded before
 * other work follows the copies, never behind that: a kernel that is launched later may run for
 * ever.  So a burst of copies has one event.
 *
 *	IDLE     nothing is outstanding
 *	OPEN     a copy has been enqueued, and no other work since
 *	MARKING  other work is about to follow: a thread records the event
 *	MARKED   the event has been recorded; once it has come the lane is IDLE again
 *
 * A copy that comes while the lane is being marked, or is marked, opens it again.
 */
#ifndef HP_DEFER_LEDGER_H
#define HP_DEFER_LEDGER_H

#include "real/real.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LEDGER_LANES 16

enum ledger_state { LEDGER_IDLE, LEDGER_OPEN, LEDGER_MARKING, LEDGER_MARKED };

/* A state and how often it has changed, so that nobody ends what has begun anew. */
typedef uint32_t ledger_word;

static inline enum ledger_state ledger_state_of(ledger_word word)
{
	return (enum ledger_state)(word & 3);
}

struct ledger_lane {
	_Atomic ledger_word word;
	CUcontext _Atomic context; /* NULL: the lane is free */
	_Atomic uint32_t thread;   /* whose per-thread stream; 0: the legacy stream */
	CUevent event;             /* of the context; written while the lane is made */
};

/*
 * `tell` is called whenever something is outstanding where nothing was, and the other way round: it
 * opens and closes the gate.  Under the lock defer: it may call nobody.  Once.
 */
void ledger_start(void (*tell)(bool any));

/* Is anything outstanding?  One load. */
bool ledger_any(void);

/* The lane, or NULL: there is none yet.  Lock-free. */
struct ledger_lane *ledger_find(CUcontext context, uint32_t thread);

/*
 * Makes one with `event`, which is the lane's from here on.  NULL: all are taken; then no copy
 * of that stream comes back early.  A lane of a thread that is idle may be taken over by another
 * thread of its context: then `*ret_spare` is an event that is not needed.
 */
struct ledger_lane *ledger_make(CUcontext context, uint32_t thread, CUevent event,
				CUevent *ret_spare);

/* Every lane in turn, those that are free too; NULL behind the last. */
struct ledger_lane *ledger_each(struct ledger_lane *after);

/*
 * Copies of this thread, or of the legacy stream, have been enqueued on it.  False: another thread
 * has taken the lane over since it was found; they are to be waited for.
 */
bool ledger_add(struct ledger_lane *lane, uint32_t thread);

/*
 * What is outstanding on it, copies of this thread or of the legacy stream.  False: it has been
 * taken over since, and nothing of theirs was outstanding.
 */
bool ledger_look(const struct ledger_lane *lane, uint32_t thread, ledger_word *ret_word);

/*
 * The lane is open in *word: true where this thread is the one to record its event, which ends with
 * ledger_marked().
 */
bool ledger_mark(struct ledger_lane *lane, ledger_word *word);
void ledger_marked(struct ledger_lane *lane, ledger_word word, bool recorded);

/* What was outstanding in `word` is over.  Nothing happens where more has come since. */
void ledger_over(struct ledger_lane *lane, ledger_word word);

/* A context is gone, its events with it. */
void ledger_context_gone(CUcontext context);

/* In the child of fork(): nothing is outstanding. */
void ledger_after_fork_child(void);

/* Work that is about to be enqueued. */
struct ledger_work {
	CUcontext context;
	uint32_t thread;   /* that enqueues it */
	bool known;        /* which stream it goes to */
	bool legacy;       /* the legacy stream */
	bool own;          /* the thread's own stream */
	bool non_blocking; /* made with CU_STREAM_NON_BLOCKING */
};

enum ledger_order {
	LEDGER_INHERENT, /* it comes behind the lane's copies anyway */
	LEDGER_EVENT,    /* its stream must wait for the lane's event */
	LEDGER_JOIN,     /* the host must: it is not known where the work goes */
};

/* Pure: what has to happen before the work, because of copies on the lane of context and thread. */
enum ledger_order ledger_order_of(CUcontext context, uint32_t thread,
				  const struct ledger_work *work);

#endif
