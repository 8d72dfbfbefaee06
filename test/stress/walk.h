/*
 * The blocks of each thread of a random walk, and the choice of its next step.
 *
 * A program provides the kinds of steps and their frequencies.  This file provides the threads,
 * sizes, mailboxes that pass blocks between threads, the limit of memory, and the report.  A
 * failure ends the process immediately, with the seed, the thread and the step.  Nothing here
 * allocates except pthread_create(), which is meant to.
 */
#ifndef HP_TEST_STRESS_WALK_H
#define HP_TEST_STRESS_WALK_H

#include "shadow.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB        ((size_t)1 << 10)
#define MIB        ((size_t)1 << 20)
#define GIB        ((size_t)1 << 30)

#define WALK_SLOTS 192
#define WALK_KINDS 32
#define WALK_FREED 16
#define WALKERS    64

/* One block and what is known of it. */
struct held {
	char *address;
	size_t usable; /* claimed in the shadow */
	struct pattern pattern;
};

enum slot_state { SLOT_EMPTY, SLOT_BUSY, SLOT_FULL };

/*
 * Busy while the block comes, goes or changes: a child of fork() leaves it alone, since the thread
 * that was at it is not there.
 */
struct slot {
	_Atomic int state; /* enum slot_state */
	struct held held;
};

struct walker {
	int index;
	uint64_t random, steps_left;
	_Atomic uint64_t step;
	_Atomic unsigned kind;
	uint64_t counts[WALK_KINDS];
	size_t freed[WALK_FREED]; /* sizes of the blocks freed last */
	unsigned freed_next;
	double waste_most; /* usable / asked, of large blocks */
	size_t waste_asked;
	struct slot slots[WALK_SLOTS];
};

typedef void *(*walk_ask_fn)(size_t bytes, size_t alignment);

/* A kind of step; takes `weight` of the sum of all weights. */
struct walk_kind {
	const char *name;
	unsigned weight;
	void (*take)(struct walker *walker);
	walk_ask_fn ask; /* the allocator's function; NULL of a kind that allocates nothing */
};

struct walk_options {
	uint64_t seed, operations;     /* operations: of each thread, 0 for no limit */
	unsigned seconds, threads;     /* seconds: for test/stress/run, 0 for no limit */
	size_t touched_most;           /* bytes in pages that live blocks touch */
	size_t page;                   /* bytes of such a page, at most */
	size_t pages_most;             /* with a mark, in a block */
	size_t size_least, size_most;  /* of a block */
	size_t waste_from;             /* the size from which usable bytes are looked at */
	double waste;                  /* usable / asked at most; 0: anything */
	size_t waste_slack;            /* and so many bytes more */
	const struct walk_kind *kinds; /* the last one has no name */
	void (*give)(void *address);   /* frees a block */
	/* How much of a block of at least `bytes` may be used. */
	size_t (*usable)(void *address, size_t bytes);
	/* The allocator has no block of so many bytes: ends the process where that is wrong. */
	void (*refuse)(size_t bytes);
};

extern struct walk_options walk_options;
extern struct walker walkers[];
extern _Atomic size_t walk_touched, walk_touched_top;

/* Reads --seconds=N and so on into walk_options; ends the process on anything else. */
void walk_parse(int argc, char **argv);

/* Reserves the shadow, says the seed, makes signals say where the walk was. */
void walk_begin(void);

/* Starts walk_options.threads threads; each is replaced by a fresh one now and then. */
void walk_start(void);
/* True once all of them have taken their steps. */
bool walk_is_over(void);
/* How many steps all threads together have taken since walk_begin(). */
uint64_t walk_steps(void);
/* Returns when they have taken `steps` more, or all of theirs. */
void walk_await(uint64_t steps);
/* Makes them stop, and waits for that. */
void walk_stop(void);

/* In the child of a fork: `threads` new threads take so many steps; returns when they have. */
void walk_restart(unsigned threads, uint64_t steps);

/*
 * In the child of a fork while others are at it: all blocks that are there are right, and the
 * calling thread takes so many steps before it frees them all, and after.
 */
void walk_alone(uint64_t steps);

/* Checks and frees every block that is in nobody's hands just now; returns how many. */
size_t walk_drop_all(void);
/* Only checks them. */
size_t walk_check_all(void);

/* Says what was done. */
void walk_report(void);

uint64_t walk_random(struct walker *walker);
size_t walk_size(struct walker *walker);

/* Empty slots become busy; NULL: there is none, or no memory may be touched. */
struct slot *walk_slot(struct walker *walker);
/* A full slot becomes busy, chosen by chance; NULL: all are empty. */
struct slot *walk_any(struct walker *walker);

/* The function by which the kind of this step asks for blocks. */
walk_ask_fn walk_ask_of(const struct walker *walker);
/* Asks for a block by the kind of this step.  NULL: it was refused, and the busy slot is empty. */
void *walk_ask(struct walker *walker, struct slot *slot, size_t bytes, size_t alignment);
/*
 * The allocator has returned `address` for `bytes`: the busy slot becomes full.  Checks alignment,
 * usable bytes and overlap, and writes the pattern.
 */
void walk_adopt(struct walker *walker, struct slot *slot, void *address, size_t bytes,
		size_t alignment);
/* The block of a busy slot, checked, is nobody's: the allocator may have it back. */
void walk_disown(struct walker *walker, struct slot *slot);
/* Nothing came of it: the busy slot is as it was. */
void walk_keep(struct slot *slot);
/* The busy slot is empty. */
void walk_forget(struct slot *slot);

/* Its first `bytes`, now at `address`, hold what they held. */
void walk_check(const struct held *held, const char *address, size_t bytes);

/* A step: puts a block into a mailbox, or takes one from there. */
void walk_send(struct walker *walker);
void walk_receive(struct walker *walker);
/* A step: frees a block. */
void walk_free(struct walker *walker);
/* A step: frees a block and asks for its size again, three times, as a loop does. */
void walk_again(struct walker *walker);

/* Ends the process with status 1. */
void walk_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
