/*
 * test_cost_probe.c - the pin cost model with learned rates, over whole runs: a disturbance does
 * not end pinning, and on a machine where pins save no time, probes cost very little.
 *
 * The machine has true rates.  During a disturbance each copy and each pin takes longer.  Every
 * block is copied a few times, then its pages go, so no pin survives.
 */
#include "pin/cost.h"

#include "check.h"
#include "sizes.h"

#define NO_BOUND 100000

struct machine {
	const char *name;
	uint32_t pageable, pinned; /* true rates, ns for 1 MiB */
	unsigned pin_factor;       /* time to register, as a multiple of the built-in rate */
	size_t bytes;              /* of a block */
	int copies;                /* of each block */
	int disturbed;             /* blocks; before them 50 blocks are not disturbed */
	unsigned slowed;           /* by this factor */
	bool only_pinned;          /* it slows copies of pinned memory alone */
	int blocks;                /* after the disturbance */
	unsigned pinned_percent;   /* of the last 100 blocks, at least */
	unsigned probes_permille;  /* of the time of all copies, at most, that pins cost */
};

struct run {
	struct cost_rates rates;
	uint64_t credit, copy_ns, pin_ns; /* the latter two since the disturbance */
	bool probes;                      /* the model may probe */
};

static uint64_t takes(uint32_t rate, size_t bytes, unsigned factor)
{
	return (uint64_t)rate * factor * bytes / MIB;
}

/* Decides and learns as pinning.c and cost.c do.  Returns true if it pinned the block. */
static bool copies_of_a_block(struct run *run, const struct machine *machine, unsigned factor)
{
	size_t bytes = machine->bytes;
	uint64_t paid = 0;
	bool pinned = false;

	for (int i = 0; i < machine->copies; i++) {
		uint64_t gain = cost_of_copy_ns(&run->rates, true, bytes);
		uint64_t pin = cost_of_pin_ns(&run->rates, bytes, true);

		if (!pinned) {
			uint64_t denied = cost_denied_ns(&run->rates, true, bytes, bytes, true);

			pinned = cost_decide(paid, gain, pin) != COST_STAY_PAGEABLE ||
				 (run->probes && cost_probe(&run->credit, denied, pin));
			if (pinned) {
				uint64_t ns = takes(cost_rates_default.pin_huge, bytes,
						    machine->pin_factor * factor);

				run->rates.pin_huge = cost_learn(run->rates.pin_huge, bytes, ns);
				run->pin_ns += ns + takes(run->rates.unpin_huge, bytes, 1);
			} else {
				paid += gain;
			}
		}
		_Atomic uint32_t *rate = pinned ? &run->rates.pinned_h2d : &run->rates.pageable_h2d;
		unsigned slowed = !pinned && machine->only_pinned ? 1 : factor;
		uint64_t ns = takes(pinned ? machine->pinned : machine->pageable, bytes, slowed);

		*rate = cost_learn(*rate, bytes, ns);
		run->copy_ns += ns;
	}
	return pinned;
}

/* Returns how many of the last 100 blocks were pinned. */
static unsigned play(struct run *run, const struct machine *machine)
{
	unsigned last = 0;

	run->rates = cost_rates_default;
	for (int i = 0; i < 50; i++)
		copies_of_a_block(run, machine, 1);
	for (int i = 0; i < machine->disturbed; i++)
		copies_of_a_block(run, machine, machine->slowed);
	run->copy_ns = run->pin_ns = 0;
	for (int i = 0; i < machine->blocks; i++)
		last += copies_of_a_block(run, machine, 1) && i >= machine->blocks - 100;
	return last;
}

static const struct machine machines[] = {
	/* Without a disturbance, every block is pinned. */
	{ "the built-in rates", 62242, 18961, 1, 64 * MIB, 1, 0, 1, false, 200, 100, NO_BOUND },
	/* A busy machine, or kernels before the copies: one block, 1 second, 10 seconds. */
	{ "disturbed once", 62242, 18961, 1, 64 * MIB, 1, 1, 3, true, 1000, 100, NO_BOUND },
	{ "disturbed for a while", 62242, 18961, 1, 64 * MIB, 1, 100, 4, true, 2000, 100,
	  NO_BOUND },
	{ "for long", 62242, 18961, 1, 64 * MIB, 1, 1000, 4, true, 2000, 100, NO_BOUND },
	{ "all copies and pins", 62242, 18961, 1, 64 * MIB, 1, 1000, 3, false, 2000, 100,
	  NO_BOUND },
	{ "blocks of several copies", 62242, 18961, 1, 16 * MIB, 8, 100, 4, true, 1000, 100,
	  NO_BOUND },
	{ "small blocks", 62242, 18961, 1, 8 * MIB, 1, 100, 4, true, 2000, 100, NO_BOUND },
	/* Pins save no time. */
	{ "a slow bus", 62242, 62242, 1, 64 * MIB, 1, 0, 1, false, 20000, 0, 20 },
	{ "a fast driver", 18961, 18961, 1, MIB, 8, 0, 1, false, 20000, 0, 20 },
	{ "pinned memory is slower", 62242, 75000, 1, 64 * MIB, 1, 0, 1, false, 20000, 0, 20 },
	{ "slow pins", 62242, 18961, 4, 64 * MIB, 1, 0, 1, false, 20000, 0, 20 },
};

TEST(runs)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		const struct machine *machine = &machines[i];
		struct run run = { .probes = true }, without = { 0 };
		unsigned last = play(&run, machine), old = play(&without, machine);

		printf("# %-26s pinned %3u of 100 (without probes %3u), pins %5.2f %% of copies\n",
		       machine->name, last, old, (double)run.pin_ns * 100 / (double)run.copy_ns);
		CHECK(last >= machine->pinned_percent);
		CHECK(run.pin_ns * 1000 <= run.copy_ns * machine->probes_permille);
	}
}

CHECK_MAIN()
