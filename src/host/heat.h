/*
 * When is pinning a block worth it?  Pure: ski-rental on rates that are handed in.
 *
 * A season of a block's memory lasts from its pages' coming, or its last unpinning, to its next
 * unpinning or their going.  A pageable copy pays rent; registering and, later, unregistering is
 * the price.  In hindsight the best choice for a season costs the price or the demand (the rent of
 * all its copies, paid or spared), whichever is less.  Over any run of seasons we pay at most twice
 * that, and once what the common bank starts with: what a season costs less than twice its best is
 * put into a bank, and what might cost more is paid out of one in advance.
 */
#ifndef HP_HOST_HEAT_H
#define HP_HOST_HEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds per MiB unless the name says otherwise. */
struct heat_rates {
	uint32_t pageable_h2d, pageable_d2h; /* a pageable copy */
	uint32_t pinned_h2d, pinned_d2h;     /* a copy from or to pinned memory */
	uint32_t pin_small, pin_huge;        /* registering touched memory: 4 KiB, 2 MiB pages */
	uint32_t unpin_small, unpin_huge;    /* unregistering it on an idle device */
	uint32_t pin_floor_ns;               /* registering anything at all */
	uint32_t copy_floor_ns;              /* what any copy costs; equal for both kinds */
};

/* Rates to start from, measured on an H200 (PCIe 5 x16); heat_learn() replaces them. */
extern const struct heat_rates heat_rates_default;

/* What one copy of `bytes` costs above what it would cost from pinned memory, ns. */
uint64_t heat_gain_ns(const struct heat_rates *rates, bool to_device, size_t bytes);

/* What pinning `room` bytes costs, its end included, ns. */
uint64_t heat_price_ns(const struct heat_rates *rates, size_t room, bool huge);

/* A season so far.  All in ns, at most UINT64_MAX / 4. */
struct heat_season {
	uint64_t rent;  /* paid for pageable copies */
	uint64_t drawn; /* out of banks, for this season */
	uint64_t owed;  /* pinned before the demand had reached the price: what it lacks still */
};

/* What the bank of the block's site has, what the common one has, ns. */
struct heat_funds {
	uint64_t own, common;
};

enum heat_verdict {
	HEAT_RENT,       /* run the copy pageable */
	HEAT_PIN,        /* pin first, then copy */
	HEAT_PIN_BEHIND, /* run the copy pageable and pin in the background meanwhile */
};

struct heat_choice {
	enum heat_verdict verdict;
	uint64_t draw; /* what banks must part with first, ns; where one cannot: choose again */
	bool early;    /* not yet worth its price; only the site's own bank may pay for that */
};

/*
 * What to do about the copy at hand, which would gain `gain` from pinned memory, of a block whose
 * pinning costs `price`.  `hot`: its site's blocks mostly turned out worth pinning.  `behind`:
 * there is somebody who pins in the background.
 */
struct heat_choice heat_choose(const struct heat_season *season, uint64_t gain, uint64_t price,
			       bool hot, bool behind, const struct heat_funds *funds);

/*
 * The block is pinned now, before a copy that would have gained `gain` (0: in the background).
 * Returns what goes into the bank, ns, and puts the season in order.
 */
uint64_t heat_bought(struct heat_season *season, uint64_t gain, uint64_t price);

/* A copy of the pinned block that gained `gain`.  Returns what goes into the bank, ns. */
uint64_t heat_spared(struct heat_season *season, uint64_t gain);

/* Is a block that waits to be pinned in the background worth it still? */
bool heat_still_worth(const struct heat_season *season, uint64_t price);

/* The season is over and nothing was bought.  Returns what goes into the bank, ns. */
uint64_t heat_not_bought(struct heat_season *season, uint64_t price);

/* Moves one rate towards what was seen: `bytes` took `ns`.  Smoothed; outliers count little. */
uint32_t heat_learn(uint32_t rate, size_t bytes, uint64_t ns);

/*
 * May the driver be asked to pin anything now?  After `refusals` in a row: how long to wait since
 * the last one, ns.  0 at first, then twice as long each time.
 */
uint64_t heat_wait_ns(unsigned refusals);

/* For how long to make do with less once the driver is out of memory for the nth time in a row. */
uint64_t heat_lean_ns(unsigned times);

/*
 * May pinned blocks in use, the latest of whose copies was at `copied_ns`, make room in the budget
 * for one that has waited since `since_ns` and paid `rent` meanwhile?  `prices`: of its own pin and
 * of theirs, which may have to be made again.  All that must have been paid while none of them was
 * copied; so a working set larger than the budget does not chase itself round.
 */
bool heat_may_oust(uint64_t rent, uint64_t since_ns, uint64_t copied_ns, uint64_t prices);

/*
 * How long a fork() waits for `pinned` bytes to be unpinned, ns: 50 ms to find out whether the
 * device is idle, and for each byte a third of what copying takes, or less.  0: so few are copied
 * about as fast as that is found out.
 */
uint64_t heat_fork_patience_ns(size_t pinned);

#endif
