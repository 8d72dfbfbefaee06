/*
 * compare_figures.c - the figures of each stage that are compared.
 */
#include "compare/compare.h"
#include "profile/texts.h"
#include "tables/tables.h"
#include "base/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_COLUMNS  19
#define NAME_COLUMNS   24 /* with the indent */
#define FIGURE_COLUMNS 9
#define STAGE_COLUMNS  21  /* a figure and its change */
#define NOISE_MOST     200 /* characters of a list */
#define STAGES_MOST    ((TABLE_COLUMNS_MOST - 1) / 2)

/* The figures of a stage, by column of table_summary; figures are its columns with a head. */
#define FIGURES        32
struct figures {
	struct compare_times of[FIGURES]; /* some may be UNKNOWN */
};

static size_t figure_of(const char *key)
{
	return table_column(&table_summary, key);
}

static struct figures figures_of(const struct compare_stage *stage)
{
	const struct profile *const *runs = stage->repeated ? stage->runs : &stage->profile;
	size_t run_count = stage->repeated ? stage->run_count : 1;
	struct table_cell cells[FIGURES];
	struct figures figures;

	for (size_t run = 0; run < run_count; run++) {
		table_take(&table_summary, runs[run], cells);
		for (size_t i = 0; i < table_summary.count; i++) {
			int64_t value = table_value(table_summary.columns[i].unit, &cells[i]);
			struct compare_times *times = &figures.of[i];

			if (run == 0)
				*times = (struct compare_times){ value, value, value };
			times->least = value < times->least ? value : times->least;
			times->most = value > times->most ? value : times->most;
			if (runs[run] == stage->profile)
				times->median = value;
		}
	}
	return figures;
}

/* Returns the first letters of a rate, "h2d" or "d2h"; NULL: the figure is no rate. */
static const char *rate_of(size_t figure)
{
	const struct table_column *column = &table_summary.columns[figure];

	return column->unit == TABLE_RATE ? column->key : NULL;
}

/* True if the figure is 0, or the rate of copies that did not occur. */
static bool is_nothing(const struct figures *stage, size_t figure)
{
	const char *rate = rate_of(figure);

	return stage->of[figure].median == 0 ||
	       (rate != NULL &&
		stage->of[figure_of(rate[0] == 'h' ? "h2d_bytes" : "d2h_bytes")].median == 0);
}

/* True if every stage that copies knows the rate on the device. */
static bool are_timed(const struct figures *stages, size_t count, const char *bytes,
		      const char *rate)
{
	for (size_t i = 0; i < count; i++)
		if (stages[i].of[figure_of(bytes)].median > 0 &&
		    stages[i].of[figure_of(rate)].median < 0)
			return false;
	return true;
}

/*
 * True if the table has a row for the figure: at least two stages know it and it is not 0, and no
 * other row has it by a better clock.
 */
static bool has_row(const struct figures *stages, size_t count, size_t figure)
{
	const char *rate = rate_of(figure);
	size_t known = 0;
	bool any = false;

	/* All stages of a row use the same clock: the device's if every stage has it. */
	if (rate != NULL && (are_timed(stages, count, "h2d_bytes", "h2d_bytes_per_s") &&
			     are_timed(stages, count, "d2h_bytes", "d2h_bytes_per_s")) ==
				    (strstr(rate, "at_call") != NULL))
		return false;
	for (size_t i = 0; i < count; i++) {
		known += stages[i].of[figure].median >= 0;
		any |= stages[i].of[figure].median > 0;
	}
	return table_summary.columns[figure].head != NULL && any &&
	       (known > 1 || figure == figure_of("wall_ns"));
}

