/*
 * tables_ranks.c - the tables of a run's ranks: a row for each rank, and for each state.
 */
#include "tables/tables.h"
#include "analyze/ranks.h"
#include "base/parse.h"

static const struct table_column rank_columns[] = {
	{ NULL, "Rank", TABLE_TEXT, TABLE_AT(profile, process.rank) },
	{ NULL, "Wall", TABLE_TIME, TABLE_AT(profile, wall_ns) },
#define STATE(field, title, heading, dropped) \
	{ NULL, heading, TABLE_TIME, dropped, TABLE_AT(profile, split.field##_ns) },
#include "base/states.def"
	{ NULL, "Copied", TABLE_BYTES },
};

static void fill_rank(struct table_rows *rows, struct profile *profile)
{
	const struct ranks *ranks = table_with(rows);

	(void)profile;
	for (size_t i = 0; i < ranks->count; i++) {
		const struct profile *run = ranks->runs[i];

		TABLE_ROW(rows, run,
			  table_number(profile_add(profile_moved(run, "h2d").bytes,
						   profile_moved(run, "d2h").bytes)));
	}
}

static const struct table_column spread_columns[] = {
	{ NULL, "State", TABLE_TEXT },
	{ NULL, "Least", TABLE_TIME, TABLE_AT(ranks_spread, least) },
	{ NULL, "Median", TABLE_TIME, TABLE_AT(ranks_spread, median) },
	{ NULL, "Most", TABLE_TIME, TABLE_AT(ranks_spread, most) },
	{ NULL, "Uneven", TABLE_SHARE },
	{ NULL, "Least on", TABLE_TEXT },
	{ NULL, "Most on", TABLE_TEXT },
};

static void fill_spread(struct table_rows *rows, struct profile *profile)
{
	const struct ranks *ranks = table_with(rows);

	(void)profile;
	table_subtitle(rows, "uneven: how far the most is above the mean");
	for (int figure = 0; figure < RANKS_FIGURES; figure++) {
		const struct ranks_spread *spread = &ranks->spreads[figure];

		if (spread->most > 0)
			TABLE_ROW(rows, spread, table_text(ranks_figure_name(figure)),
				  table_share(spread->mean >= 0 ? spread->most - spread->mean
								: UNKNOWN,
					      spread->mean),
				  table_text(spread->of_least->process.rank),
				  table_text(spread->of_most->process.rank));
	}
}

/* clang-format off */
const struct table table_ranks = { NULL, "Ranks", TABLE_FILL(rank) };
const struct table table_rank_spread = { NULL, "Ranks by state", TABLE_FILL(spread) };
/* clang-format on */
