/*
 * compare_show.c - the comparison table: a column a stage, and the change of each row.
 *
 * Kernels that are new or gone are what porting is about, so they stand first, not last.
 */
#include "show/compare_show.h"
#include "show/layout.h"
#include "show/table_report.h"
#include "profile/texts.h"
#include "tables/tables.h"
#include "base/parse.h"
#include "base/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Widths of columns, with two blanks in between; the first stage has no change. */
#define NAME_COLUMNS   22
#define FIGURE_COLUMNS 9
#define CHANGE_COLUMNS 8
#define STAGE_COLUMNS  (2 + FIGURE_COLUMNS + 2 + CHANGE_COLUMNS)

/* Prints the figure and its change; the change has the tone. */
static void cell(const char *value, const char *change, enum layout_tone tone, bool is_first,
		 bool is_last)
{
	int width = (int)terminal_width(change);

	printf("  %*s%s", FIGURE_COLUMNS - (int)terminal_width(value), "", value);
	if (is_first || (is_last && width == 0))
		return;
	printf("  %s%s%s", layout_begin(tone), change, layout_end(tone));
	if (!is_last)
		printf("%*s", CHANGE_COLUMNS - width, "");
}

/* Less time is better; bytes and rates have no tone. */
static enum layout_tone tone_of(const char *change, bool is_time)
{
	return !is_time || (change[0] != '-' && change[0] != '+' && change[0] != 'x') ? LAYOUT_PLAIN
	       : change[0] == '-' ? LAYOUT_BETTER
				  : LAYOUT_WORSE;
}

struct comparison {
	const struct compare_stage *stages;
	size_t count, from, to; /* the stages of this block of columns */
	unsigned least_tenths;
	bool markdown;
};

static void row_name(const struct comparison *comparison, const char *name)
{
	if (comparison->markdown)
		printf("| %s%s |", name[0] == ' ' ? "&nbsp; " : "", name + strspn(name, " "));
	else
		printf("%s%*s", name, NAME_COLUMNS - (int)terminal_width(name), "");
}

static void row_cell(const struct comparison *comparison, size_t stage, const char *value,
		     const char *change, bool is_time)
{
	if (!comparison->markdown) {
		cell(value, change, tone_of(change, is_time), stage == 0,
		     stage + 1 == comparison->to);
		return;
	}
	printf(" %s |", value);
	if (stage > 0)
		printf(" %s |", change);
}

static void table_head(const struct comparison *comparison)
{
	printf("|  |");
	for (size_t i = comparison->from; i < comparison->to; i++) {
		printf(" %s", compare_code(comparison->stages[i].profile->stage, true));
		printf(i > 0 ? " | change |" : " |");
	}
	printf("\n|---|");
	for (size_t i = 0; i < comparison->count; i++)
		printf(i > 0 ? "--:|--:|" : "--:|");
	putchar('\n');
}

/* The first label is right-aligned with its figures; others extend over the column of changes. */
static void text_head(const struct comparison *comparison)
{
	const int first = NAME_COLUMNS + 2 + FIGURE_COLUMNS, room = STAGE_COLUMNS - 2;

	if (comparison->from > 0)
		printf("%*s", NAME_COLUMNS, "");
	for (size_t i = comparison->from; i < comparison->to; i++) {
		const char *label = text_name(comparison->stages[i].profile->stage,
					      (size_t)(i == 0 ? first : room));
		int width = (int)terminal_width(label);

		if (i == 0)
			printf("%*s%s", first - width, "", label);
		else
			printf("  %s%*s", label, i + 1 < comparison->to ? room - width : 0, "");
	}
	putchar('\n');
}

/* Prints the prediction for the first suggestion of the previous stage. */
static void predicted_row(const struct comparison *comparison)
{
	struct compare_prediction predicted;
	bool any = false;

	for (size_t i = 1; i < comparison->count; i++)
		any |= compare_predict(comparison->stages[i - 1].profile,
				       comparison->stages[i].profile, &predicted);
	if (!any)
		return;
	row_name(comparison, "  Predicted before");
	for (size_t i = comparison->from; i < comparison->to; i++) {
		char value[40] = "-";

		if (i > 0 && compare_predict(comparison->stages[i - 1].profile,
					     comparison->stages[i].profile, &predicted))
			snprintf(value, sizeof(value), "%s%s",
				 predicted.advice.is_estimate ? "~" : ">=",
				 text_time(predicted.wall_ns));
		row_cell(comparison, i, value, "", false);
	}
	putchar('\n');
}

static void block(const struct comparison *comparison,
		  const struct compare_figure (*all)[COMPARE_FIGURES])
{
	(comparison->markdown ? table_head : text_head)(comparison);
	for (int figure = 0; figure < COMPARE_FIGURES; figure++) {
		if (!compare_has_row(all, comparison->count, figure))
			continue;
		row_name(comparison, compare_figure_name(figure));
		for (size_t i = comparison->from; i < comparison->to; i++) {
			int64_t value = all[i][figure].value;

			row_cell(comparison, i,
				 compare_is_nothing(all[i], figure)
					 ? "-"
					 : compare_figure_shown(figure, value),
				 i > 0 ? compare_change(
						 all[i - 1][figure].value, value,
						 compare_figure_noise(&all[i - 1][figure],
								      &all[i][figure],
								      comparison->least_tenths))
				       : "",
				 strstr(all[i][figure].key, "_ns") != NULL);
		}
		putchar('\n');
		if (strcmp(all[0][figure].key, "wall_ns") == 0)
			predicted_row(comparison);
	}
}