/* Says what the noise is of each change. */
static void say_noise(struct table_rows *rows, const struct comparison *comparison)
{
	size_t least = SIZE_MAX, most = 0;
	const char *text = "";

	for (size_t i = 0; i < comparison->count; i++) {
		const struct compare_stage *stage = &comparison->stages[i];
		size_t runs = stage->repeated ? stage->run_count : 1;

		least = runs < least ? runs : least;
		most = runs > most ? runs : most;
		if (i == 0 || strlen(text) > NOISE_MOST)
			continue;
		unsigned tenths = compare_step(comparison, i - 1, i).noise_tenths;
		text = text_made("%s%s%u.%u %%", text, i > 1 ? ", " : "", tenths / 10, tenths % 10);
	}
	/* Of single runs all are equal. */
	table_say(rows, "Changes are against the previous stage; noise %.*s%s.",
		  (int)strcspn(text, most == 1 ? "," : ""), text,
		  most == 1       ? comparison->given ? ", as given; one run each"
						      : ", assumed: one run each"
		  : least == most ? text_made(" (%zu runs each)", most)
				  : text_made(" (%zu to %zu runs each)", least, most));
}

static void add_figure(struct table_rows *rows, const struct comparison *comparison,
		       const struct figures *stages, size_t figure)
{
	struct table_cell cells[TABLE_COLUMNS_MOST], *cell = cells;

	*cell++ = table_text(table_summary.columns[figure].head);
	for (size_t i = comparison->from; i < comparison->to; i++) {
		const struct compare_times *is = &stages[i].of[figure], *was = is;

		*cell++ = table_number_of(table_summary.columns[figure].unit,
					  is_nothing(&stages[i], figure) ? 0 : is->median);
		if (i == 0)
			continue;
		was = &stages[i - 1].of[figure];
		*cell++ = table_text(
			compare_change(was->median, is->median,
				       compare_noise_of(was, is, comparison->least_tenths)));
	}
	table_add(rows, NULL, cells, (size_t)(cell - cells));
}

static void add_predictions(struct table_rows *rows, const struct comparison *comparison)
{
	struct table_cell cells[TABLE_COLUMNS_MOST], *cell = cells;
	bool any = false;

	for (size_t i = 0; i < comparison->count; i++)
		any |= compare_predicted(comparison, i).value != 0;
	if (!any)
		return;
	*cell++ = table_text("  Predicted before");
	for (size_t i = comparison->from; i < comparison->to; i++) {
		*cell++ = compare_predicted(comparison, i);
		if (i > 0)
			*cell++ = table_text("");
	}
	table_add(rows, NULL, cells, (size_t)(cell - cells));
}

static void fill_figures(struct table_rows *rows, struct profile *profile)
{
	const struct comparison *comparison = rows->with;
	struct figures *stages = profile_allocate(profile, comparison->count, sizeof(*stages));

	for (size_t i = 0; i < comparison->count; i++)
		stages[i] = figures_of(&comparison->stages[i]);
	for (size_t figure = 0; figure < table_summary.count; figure++) {
		if (!has_row(stages, comparison->count, figure))
			continue;
		add_figure(rows, comparison, stages, figure);
		if (figure == figure_of("wall_ns"))
			add_predictions(rows, comparison);
	}
	if (comparison->to == comparison->count)
		say_noise(rows, comparison);
}

void compare_make_table(struct comparison *comparison, size_t columns, struct table *ret)
{
	const struct compare_stage *stages = comparison->stages;
	const struct profile *memory = stages[0].profile;
	struct table_column *column = profile_allocate(memory, TABLE_COLUMNS_MOST, sizeof(*column));
	size_t used = NAME_COLUMNS;

	*ret = (struct table){ .columns = column, .fill = fill_figures, .in_order = true };
	*column++ = (struct table_column){ .head = "" };
	for (comparison->to = comparison->from; comparison->to < comparison->count;) {
		const char *stage = stages[comparison->to].profile->stage;
		const char *label = text_name(stage, LABEL_COLUMNS);

		size_t wide = terminal_width(label);
		used += comparison->to > 0 ? STAGE_COLUMNS
					   : 2 + (wide > FIGURE_COLUMNS ? wide : FIGURE_COLUMNS);
		if (comparison->to > comparison->from &&
		    (used > columns || comparison->to - comparison->from == STAGES_MOST))
			break;
		*column++ = (struct table_column){ .head = label, .unit = TABLE_FIGURE };
		if (comparison->to++ > 0)
			*column++ = (struct table_column){ .head = "", .unit = TABLE_CHANGE };
	}
	ret->count = (size_t)(column - ret->columns);
}
