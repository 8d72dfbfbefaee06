/*
 * test_heat_sim.c - the promise: at every moment of any trace, what was paid is at most twice what
 * the best choice in hindsight would have cost, and the endowment of the common bank.
 *
 * season.c, heat.c and site.c decide; the driver, the heap and the clock are a few lines here.  The
 * best choice is made season by season (heat.h) and knows the future.
 */
#include "host/heat.h"
#include "host/season.h"
#include "host/rates.h"
#include "host/site.h"

#include "check.h"

#define KIB    ((size_t)1 << 10)
#define MIB    ((size_t)1 << 20)
#define BLOCKS 256

struct world {
	struct block blocks[BLOCKS];
	uint64_t demand[BLOCKS]; /* of the open season, ns */
	bool waits[BLOCKS];      /* for the background */
	bool learns;             /* blocks have sites */
	bool background;         /* there is a thread */
	uint64_t paid, best;     /* ns */
	unsigned pins;
	unsigned early; /* of them, before the demand was there */
	unsigned late;  /* of them, in the background */
	unsigned wrong;
};

static struct world world;

/* Since the test began: banks and sites know no other beginning. */
static struct {
	uint64_t paid, best;
	uint32_t sites[BLOCKS];
	unsigned count;
} all;

static void start(bool learns, bool background)
{
	all.paid += world.paid;
	all.best += world.best;
	memset(&world, 0, sizeof(world));
	world.learns = learns;
	world.background = background;
	rates_start();
}

/* A block whose pages are new. */
static struct block *fresh(unsigned slot, uint32_t site, size_t room, bool huge)
{
	struct block *block = &world.blocks[slot];

