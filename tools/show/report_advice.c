/*
 * report_advice.c - prints advice as text: the largest saving first, then what could not be
 * examined.
 */
#include "show/report_advice.h"
#include "show/layout.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdio.h>
#include <string.h>

#define ENTRIES_MOST 7
#define HANG         9 /* indent of a detail's further lines, in blanks */

static void entry(struct layout_table *table, const struct profile *profile,
		  const struct advice *advice, size_t number)
{
	layout_cell(table, "  %zu", number);
	layout_cell(table, "%s", text_name(advice->what, ADVICE_TEXT));
	layout_cell(table, "%s", advice->is_estimate ? "about" : "at most");
	layout_cell(table, "%s", text_time(advice->saves_ns));
	layout_tone(table, LAYOUT_BETTER);
	layout_cell(table, "%s", text_share(advice->saves_ns, profile->wall_ns));
	layout_row(table);
	if (advice->where[0] != '\0')
		layout_note(table, HANG, "     at  %s", text_name(advice->where, ADVICE_TEXT));
	layout_note(table, HANG, "     by  %s", text_name(advice->how, ADVICE_TEXT));
	if (advice->assumes[0] != '\0')
		layout_note(table, HANG, "     if  %s", text_name(advice->assumes, ADVICE_TEXT));
}

void report_advice(const struct profile *profile, const struct advice_list *list, bool all)
{
	static const struct layout_column columns[] = {
		{ "", .left = true }, { "", .left = true, .flexible = true }, { "" }, { "saves" },
		{ "of wall" },
	};
	size_t shown = 0, worth = 0;

	for (size_t i = 0; i < list->count; i++)
		worth += all || advice_is_worth(profile, &list->items[i]);
	if (worth == 0 && !list->is_done && list->left[0] == '\0' && list->blind[0] == '\0')
		return;
	struct layout_table *table = layout_table(columns, worth > 0 ? HP_LEN(columns) : 2);
	puts("\nSUGGESTIONS (savings do not add up)");
	if (list->is_done)
		layout_note(table, 5, "  %s", advice_nothing(list));
	for (; shown < worth && (all || shown < ENTRIES_MOST); shown++)
		entry(table, profile, &list->items[shown], shown + 1);
	if (worth > shown)
		layout_note(table, 5, "  and %zu more (--all)", worth - shown);
	if (worth == 0 && !list->is_done && !profile_used_no_device(profile))
		layout_note(table, 5, "  %s", advice_nothing(list));
	if (list->left[0] != '\0')
		layout_note(table, 5, "  Left: %s", text_name(list->left, ADVICE_TEXT));
	if (list->blind[0] != '\0')
		layout_note(table, 5, "  Not known: %s", text_name(list->blind, ADVICE_TEXT));
	layout_print(table, true);
}
