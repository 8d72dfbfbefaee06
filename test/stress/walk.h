/*
 * The blocks of each thread of a random walk, and the choice of its next step.
 *
 * malloc_stress.c provides the kinds of steps and their frequencies.  This file provides the
 * threads, sizes, mailboxes that pass blocks between threads, the limit of memory, and the report.
 * A failure ends the process immediately, with the seed, the thread and the step.  Nothing here
 * allocates except pthread_create(), which is meant to.
 */
#ifndef HP_TEST_STRESS_WALK_H
#define HP_TEST_STRESS_WALK_H

#include "shadow.h"
#include "sizes.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WALK_SLOTS 192
#define WALK_KINDS 32
#define WALK_FREED 16
#define WALKERS    64

/* One block and its expected state. */
struct held {
	char *address;
	size_t usable; /* claimed in the shadow */
	struct pattern pattern;
};

enum slot_state { SLOT_EMPTY, SLOT_BUSY, SLOT_FULL };

/*
 * Busy while the block is allocated, freed or changed.  The child of a fork does not use busy
 * slots, because the thread that made them busy does not exist there.
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

/* A kind of step, which is taken with its share of the sum of all weights. */
struct walk_kind {
	const char *name;
	unsigned weight;
	void (*take)(struct walker *walker);
	walk_ask_fn ask; /* the allocator's function; NULL if the kind allocates nothing */
};

struct walk_options {
	uint64_t seed, operations;     /* `operations` of each thread, 0 for no limit */
	unsigned seconds, threads;     /* seconds: for test/stress/run, 0 for no limit */
	size_t touched_most;           /* bytes in pages that live blocks touch */
	size_t size_least, size_most;  /* limits of a block's size */
	size_t waste_from;             /* the size from which usable bytes are checked */
	double waste;                  /* limit of usable / asked; 0: none */
	size_t waste_slack;            /* and so many further bytes */
	const struct walk_kind *kinds; /* the last one has no name */
	void (*give)(void *address);   /* frees a block */
	/* Returns how much of a block of at least `bytes` may be used. */
	size_t (*usable)(void *address, size_t bytes);
	/*
	 * Called if the allocator has no block of so many bytes; ends the process if that is wrong.
	 */
	void (*refuse)(size_t bytes);
};

extern struct walk_options walk_options;
extern struct walker walkers[];
extern _Atomic size_t walk_touched, walk_touched_top;

/* Reads options such as --seconds=N into walk_options; ends the process for anything else. */
void walk_parse(int argc, char **argv);

/* Reserves the shadow, prints the seed, and makes fatal signals print the position of the walk. */
void walk_begin(void);

/* Starts walk_options.threads threads; each is sometimes replaced by a new one. */
void walk_start(void);
/* True once all of them have made their steps. */
bool walk_is_over(void);
/* Returns how many steps all threads together have made since walk_begin(). */
uint64_t walk_steps(void);
/* Waits until they have made `steps` more, or all of theirs. */
void walk_await(uint64_t steps);
/* Makes them stop, and waits for that. */
void walk_stop(void);

/* In the child of a fork: `threads` new threads make so many steps; waits for them. */
void walk_restart(unsigned threads, uint64_t steps);

/*
 * In the child of a fork during the walk: checks all blocks.  The calling thread makes so many
 * steps before it frees them all, and as many after.
 */
void walk_alone(uint64_t steps);

/* Checks and frees every block that no thread is using now; returns their number. */
size_t walk_drop_all(void);
/* Only checks them. */
size_t walk_check_all(void);

/* Prints statistics. */
void walk_report(void);

uint64_t walk_random(struct walker *walker);
size_t walk_size(struct walker *walker);

/* Makes an empty slot busy; NULL if there is none, or no memory may be touched. */
struct slot *walk_slot(struct walker *walker);
/* Makes a random full slot busy; NULL if all are empty. */
struct slot *walk_any(struct walker *walker);

/* Returns the allocating function of this step's kind. */
walk_ask_fn walk_ask_of(const struct walker *walker);
/* Allocates by this step's kind.  NULL if it was refused; then the busy slot is empty. */
void *walk_ask(struct walker *walker, struct slot *slot, size_t bytes, size_t alignment);
/*
 * Makes the busy slot full with `address`, which the allocator returned for `bytes`.  Checks
 * alignment, usable bytes and overlap, and writes the pattern.
 */
void walk_adopt(struct walker *walker, struct slot *slot, void *address, size_t bytes,
		size_t alignment);
/* Checks and releases the block of a busy slot: the allocator may have it back. */
void walk_disown(struct walker *walker, struct slot *slot);
/* Makes the busy slot full again, unchanged. */
void walk_keep(struct slot *slot);
/* Makes the busy slot empty. */
void walk_forget(struct slot *slot);

/* Checks that its first `bytes`, now at `address`, hold the pattern. */
void walk_check(const struct held *held, const char *address, size_t bytes);

/* Steps: put a block into a mailbox, or take one from there. */
void walk_send(struct walker *walker);
void walk_receive(struct walker *walker);
/* A step: frees a block. */
void walk_free(struct walker *walker);
/* A step: frees a block and allocates its size again, three times, as a loop does. */
void walk_again(struct walker *walker);

/* Ends the process with status 1. */
void walk_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
