/*
 * Which memory may nobody touch yet, because the device has still to fill it, or write to, because
 * the device has still to read it?
 *
 * The destination of a copy that has come back early is without access until its data is there, the
 * source of one is read-only until it has been read; whoever is refused, or asks the kernel to
 * touch it, waits for that.  A range goes
 *
 *	FREE --claim--> MAKING --arm--> CLOSED --its data has come--> OPENING --> FREE
 *
 * and its word holds the state and which copy it is, so that nobody opens what has been closed
 * anew.  What may run in a signal handler takes no lock, allocates nothing, calls neither libc nor
 * the driver, and leaves errno alone; it is marked so.
 */
#ifndef HP_DEFER_PROTECT_H
#define HP_DEFER_PROTECT_H

#include "base/bare.h"
#include "defer/flight.h"
#include "real/real.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTECT_RANGES 64

enum protect_state { PROTECT_FREE, PROTECT_MAKING, PROTECT_CLOSED, PROTECT_OPENING };

/* The state in the lowest two bits; the rest is a copy's number, never 0. */
static inline enum protect_state protect_state_of(uint32_t word)
{
	return (enum protect_state)(word & 3);
}

static inline uint32_t protect_number_of(uint32_t word)
{
	return word & ~(uint32_t)3;
}

struct protect_range {
	_Atomic uint32_t word;   /* a futex */
	_Atomic uint32_t over;   /* the number of the copy that is known to be over */
	_Atomic uint32_t wanted; /* the number of the last that somebody wanted */
	_Atomic uintptr_t base;  /* written by whoever makes it MAKING, and OPENING */
	_Atomic size_t bytes;

	/* Written while it is MAKING. */
	_Atomic uint32_t site;
	_Atomic bool trial;         /* its data was there from the beginning */
	_Atomic uint64_t closed_ns; /* when the program got it */
	_Atomic(CUevent) event;     /* comes when the copy is over; of `context` */
	_Atomic(CUcontext) context;
	uint32_t ends;   /* contexts that had gone when the event was made */
	bool has_ticket; /* the device will write the number to its ticket */
	bool spoiled;    /* its maker has touched it itself, so it is open */
	/* It is a piece of an upload's source, which can be read; its event is the flight's. */
	_Atomic(struct flight *) flight;
};
extern struct protect_range protect_ranges[PROTECT_RANGES];

/* How many ranges are not free.  Hidden, for stubs in assembly that read it. */
extern _Atomic uint32_t protect_busy __attribute__((visibility("hidden")));

static inline bool protect_any(void)
{
	return __builtin_expect(atomic_load_explicit(&protect_busy, memory_order_relaxed) != 0, 0);
}

/*
 * `tickets`: PROTECT_RANGES words in memory that devices can write and that stays mapped for ever;
 * NULL: there is none, events alone say when a copy is over.  Once, before the first claim.  False:
 * the kernel is too old (before Linux 4.14), or moves pages that are held (from 5.9 on, before
 * 5.19).
 */
bool protect_start(_Atomic uint32_t *tickets);

/*
 * Does `page`, written to before, stay where it is when it is closed, opened and written to while
 * somebody holds it as a device does?  Changes its first byte.
 */
bool protect_page_stays(unsigned char *page);

/*
 * Takes a range of the table for [base, base + bytes), whole pages that are all of one block, and
 * closes them.  NULL: it cannot be done now.  All signals of the thread must be blocked from here
 * to protect_arm() or protect_drop().
 */
struct protect_range *protect_claim(uintptr_t base, size_t bytes, uint32_t site, bool trial);

/*
 * The same for an upload's source, closed for writing in pieces of `piece` bytes, the last as long
 * as is left: ret[i] from the lowest address on.  `flight` is for as many pieces as there are, and
 * is over if false is returned.
 */
bool protect_claim_source(uintptr_t base, size_t bytes, size_t piece, struct flight *flight,
			  struct protect_range *ret[]);

/* Its copy is on its way, and the number of protect_number() will be in its ticket, or an event. */
void protect_arm(struct protect_range *range);
void protect_arm_source(struct protect_range *const ranges[], size_t count);

/* There is no copy, or it is over; the only way for one that is spoiled. */
void protect_drop(struct protect_range *range);

static inline uint32_t protect_number(const struct protect_range *range)
{
	return protect_number_of(atomic_load(&range->word));
}

/* Where the device is to write it; NULL: nowhere. */
_Atomic uint32_t *protect_ticket(const struct protect_range *range);

/*
 * Waits for what is closed of [address, address + bytes), or anywhere, and opens it.  One load
 * where nothing is.  In signal handlers too.  A number, since glibc 2.41 says that mlock() does not
 * look at what its argument points to, and compilers hold us to that.
 */
void protect_join_slowly(uintptr_t address, size_t bytes);
static inline void protect_join_range(const void *address, size_t bytes)
{
	if (protect_any())
		protect_join_slowly((uintptr_t)address, bytes);
}

void protect_join_all(void);

/* The same, but for so long at most.  True: all is open. */
bool protect_join_all_within(uint64_t ns);

/* A thread was refused `address`. */
enum protect_fault {
	PROTECT_STRANGE, /* not by us */
	PROTECT_OPENED,  /* by us: it may try again */
	PROTECT_RETRY,   /* perhaps by us, just before: it should try again, once */
};

/*
 * In a handler of SIGSEGV which has all signals blocked; where it waits they are as in `meanwhile`,
 * the mask of what was interrupted, so that a signal that ends the program ends it.
 */
enum protect_fault protect_fault(uintptr_t address, hp_mask meanwhile);

/* While anybody forbids it nothing is claimed.  Any thread. */
void protect_forbid(void);
void protect_allow(void);

/* In the child of fork(): nothing is closed.  As long as somebody forbids it nothing will be. */
void protect_after_fork_child(void);

/* For the thread that watches (watchdog.h), which says so first: it never waits for itself. */
void protect_watch(void);

/*
 * The range is CLOSED in `word` and its data is there: opens it, and what follows of the same
 * flight that has come, too.  Also in signal handlers.
 */
void protect_open(struct protect_range *range, uint32_t word);

/* Has the data come?  A few loads. */
bool protect_has_come(const struct protect_range *range, uint32_t number);

/* Somebody, or nobody, touches the range now; the first tells how late that is. */
void protect_note_touch(struct protect_range *range, uint32_t number);

/* Rung, a futex, when somebody waits or a range was armed. */
extern _Atomic uint32_t protect_bell;

#endif
