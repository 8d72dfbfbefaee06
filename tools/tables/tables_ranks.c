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
	const struct ranks *ranks = rows->with;

	(void)profile;
	for (size_t i = 0; i < ranks->count; i++) {
		const struct profile *run = ranks->runs[i];
		const char *view = profile_view(run);

		TABLE_ROW(rows, run,
			  table_number(profile_add(profile_moved(run, view, "h2d").bytes,
						   profile_moved(run, view, "d2h").bytes)));
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

/*
 * Names the most uneven state of work.  A rank with less of that work waits, which appears as host
 * code.
 */
static void say_who_waits(struct table_rows *rows, const struct ranks_spread *spreads)
{
	int most = RANKS_STATES + 1;

	for (int figure = most + 1; figure < RANKS_FIGURES; figure++)
		if (spreads[figure].most - spreads[figure].least >
		    spreads[most].most - spreads[most].least)
			most = figure;
	const struct ranks_spread *work = &spreads[most];
	if (work->least < 0 || work->most - work->least < spreads[RANKS_WALL].median / 100)
		return;
	int64_t host_ns = work->of_most->split.host_ns;
	bool is_awaited = host_ns < spreads[RANKS_STATES].median;

	table_say(rows, "Most uneven: %s. Rank %s has %s, the median is %s.%s",
		  ranks_figure_name(most), text_name(work->of_most->process.rank, 8),
		  text_time(work->most), text_time(work->median),
		  text_if(is_awaited,
			  " It has %s less host code than the median, so other ranks may wait for "
			  "it.",
			  text_time(spreads[RANKS_STATES].median - host_ns)));
}

static void fill_spread(struct table_rows *rows, struct profile *profile)
{
	const struct ranks *ranks = rows->with;

	(void)profile;
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
	say_who_waits(rows, ranks->spreads);
}

/* clang-format off */
const struct table table_ranks = { .title = "Ranks", TABLE_FILL(rank) };
const struct table table_rank_spread = { TABLE_FILL(spread), .in_order = true };
/* clang-format on */
