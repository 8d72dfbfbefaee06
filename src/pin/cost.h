/*
 * The pin cost model: decides when pinning a block pays, by rates that are measured in this
 * process.  Decisions are pure; the rates are arguments.
 *
 * Ski rental: a block accumulates its copy cost, which is what its pageable copies cost above
 * pinned ones.  The copy cost starts at 0 when the pages are new or were unpinned.  The block is
 * pinned when the copy cost reaches the pin cost, registering and later unregistering.  Then the
 * block costs at most twice the best choice in hindsight.  Background pins cost an eighth of the
 * pin cost more.
 *
 * Rates are learned.  A machine that was busy for a while may leave rates by which no pin pays, and
 * then no pinned copy would ever correct them.  So pageable copies earn probes: pins against the
 * learned rates.  All probes cost at most 1/64 of the time of pageable copies.
 */
#ifndef HP_PIN_COST_H
#define HP_PIN_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds per MiB unless the name says otherwise.  Each is learned on its own. */
struct cost_rates {
	_Atomic uint32_t pageable_h2d, pageable_d2h; /* a pageable copy */
	_Atomic uint32_t pinned_h2d, pinned_d2h;     /* a copy from or to pinned memory */
	_Atomic uint32_t pin_small, pin_huge; /* registering touched memory: 4 KiB, 2 MiB pages */
	_Atomic uint32_t unpin_small, unpin_huge; /* unregistering, on an idle device */
	uint32_t pin_floor_ns;                    /* registering any size */
	uint32_t copy_floor_ns;                   /* any copy, pageable or pinned */
};

/* Rates to start from, measured on an H200 (PCIe 5 x16). */
extern const struct cost_rates cost_rates_default;

/*
 * The rates of this process.  Any thread, no lock: if two learn at once, one sample is lost.
 */
extern struct cost_rates cost_rates_here;

/* Returns what a pageable copy of `bytes` costs above one from pinned memory, ns. */
uint64_t cost_of_copy_ns(const struct cost_rates *rates, bool to_device, size_t bytes);

/* Returns what pinning and later unpinning `room` bytes costs, ns. */
uint64_t cost_of_pin_ns(const struct cost_rates *rates, size_t room, bool huge);

enum cost_verdict {
	COST_STAY_PAGEABLE,     /* run the copy pageable */
	COST_PIN,               /* pin first, then copy */
	COST_PIN_IN_BACKGROUND, /* pin in the background; this small copy does not wait */
};

/*
 * Decides about a copy that costs `copy` ns more pageable than pinned, of a block whose earlier
 * copies cost `paid` and whose pin costs `pin`.
 */
enum cost_verdict cost_decide(uint64_t paid, uint64_t copy, uint64_t pin);

/*
 * Returns how much less a pin brings a copy by the learned rates than by the built-in ones, ns: the
 * gain of this copy and the cost of the pin together.  At most the gain by the built-in rates, and
 * the time of the copy by the learned ones.
 */
uint64_t cost_denied_ns(const struct cost_rates *learned, bool to_device, size_t bytes, size_t room,
			bool huge);

/*
 * Credits a pageable copy with what it was denied.  True if the block is pinned as a probe, which
 * costs `pin` ns and is paid by the credit.
 */
bool cost_probe(uint64_t *credit, uint64_t denied, uint64_t pin);

/*
 * cost_probe() by cost_rates_here, on the credit of the process: true if a copy of at least
 * COST_LEARNS_FROM bytes, which is to run pageable, pins its block of `room` bytes instead.
 */
bool cost_probe_here(bool to_device, size_t bytes, size_t room, bool huge);

/* Returns the rate moved towards a sample: `bytes` took `ns`.  Smooths; outliers count little. */
uint32_t cost_learn(uint32_t rate, size_t bytes, uint64_t ns);

/* Shorter copies measure the call rather than the rate, and need not be reported. */
#define COST_LEARNS_FROM ((size_t)1 << 20)

/*
 * Learn cost_rates_here from a copy of `bytes`, or from registering or unregistering them, which
 * took `ns`.
 */
void cost_learn_copy(bool to_device, bool pinned, size_t bytes, uint64_t ns);
void cost_learn_pin(bool huge, size_t bytes, uint64_t ns);
void cost_learn_unpin(bool huge, size_t bytes, uint64_t ns);

/*
 * Returns how long to wait after the last of `refusals` by the driver in a row, ns: 0 at first,
 * then twice as long each time.
 */
uint64_t cost_retry_ns(unsigned refusals);

/*
 * Returns for how long the budget stays reduced after the driver was out of memory for the nth
 * time in a row, ns.
 */
uint64_t cost_lean_ns(unsigned times);

/*
 * Returns how long fork() waits for `pinned` bytes to be unpinned, ns: 50 ms to find out whether
 * the device is idle, and for each byte at most a third of what the kernel takes to copy it.  0
 * for so few bytes that the kernel copies them as fast.
 */
uint64_t cost_fork_patience_ns(size_t pinned);

#endif