/* Prints as many stages side by side as fit, and the others below. */
static void show_comparison(struct comparison *comparison)
{
	struct compare_figure(*all)[COMPARE_FIGURES] = calloc(comparison->count, sizeof(*all));
	size_t room = layout_columns() - NAME_COLUMNS - 2 - FIGURE_COLUMNS;

	for (size_t i = 0; i < comparison->count && all != NULL; i++)
		compare_figures(&comparison->stages[i], all[i]);
	while (all != NULL && comparison->from < comparison->count) {
		size_t fits = comparison->from == 0
				      ? 1 + room / STAGE_COLUMNS
				      : (layout_columns() - NAME_COLUMNS) / STAGE_COLUMNS;

		comparison->to = comparison->markdown || comparison->from + fits > comparison->count
					 ? comparison->count
					 : comparison->from + fits;
		if (!comparison->markdown)
			putchar('\n');
		block(comparison, (const struct compare_figure(*)[COMPARE_FIGURES])all);
		comparison->from = comparison->to;
	}
	free(all);
}

/* Prints each part of the wall time that changed by more than the noise, from stage to stage. */
static void step(const struct compare_stage *stages, unsigned noise_tenths)
{
	const struct profile *before = stages[0].profile, *after = stages[1].profile;
	bool same = text_is_same(before->wall_ns, after->wall_ns, noise_tenths);
	char parts[600] = "";

	layout_say(4, "\nFrom %s to %s: %s (%s)", compare_name(&stages[0]),
		   compare_name(&stages[1]), text_change(before->wall_ns, after->wall_ns),
		   same ? "within the noise"
			: compare_change(before->wall_ns, after->wall_ns, noise_tenths));
	for (int i = 0; i < 2; i++)
		if (!profile_has_split(stages[i].profile))
			layout_say(4, "  %s: %s", compare_name(&stages[i]),
				   text_no_split(stages[i].profile));
	if (!profile_has_split(before) || !profile_has_split(after))
		return;
	for (int part = 0; part < TEXT_PARTS; part++) {
		int64_t old = text_part_ns(&before->split, part),
			new = text_part_ns(&after->split, part);
		int64_t apart = old < new ? new - old : old - new;

		if (old < 0 || new < 0 ||
		    (__int128_t)apart * 1000 <= (__int128_t)before->wall_ns * noise_tenths)
			continue;
		snprintf(parts + strlen(parts), sizeof(parts) - strlen(parts), "%s%s: %s",
			 parts[0] != '\0' ? "; " : "", text_parts[part].title,
			 text_change(old, new));
	}
	if (parts[0] != '\0')
		layout_say(4, "  %s", parts);
}

void compare_show_prediction(FILE *to, const struct compare_stage *before,
			     const struct profile *after)
{
	struct compare_prediction predicted;

	if (!compare_predict(before->profile, after, &predicted))
		return;
	int64_t off_ns = predicted.off_ns < 0 ? -predicted.off_ns : predicted.off_ns;
	bool is_estimate = predicted.advice.is_estimate;

	fprintf(to, "  %s advised: %s", compare_name(before), predicted.advice.what);
	if (predicted.advice.where[0] != '\0')
		fprintf(to, " (%s)", text_name(predicted.advice.where, 120));
	fprintf(to, "\n    predicted %s %s; it took %s, %s %s (%s)%s\n",
		is_estimate ? "about" : "at least", text_time(predicted.wall_ns),
		text_time(after->wall_ns), text_time(off_ns),
		predicted.off_ns < 0 ? "less" : "more",
		text_share(off_ns, before->profile->wall_ns),
		predicted.off_ns < 0 && !is_estimate ? ": other parts took less time, too" : "");
}

static void prediction(const struct compare_stage *before, const struct profile *after)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (to == NULL)
		return;
	compare_show_prediction(to, before, after);
	fclose(to);
	layout_lines(6, text);
	free(text);
}

static void print_pairs(const struct table *table, struct compare_pairs pairs,
			const struct profile *profile)
{
	table_print(table, profile, &pairs, false);
	free(pairs.items);
}

void compare_show_table(const struct compare_stage *stages, size_t count, unsigned least_tenths,
			bool markdown)
{
	show_comparison(&(struct comparison){ .stages = stages,
					      .count = count,
					      .least_tenths = least_tenths,
					      .markdown = markdown });
}

void compare_show_steps(const struct compare_stage *stages, size_t count, unsigned least_tenths)
{
	const struct profile *last = stages[count - 1].profile;
	unsigned noise_tenths = least_tenths;

	for (size_t i = 1; i < count; i++) {
		noise_tenths = compare_noise(&stages[i - 1], &stages[i], least_tenths);
		step(&stages[i - 1], noise_tenths);
		prediction(&stages[i - 1], stages[i].profile);
		print_pairs(&compare_kernel_table,
			    compare_kernels(stages[i - 1].profile, stages[i].profile, noise_tenths),
			    stages[i].profile);
	}
	print_pairs(&compare_range_table,
		    compare_ranges(stages[count - 2].profile, last, noise_tenths), last);
	/* What a next stage could save.  A program that failed has no next stage. */
	if (last->process.exit_status <= 0)
		table_print(&table_bounds, last, NULL, false);
}
