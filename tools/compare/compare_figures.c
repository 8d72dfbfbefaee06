/*
 * compare_figures.c - the figures of each stage that are compared.
 */
#include "compare/compare.h"
#include "profile/texts.h"
#include "tables/tables.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *compare_name(const struct compare_stage *stage)
{
	return text_made("\"%s\"", text_name(stage->profile->stage, 32));
}

const char *compare_code(const char *text, bool in_table)
{
	char code[COMPARE_CODE_ROOM], *to = code;
	const char *shown = text_name(text, 32), *last = shown + strlen(shown) - (shown[0] != '\0');
	size_t fence = 1, run = 0;

	/* A longer row of backquotes than in the text, and blanks next to those in the text. */
	for (const char *at = shown; *at != '\0'; at++) {
		run = *at == '`' ? run + 1 : 0;
		fence = run >= fence ? run + 1 : fence;
	}
	bool blanks = strchr("` ", shown[0]) != NULL || strchr("` ", *last) != NULL;
	to = (char *)memset(to, '`', fence) + fence;
	if (blanks)
		*to++ = ' ';
	for (; *shown != '\0'; *to++ = *shown++)
		if (in_table && *shown == '|')
			*to++ = '\\';
	if (blanks)
		*to++ = ' ';
	to = (char *)memset(to, '`', fence) + fence;
	*to = '\0';
	return text_made("%s", code);
}

/* Returns the column of tables' summary; the figures are its columns with a head. */
static int figure_of(const char *key)
{
	int figure = 0;

	while (strcmp(table_summary.columns[figure].key, key) != 0)
		figure++;
	return figure;
}

static void widen(struct compare_figure *figure, int64_t value)
{
	figure->least = value < figure->least ? value : figure->least;
	figure->most = value > figure->most ? value : figure->most;
}

void compare_figures(const struct compare_stage *stage, struct compare_figure ret[COMPARE_FIGURES])
{
	struct table_cell cells[COMPARE_FIGURES];

	memset(ret, 0, COMPARE_FIGURES * sizeof(*ret));
	table_take(&table_summary, stage->profile, cells);
	for (size_t i = 0; i < table_summary.count; i++) {
		const struct table_column *column = &table_summary.columns[i];

		if (column->head == NULL)
			continue;
		ret[i].key = column->key;
		ret[i].value = table_value(column->unit, &cells[i]);
		ret[i].least = ret[i].most = ret[i].value;
	}
	for (size_t run = 0; stage->repeated && run < stage->run_count; run++) {
		table_take(&table_summary, stage->runs[run], cells);
		for (size_t i = 0; i < table_summary.count; i++)
			widen(&ret[i], table_value(table_summary.columns[i].unit, &cells[i]));
	}
}

unsigned compare_figure_noise(const struct compare_figure *before,
			      const struct compare_figure *after, unsigned least_tenths)
{
	return compare_noise_of(
		&(struct compare_times){ before->least, before->value, before->most },
		&(struct compare_times){ after->least, after->value, after->most }, least_tenths);
}

const char *compare_figure_name(int figure)
{
	return table_summary.columns[figure].head;
}

enum table_unit compare_figure_unit(int figure)
{
	return table_summary.columns[figure].unit;
}

static bool is_known(const struct compare_figure (*all)[COMPARE_FIGURES], size_t count, int figure)
{
	size_t known = 0;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		known += all[i][figure].value >= 0;
		any |= all[i][figure].value > 0;
	}
	return any && (known > 1 || strcmp(all[0][figure].key, "wall_ns") == 0);
}

/* Returns the first letters of a rate, "h2d" or "d2h"; NULL: the figure is no rate. */
static const char *rate_of(int figure)
{
	const struct table_column *column = &table_summary.columns[figure];

	return column->unit == TABLE_RATE ? column->key : NULL;
}

bool compare_is_nothing(const struct compare_figure all[COMPARE_FIGURES], int figure)
{
	const char *rate = rate_of(figure);

	return all[figure].value == 0 ||
	       (rate != NULL &&
		all[figure_of(rate[0] == 'h' ? "h2d_bytes" : "d2h_bytes")].value == 0);
}

/* True if every stage that copies knows the rate on the device. */
static bool are_timed(const struct compare_figure (*all)[COMPARE_FIGURES], size_t count,
		      const char *bytes, const char *rate)
{
	for (size_t i = 0; i < count; i++)
		if (all[i][figure_of(bytes)].value > 0 && all[i][figure_of(rate)].value < 0)
			return false;
	return true;
}

bool compare_has_row(const struct compare_figure (*all)[COMPARE_FIGURES], size_t count, int figure)
{
	if (all[0][figure].key == NULL)
		return false;

	/* All stages of a row use the same clock: the device's if every stage has it. */
	bool device = are_timed(all, count, "h2d_bytes", "h2d_bytes_per_s") &&
		      are_timed(all, count, "d2h_bytes", "d2h_bytes_per_s");
	const char *rate = rate_of(figure);
	bool is_of_other_clock = rate != NULL && device == (strstr(rate, "at_call") != NULL);
	return !is_of_other_clock && is_known(all, count, figure);
}

const char *compare_change(int64_t before, int64_t after, unsigned noise_tenths)
{
	if (before < 0 || after < 0 || (before == 0 && after == 0))
		return "";
	if (before == 0)
		return "new";
	if (after == 0)
		return "gone";
	if (text_is_same(before, after, noise_tenths))
		return before == after ? "same" : "~noise";
	if (after / 1000 >= before)
		return "x1000";
	if (after / 10 >= before)
		return text_made("x%lld", (long long)(after / before));
	return text_made("%c%s", after < before ? '-' : '+',
			 text_share(after < before ? before - after : after - before, before));
}
