/*
 * table_report.c - writes a table as text for a terminal.
 */
#include "show/table_report.h"
#include "tables/table_rows.h"
#include "tables/tables.h"
#include "show/layout.h"
#include "profile/texts.h"

#include <ctype.h>
#include <string.h>

#define PLACE_MOST 44 /* characters of a place, if a column does not say it */
#define TEXT_MOST  1000

/* A report shows figures first, since texts have any length.  Returns the number of columns. */
static size_t report_columns(const struct table_rows *rows, size_t *ret)
{
	size_t used = 0;

	for (int texts = 0; texts < 2; texts++)
		for (size_t i = 0; i < rows->table->count; i++)
			if (table_has_column(rows, i) &&
			    table_is_text(&rows->table->columns[i]) == texts &&
			    used < LAYOUT_COLUMNS_MOST)
				ret[used++] = i;
	return used;
}

static void report_title(const struct table_rows *rows)
{
	char title[80];

	snprintf(title, sizeof(title), "%s", rows->table->title);
	for (char *at = title; *at != '\0'; at++)
		*at = (char)toupper((unsigned char)*at);
	layout_say(4, rows->title != NULL ? "\n%s (%s)" : "\n%s", title, rows->title);
}

static void report_rows(const struct table_rows *rows)
{
	struct layout_column heads[LAYOUT_COLUMNS_MOST];
	char first[40];
	size_t columns[LAYOUT_COLUMNS_MOST], used = report_columns(rows, columns);

	for (size_t i = 0; i < used; i++) {
		const struct table_column *column = &rows->table->columns[columns[i]];

		heads[i] = (struct layout_column){ column->head, table_is_text(column),
						   table_is_text(column), column->drop };
	}
	snprintf(first, sizeof(first), "  %s", used > 0 ? heads[0].head : "");
	heads[0].head = first;
	struct layout_table *table = layout_table(heads, used);
	for (size_t row = 0; row < rows->count; row++) {
		for (size_t i = 0; i < used; i++) {
			const struct table_column *column = &rows->table->columns[columns[i]];
			size_t most = rows->all ? TEXT_MOST : column->most;

			layout_cell(table, "%s%s", i == 0 ? "  " : "",
				    table_cell_text(rows, column,
						    &rows->items[row].cells[columns[i]],
						    most > 0 ? most : PLACE_MOST));
		}
		layout_row(table);
		if (rows->items[row].note != NULL)
			layout_note(table, 6, "    %s",
				    text_name(rows->items[row].note, TEXT_MOST));
	}
	layout_print(table, rows->all || rows->table->is_wrapped);
	if (rows->added > rows->count)
		printf("  and %zu more%s\n", rows->added - rows->count,
		       rows->table->name != NULL ? " (--all)" : "");
}

void table_print(const struct table *table, const struct profile *profile, const void *with,
		 bool all)
{
	struct table_rows rows = { .table = table,
				   .profile = (struct profile *)profile,
				   .with = with,
				   .form = TABLE_REPORT,
				   .all = all,
				   .most = all || table->most == 0 ? SIZE_MAX : table->most };

	table_fill(&rows);
	if (rows.count == 0 && rows.sentences == NULL)
		return;
	report_title(&rows);
	if (rows.count > 0)
		report_rows(&rows);
	for (char *at = rows.sentences; at != NULL && *at != '\0'; at += strcspn(at, "\n") + 1)
		layout_say(2, "  %.*s", (int)strcspn(at, "\n"), at);
}

void tables_print(const struct profile *profile, bool all)
{
	for (const struct table *const *at = tables; *at != NULL; at++) {
		const struct table *table = *at;
		bool is_of_run = !table->of_device || !profile_used_no_device(profile);

		if (table->title != NULL && (all || (is_of_run && table->report == TABLE_ALWAYS)) &&
		    (!table->of_timeline || profile->events.row_count > 0))
			table_print(table, profile, NULL, all);
	}
}