	memset(block, 0, sizeof(*block));
	block->site = world.learns ? site : 0;
	unsigned known = 0;
	while (known < all.count && all.sites[known] != site)
		known++;
	if (known == all.count)
		all.sites[all.count++] = site;
	block->room = room;
	block->huge = huge;
	return block;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What is in banks was saved before. */
static void check_promise(void)
{
	uint64_t own, banks, paid = all.paid + world.paid, best = all.best + world.best;

	site_funds(0, &own, &banks);
	for (unsigned i = 0; i < all.count; i++) {
		uint64_t common;

		site_funds(all.sites[i], &own, &common);
		banks += own;
	}
	if (paid + banks > 2 * best + SITE_ENDOWMENT_NS)
		world.wrong++;
}

static uint64_t price_of(const struct block *block)
{
	return season_price(block);
}

static void demand(unsigned slot, uint64_t gain)
{
	uint64_t price = price_of(&world.blocks[slot]);
	uint64_t before = less(world.demand[slot], price);

	world.demand[slot] += gain;
	world.best += less(world.demand[slot], price) - before;
}

static void buy(unsigned slot, uint64_t gain)
{
	struct block *block = &world.blocks[slot];

	world.paid += price_of(block);
	world.pins++;
	world.early += world.demand[slot] < price_of(block);
	season_bought(block, gain, price_of(block));
	block->pin = BLOCK_PINNED;
	world.waits[slot] = false;
}

/* True: the block was pinned by or before this copy. */
static bool copy(unsigned slot, bool to_device, size_t bytes)
{
	struct block *block = &world.blocks[slot];
	struct heat_rates rates = rates_now();
	uint64_t gain = heat_gain_ns(&rates, to_device, bytes);

	demand(slot, gain);
	if (block->pin == BLOCK_PINNED) {
		season_spared(block, gain);
	} else {
		enum heat_verdict verdict =
			season_choose(block, gain, price_of(block), world.background);

		if (verdict == HEAT_PIN) {
			buy(slot, gain);
		} else {
			season_rented(block, gain);
			world.paid += gain;
			world.waits[slot] = world.waits[slot] || verdict == HEAT_PIN_BEHIND;
		}
	}
	check_promise();
	return block->pin == BLOCK_PINNED;
}

/* The background thread comes to the block. */
static void catch_up(unsigned slot)
{
	struct block *block = &world.blocks[slot];

	if (world.waits[slot] && season_still_worth(block, price_of(block))) {
		buy(slot, 0);
		world.late++;
	}
	world.waits[slot] = false;
	check_promise();
}

/* Unpinned, or the pages go. */
static void end(unsigned slot)
{
	struct block *block = &world.blocks[slot];

	if (block->pin == BLOCK_PINNED)
		season_unpinned(block);
	else
		season_not_bought(block);
	block->pin = BLOCK_PAGEABLE;
	world.demand[slot] = 0;
	world.waits[slot] = false;
	check_promise();
}

static void end_all(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		if (world.blocks[i].room != 0)
			end(i);
}

static bool kept(const char *what)
{
	printf("# %-34s paid %8.2f ms, best %8.2f ms, %u pins, %u early, %u late\n", what,
	       (double)world.paid / 1e6, (double)world.best / 1e6, world.pins, world.early,
	       world.late);
	return CHECK_EQ(world.wrong, 0) && CHECK(world.paid <= 2 * world.best + SITE_ENDOWMENT_NS);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Whoever buys regrets it: the block is never copied again. */
TEST(an_adversary_that_stops_after_each_pin)
{
	for (size_t room = 256 * KIB; room <= 1024 * MIB; room *= 4) {
		for (size_t each = room; each >= 4 * KIB && each >= room / 1024; each /= 8) {
			start(true, false);
			for (int season = 0; season < 12; season++) {
				fresh(0, 1, room, season % 2);
				for (int i = 0; i < 8192 && !copy(0, true, each); i++)
					;
				end(0);
			}
			CHECK_EQ(world.wrong, 0);
			CHECK(world.pins > 0);
		}
	}
	kept("stops after each pin");
}

/* Teaches a site that its blocks are hot, and betrays it as soon as it believes that. */
static void teach_and_betray(size_t room, size_t each, bool background, int delay)
{
	start(true, background);
	for (int round = 0; round < 60; round++) {
		/* As cheap a lesson as there is, and one that is dear. */
		for (int lesson = 0; lesson < 2 + round % 7; lesson++) {
			fresh(0, 1, room, false);
			for (int i = 0; i < 8192 && !copy(0, true, each); i++)
				if (world.waits[0] && i % (delay + 1) == 0)
					catch_up(0);
			for (int i = 0; i < round % 3 * 20; i++)
				copy(0, true, each);
			end(0);
		}
		for (int betrayal = 0; betrayal < 1 + round % 11; betrayal++) {
			fresh(0, 1, room, false);
			for (int i = 0; i < 3 && !copy(0, true, each); i++)
				;
			catch_up(0);
			end(0);
		}
	}
}

TEST(an_adversary_that_teaches_and_betrays)
{
	for (size_t room = 256 * KIB; room <= 256 * MIB; room *= 8)
		for (size_t each = room; each >= 4 * KIB && each >= room / 256; each /= 4)
			for (int delay = 0; delay < 40; delay += 13) {
				teach_and_betray(room, each, delay != 0, delay);
				CHECK_EQ(world.wrong, 0);
			}
	kept("teaches and betrays");
	teach_and_betray(64 * MIB, 8 * MIB, false, 0);
	kept("the same, 8 MiB out of 64");
	/* It must have been worth betraying. */
	CHECK(world.early > 10);
}

TEST(sites_that_take_turns)
{
	start(true, true);
	for (int i = 0; i < 4000; i++) {
		unsigned slot = (unsigned)i % 8;
		bool hot = slot % 2 == 0;

		fresh(slot, slot + 1, 16 * MIB, false);
		for (int n = 0; n < (hot ? 30 : 1); n++)
			copy(slot, n % 2, MIB * 4);
		catch_up(slot);
		end(slot);
	}
	CHECK(kept("hot and cold sites in turn"));
	for (uint32_t slot = 0; slot < 8; slot++)
		CHECK_EQ(site_is_hot(slot + 1), slot % 2 == 0);
}

TEST(phases)
{
	start(true, false);
	for (int i = 0; i < 600; i++) {
		fresh(0, 1, 32 * MIB, false);
		for (int n = 0; n < (i / 50 % 2 ? 1 : 12); n++)
			copy(0, true, 8 * MIB);
		end(0);
		/* Believed, and after a few useless pins not any more. */
		if (i % 50 == 49)
			CHECK_EQ(site_is_hot(1), i / 50 % 2 == 0);
	}
	CHECK(kept("phases of 50"));
	CHECK(world.early > 100);
}

/* As if the budget were full, a capture alive or no context there: rented against all advice. */
TEST(pins_that_cannot_be_made_are_not_made_up_for)
{
	start(true, true);
	for (int season = 0; season < 100; season++) {
		struct block *block = fresh(0, 1, 16 * MIB, false);

		for (int n = 0; n < 100; n++) {
			struct heat_rates rates = rates_now();
			uint64_t gain = heat_gain_ns(&rates, true, MIB);

			demand(0, gain);
			season_choose(block, gain, price_of(block), true);
			season_rented(block, gain);
		}
		end(0);
		uint64_t own, common;
		site_funds(1, &own, &common);
		/* What a season can be worth is never more than its price. */
		CHECK(own + common <= SITE_ENDOWMENT_NS + (uint64_t)(season + 1) * price_of(block));
	}
}

TEST(random_traces)
{
	uint64_t state = 88172645463325252u;
	uint64_t early = 0, late = 0;

	for (int trace = 0; trace < 300; trace++) {
		start(true, trace % 2);
		for (unsigned slot = 0; slot < 32; slot++)
			fresh(slot, slot % (unsigned)(trace % 16 + 1) + 1,
			      (next_random(&state) % 1024 + 1) * 64 * KIB, next_random(&state) % 2);
		for (int i = 0; i < 1000; i++) {
			unsigned slot = next_random(&state) % 32, what = next_random(&state) % 64;
			size_t room = world.blocks[slot].room;

			if (what == 0)
				end(slot);
			else if (what < 8)
				catch_up(slot);
			else
				copy(slot, what % 2,
				     next_random(&state) % (room >> next_random(&state) % 8) + 1);
		}
		CHECK_EQ(world.wrong, 0);
		early += world.early;
		late += world.late;
	}
	kept("random, the last of 300");
	printf("# %llu early, %llu late\n", (unsigned long long)early, (unsigned long long)late);
	CHECK(early > 100 && late > 100);
}

/*
 * Allocations and copies as programs make them: `times` rounds of the steps up to the row that says
 * so.  'a': a block with new pages, 'u': copied up, 'd': down, 'f': freed, and its pages go.
 */
struct step {
	char what;
	unsigned slot;
	uint32_t site;
	size_t bytes;
	bool huge;
	int times; /* of this step in a row; 0: once */
};

static const struct step polybench[] = {
	/* gemm: three arrays up, one down, once. */
	{ 'a', 0, 11, 32 * MIB, false, 0 },
	{ 'a', 1, 12, 32 * MIB, false, 0 },
	{ 'a', 2, 13, 32 * MIB, false, 0 },
	{ 'u', 0, 0, 32 * MIB, false, 0 },
	{ 'u', 1, 0, 32 * MIB, false, 0 },
	{ 'u', 2, 0, 32 * MIB, false, 0 },
	{ 'd', 2, 0, 32 * MIB, false, 0 },
	{ 'f', 0, 0, 0, false, 0 },
	{ 'f', 1, 0, 0, false, 0 },
	{ 'f', 2, 0, 0, false, 0 },
	{ 0 },
};

static const struct step solver[] = {
	/* The matrix up, then a flag each way an iteration, out of the smallest block there is. */
	{ 'a', 0, 21, 64 * MIB, true, 0 },
	{ 'a', 1, 22, 256 * KIB, false, 0 },
	{ 'u', 0, 0, 64 * MIB, true, 0 },
	{ 'u', 1, 0, 4, false, 500 },
	{ 'd', 1, 0, 4, false, 500 },
	{ 'd', 0, 0, 64 * MIB, true, 0 },
	{ 'f', 0, 0, 0, false, 0 },
	{ 'f', 1, 0, 0, false, 0 },
	{ 0 },
};

static const struct step tiles[] = {
	/* A picture of 64 MiB up in tiles of 1 MiB, and back. */
	{ 'a', 0, 31, 64 * MIB, false, 0 },
	{ 'u', 0, 0, MIB, false, 64 },
	{ 'd', 0, 0, MIB, false, 64 },
	{ 'u', 0, 0, MIB, false, 64 },
	{ 'd', 0, 0, MIB, false, 64 },
	{ 'f', 0, 0, 0, false, 0 },
	{ 0 },
};

static const struct step batches[] = {
	/* A fresh buffer a batch, sent three times; its result fetched once. */
	{ 'a', 0, 41, 32 * MIB, false, 0 },
	{ 'a', 1, 42, 4 * MIB, false, 0 },
	{ 'u', 0, 0, 32 * MIB, false, 3 },
	{ 'd', 1, 0, 4 * MIB, false, 0 },
	{ 'f', 0, 0, 0, false, 0 },
	{ 'f', 1, 0, 0, false, 0 },
	{ 0 },
};

static const struct step halo[] = {
	/* A stencil: the field once, its borders every step. */
	{ 'a', 0, 51, 128 * MIB, true, 0 },
	{ 'a', 1, 52, MIB, false, 0 },
	{ 'u', 0, 0, 128 * MIB, true, 0 },
	{ 'd', 1, 0, 512 * KIB, false, 40 },
	{ 'u', 1, 0, 512 * KIB, false, 40 },
	{ 'd', 0, 0, 128 * MIB, true, 0 },
	{ 'f', 0, 0, 0, false, 0 },
	{ 'f', 1, 0, 0, false, 0 },
	{ 0 },
};

static const struct step once[] = {
	/* A loader: each file into a new buffer, up once, freed. */
	{ 'a', 0, 61, 8 * MIB, false, 0 },
	{ 'u', 0, 0, 8 * MIB, false, 0 },
	{ 'f', 0, 0, 0, false, 0 },
	{ 0 },
};

static void play(const struct step *step)
{
	for (; step->what != 0; step++) {
		for (int i = 0; i < (step->times != 0 ? step->times : 1); i++) {
			if (step->what == 'a')
				fresh(step->slot, step->site, step->bytes, step->huge);
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

/* What `times` runs of the trace cost. */
static uint64_t cost(const char *name, const struct step *trace, int times, bool learns,
		     bool background)
{
	start(learns, background);
	for (int i = 0; i < times; i++)
		play(trace);
	end_all();
	kept(name);
	return world.paid;
}

/* In percent of ski-rental without sites: at most so much after learning for 40 runs. */
TEST(recorded_traces)
{
	const struct {
		const char *name;
		const struct step *trace;
		unsigned percent;
	} rows[] = {
		{ "arrays up once, down once", polybench, 100 },
		{ "solver with a flag", solver, 100 },
		{ "tiles of 1 MiB out of 64", tiles, 70 },
		{ "a fresh buffer a batch", batches, 65 },
		{ "stencil with halos", halo, 100 },
		{ "loader", once, 100 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t plain = cost(rows[i].name, rows[i].trace, 40, false, false);
		uint64_t learnt = cost("  with sites", rows[i].trace, 40, true, false);

		CHECK(learnt <= plain * rows[i].percent / 100);
		cost("  and in the background", rows[i].trace, 40, true, true);
	}
}

/* A learned site is pinned at once, by its first copy; one that went cold is not. */
TEST(learned_and_unlearned)
{
	start(true, false);
	for (int i = 0; i < 4; i++) {
		fresh(0, 1, 64 * MIB, false);
		for (int n = 0; n < 10; n++)
			copy(0, true, 16 * MIB);
		end(0);
	}
	fresh(0, 1, 64 * MIB, false);
	CHECK(copy(0, true, 16 * MIB));
	end(0);
	for (int i = 0; i < 6; i++) {
		fresh(0, 1, 64 * MIB, false);
		copy(0, true, 16 * MIB);
		end(0);
	}
	fresh(0, 1, 64 * MIB, false);
	CHECK(!copy(0, true, 16 * MIB));
	CHECK(kept("learned and unlearned"));
	/* Five useless pins at most. */
	CHECK(world.early <= 7);
}

CHECK_MAIN()
