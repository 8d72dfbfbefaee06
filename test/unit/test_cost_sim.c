/*
 * test_cost_sim.c - the guarantee of the pin cost model: at every moment of any trace, a program
 * has paid at most twice the cost of the best choice in hindsight, and an eighth more if a thread
 * pins in the background.
 *
 * cost.c decides; the driver, the heap and the clock are simulated in a few lines here.  The best
 * choice knows the future of each block, from the time that its pages are new or were unpinned
 * until the next such time.
 */
#include "pin/cost.h"

#include "check.h"
#include "sizes.h"

#define BLOCKS 256

/* Returns the verdict on a copy.  `background`: a thread pins in the background. */
static enum cost_verdict decide(uint64_t paid, uint64_t gain, uint64_t price, bool background)
{
	enum cost_verdict verdict = cost_decide(paid, gain, price);

	return verdict == COST_PIN_IN_BACKGROUND && !background ? COST_PIN : verdict;
}

struct sim_block {
	size_t room;
	bool huge, pinned;
	bool waits;         /* queued for the background */
	uint64_t copy_cost; /* ns of its pageable copies */
	uint64_t demand;    /* ns of all its copies if all of them were pageable */
};

struct world {
	struct sim_block blocks[BLOCKS];
	bool background;     /* a thread pins in the background */
	uint64_t paid, best; /* ns */
	unsigned pins;
	unsigned late; /* number of these in the background */
	unsigned wrong;
};

static struct world world;

static void start(bool background)
{
	memset(&world, 0, sizeof(world));
	world.background = background;
}

