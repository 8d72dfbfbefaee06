/*
 * season.c - between a block's account, heat.c and the banks of its site.
 *
 * Copies of one block by several threads at once may see each other's half of a step.  What is
 * lost then is lost to the bank: nothing is ever credited twice.
 */
#include "host/season.h"
#include "host/rates.h"
#include "host/site.h"

static uint64_t load(const _Atomic uint64_t *number)
{
	return atomic_load_explicit(number, memory_order_relaxed);
}

static struct heat_season read_season(const struct block *block)
{
	return (struct heat_season){
		.rent = load(&block->excess_ns),
		.drawn = load(&block->drawn_ns),
		.owed = load(&block->owed_ns),
	};
}

/* Only one thread has it then. */
static struct heat_season take_season(struct block *block)
{
	return (struct heat_season){
		.rent = atomic_exchange(&block->excess_ns, 0),
		.drawn = atomic_exchange(&block->drawn_ns, 0),
		.owed = atomic_exchange(&block->owed_ns, 0),
	};
}

uint64_t season_price(const struct block *block)
{
	struct heat_rates rates = rates_now();

	return heat_price_ns(&rates, block->room, block->huge);
}

enum heat_verdict season_choose(struct block *block, uint64_t gain, uint64_t price, bool behind)
{
	struct heat_season season = read_season(block);
	struct heat_funds funds = { 0, 0 };
	bool hot = false;

	/* The table is asked only where that can matter. */
	if (gain != 0) {
		hot = site_is_hot(block->site);
		if (hot || season.rent + gain >= price)
			site_funds(block->site, &funds.own, &funds.common);
	}

	struct heat_choice choice = heat_choose(&season, gain, price, hot, behind, &funds);
	if (choice.draw == 0)
		return choice.verdict;
	if (!site_draw(block->site, choice.draw, !choice.early))
		return choice.early ? HEAT_RENT : HEAT_PIN;
	atomic_fetch_add(&block->drawn_ns, choice.draw);
	return choice.verdict;
}

void season_rented(struct block *block, uint64_t gain)
{
	atomic_fetch_add_explicit(&block->excess_ns, gain, memory_order_relaxed);
}

void season_bought(struct block *block, uint64_t gain, uint64_t price)
{
	struct heat_season season = take_season(block);

	site_credit(block->site, heat_bought(&season, gain, price));
	if (season.owed == 0)
		site_note_season(block->site, true);
	else
		atomic_store(&block->owed_ns, season.owed);
}

bool season_is_owed(const struct block *block)
{
	return load(&block->owed_ns) != 0;
}

void season_spared(struct block *block, uint64_t gain)
{
	uint64_t owed = load(&block->owed_ns);
	struct heat_season season;
	uint64_t spare;

	do {
		season = (struct heat_season){ .owed = owed };
		spare = heat_spared(&season, gain);
	} while (owed != 0 && !atomic_compare_exchange_weak(&block->owed_ns, &owed, season.owed));
	if (owed == 0)
		return;
	site_credit(block->site, spare);
	if (season.owed == 0)
		site_note_season(block->site, true);
}

bool season_still_worth(const struct block *block, uint64_t price)
{
	struct heat_season season = read_season(block);

	return heat_still_worth(&season, price);
}

void season_unpinned(struct block *block)
{
	if (take_season(block).owed != 0)
		site_note_season(block->site, false);
}

void season_not_bought(struct block *block)
{
	struct heat_season season = take_season(block);

	if (season.rent == 0 && season.drawn == 0)
		return;

	uint64_t price = season_price(block);
	site_note_season(block->site, season.rent >= price);
	site_credit(block->site, heat_not_bought(&season, price));
}