/* Gives a block new pages. */
static void fresh(unsigned slot, size_t room, bool huge)
{
	world.blocks[slot] = (struct sim_block){ .room = room, .huge = huge };
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_promise_kept(void)
{
	uint64_t most = 2 * world.best + (world.background ? world.best / 8 : 0);

	return world.paid <= most;
}

static uint64_t price_of(unsigned slot)
{
	return cost_of_pin_ns(&cost_rates_default, world.blocks[slot].room,
			      world.blocks[slot].huge);
}

static void demand(unsigned slot, uint64_t gain)
{
	struct sim_block *block = &world.blocks[slot];
	uint64_t price = price_of(slot), before = less(block->demand, price);

	block->demand += gain;
	world.best += less(block->demand, price) - before;
}

static void buy(unsigned slot)
{
	struct sim_block *block = &world.blocks[slot];

	world.paid += price_of(slot);
	world.pins++;
	block->copy_cost = 0;
	block->pinned = true;
	block->waits = false;
}

/* True if the block is pinned after this copy. */
static bool copy(unsigned slot, bool to_device, size_t bytes)
{
	struct sim_block *block = &world.blocks[slot];
	uint64_t gain = cost_of_copy_ns(&cost_rates_default, to_device, bytes);

	demand(slot, gain);
	if (!block->pinned) {
		enum cost_verdict verdict =
			decide(block->copy_cost, gain, price_of(slot), world.background);

		if (verdict == COST_PIN) {
			buy(slot);
		} else {
			block->copy_cost += gain;
			world.paid += gain;
			block->waits = block->waits || verdict == COST_PIN_IN_BACKGROUND;
		}
	}
	world.wrong += !is_promise_kept();
	return block->pinned;
}

/* The background thread pins the block. */
static void catch_up(unsigned slot)
{
	struct sim_block *block = &world.blocks[slot];

	if (block->waits && block->copy_cost >= price_of(slot)) {
		buy(slot);
		world.late++;
	}
	block->waits = false;
	world.wrong += !is_promise_kept();
}

/* Unpins the block, or drops its pages. */
static void end(unsigned slot)
{
	struct sim_block *block = &world.blocks[slot];

	*block = (struct sim_block){ .room = block->room, .huge = block->huge };
}

static bool kept(const char *what)
{
	printf("# %-34s paid %8.2f ms, best %8.2f ms, %u pins, %u late\n", what,
	       (double)world.paid / 1e6, (double)world.best / 1e6, world.pins, world.late);
	return CHECK_EQ(world.wrong, 0);
}

/* Copies until the block is pinned, and then never again. */
static void stop_after_each_pin(size_t room, size_t each, bool background)
{
	start(background);
	for (int phase = 0; phase < 12; phase++) {
		fresh(0, room, phase % 2);
		for (int i = 0; i < 8192 && !copy(0, true, each); i++)
			if (i % 5 == 4)
				catch_up(0);
		end(0);
	}
	CHECK_EQ(world.wrong, 0);
	CHECK(world.pins > 0);
}

TEST(an_adversary_that_stops_after_each_pin)
{
	for (size_t room = 256 * KIB; room <= 1024 * MIB; room *= 4)
		for (size_t each = room; each >= 4 * KIB && each >= room / 1024; each /= 8)
			for (int background = 0; background < 2; background++)
				stop_after_each_pin(room, each, background);
	kept("stops after each pin");
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void random_trace(uint64_t *state)
{
	for (unsigned slot = 0; slot < 32; slot++)
		fresh(slot, (next_random(state) % 1024 + 1) * 64 * KIB, next_random(state) % 2);
	for (int i = 0; i < 1000; i++) {
		unsigned slot = next_random(state) % 32, what = next_random(state) % 64;
		size_t room = world.blocks[slot].room;

		if (what == 0)
			end(slot);
		else if (what < 8)
			catch_up(slot);
		else
			copy(slot, what % 2,
			     next_random(state) % (room >> next_random(state) % 8) + 1);
	}
}

TEST(random_traces)
{
	uint64_t state = 88172645463325252u, late = 0;

	for (int trace = 0; trace < 300; trace++) {
		start(trace % 2);
		random_trace(&state);
		CHECK_EQ(world.wrong, 0);
		late += world.late;
	}
	kept("random, the last of 300");
	CHECK(late > 100);
}

/*
 * Allocations and copies as in programs: `times` rounds of the steps up to the row that states it.
 * 'a': a block with new pages, 'u': upload, 'd': download, 'f': the block is freed and its pages
 * are dropped.
 */
struct step {
	char what;
	unsigned slot;
	size_t bytes;
	bool huge;
	int times; /* number of repeats of this step; 0: once */
};

static const struct step polybench[] = {
	/* gemm: uploads three arrays and downloads one, once. */
	{ 'a', 0, 32 * MIB, false, 0 },
	{ 'a', 1, 32 * MIB, false, 0 },
	{ 'a', 2, 32 * MIB, false, 0 },
	{ 'u', 0, 32 * MIB, false, 0 },
	{ 'u', 1, 32 * MIB, false, 0 },
	{ 'u', 2, 32 * MIB, false, 0 },
	{ 'd', 2, 32 * MIB, false, 0 },
	{ 'f', 0, 0, false, 0 },
	{ 'f', 1, 0, false, 0 },
	{ 'f', 2, 0, false, 0 },
	{ 0 },
};

static const struct step solver[] = {
	/*
	 * Uploads a matrix, then a flag in each direction for each iteration, in the smallest
	 * possible block.
	 */
	{ 'a', 0, 64 * MIB, true, 0 },
	{ 'a', 1, 256 * KIB, false, 0 },
	{ 'u', 0, 64 * MIB, true, 0 },
	{ 'u', 1, 4, false, 500 },
	{ 'd', 1, 4, false, 500 },
	{ 'd', 0, 64 * MIB, true, 0 },
	{ 'f', 0, 0, false, 0 },
	{ 'f', 1, 0, false, 0 },
	{ 0 },
};

static const struct step tiles[] = {
	/* Uploads a picture of 64 MiB in tiles of 1 MiB, and downloads it. */
	{ 'a', 0, 64 * MIB, false, 0 },
	{ 'u', 0, MIB, false, 64 },
	{ 'd', 0, MIB, false, 64 },
	{ 'u', 0, MIB, false, 64 },
	{ 'd', 0, MIB, false, 64 },
	{ 'f', 0, 0, false, 0 },
	{ 0 },
};

static const struct step batches[] = {
	/* A new buffer for each batch, uploaded three times; its result is downloaded once. */
	{ 'a', 0, 32 * MIB, false, 0 },
	{ 'a', 1, 4 * MIB, false, 0 },
	{ 'u', 0, 32 * MIB, false, 3 },
	{ 'd', 1, 4 * MIB, false, 0 },
	{ 'f', 0, 0, false, 0 },
	{ 'f', 1, 0, false, 0 },
	{ 0 },
};

static const struct step halo[] = {
	/* A stencil: the field once, its borders in every step. */
	{ 'a', 0, 128 * MIB, true, 0 },
	{ 'a', 1, MIB, false, 0 },
	{ 'u', 0, 128 * MIB, true, 0 },
	{ 'd', 1, 512 * KIB, false, 40 },
	{ 'u', 1, 512 * KIB, false, 40 },
	{ 'd', 0, 128 * MIB, true, 0 },
	{ 'f', 0, 0, false, 0 },
	{ 'f', 1, 0, false, 0 },
	{ 0 },
};

static const struct step once[] = {
	/* A loader: each file is read into a new buffer, uploaded once, and freed. */
	{ 'a', 0, 8 * MIB, false, 0 },
	{ 'u', 0, 8 * MIB, false, 0 },
	{ 'f', 0, 0, false, 0 },
	{ 0 },
};

static void play(const struct step *step)
{
	for (; step->what != 0; step++) {
		for (int i = 0; i < (step->times != 0 ? step->times : 1); i++) {
			if (step->what == 'a')
				fresh(step->slot, step->bytes, step->huge);
			else if (step->what == 'f')
				end(step->slot);
			else
				copy(step->slot, step->what == 'u', step->bytes);
			/* The thread is four copies late. */
			if (i % 4 == 3)
				catch_up(step->slot);
		}
	}
}

/* The cost is at most so many percent of the best choice in hindsight. */
TEST(recorded_traces)
{
	const struct {
		const char *name;
		const struct step *trace;
		unsigned percent;
	} rows[] = {
		{ "arrays up once, down once", polybench, 130 },
		{ "solver with a flag", solver, 101 },
		{ "tiles of 1 MiB out of 64", tiles, 205 },
		{ "a fresh buffer a batch", batches, 170 },
		{ "stencil with halos", halo, 105 },
		{ "loader", once, 101 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int background = 0; background < 2; background++) {
			start(background);
			for (int time = 0; time < 40; time++)
				play(rows[i].trace);
			kept(rows[i].name);
			CHECK(world.paid <= world.best * rows[i].percent / 100);
		}
	}
}

CHECK_MAIN()
