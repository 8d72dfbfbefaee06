/*
 * table_report.c - writes a table as text for a terminal.
 *
 * The widths of columns are chosen when all rows are known.
 */
#include "show/table_report.h"
#include "tables/table.h"
#include "tables/tables.h"
#include "show/layout.h"
#include "profile/texts.h"
#include "base/terminal.h"

#include <ctype.h>
#include <string.h>

#define PLACE_MOST     44 /* characters of a place, unless all is shown */
#define TEXT_MOST      1000
#define BAR_COLUMNS    20
#define INDENT         2
#define GAP            2
#define FLEXIBLE_LEAST 24 /* columns are left out before texts become narrower */
#define NARROWEST      4

/* A column of a table as it is printed. */
struct sheet_column {
	const struct table_column *of;
	unsigned width, of_lines; /* of_lines: of places without names */
	char **texts;             /* the head, then those of the rows */
};

struct sheet {
	const struct table_rows *rows;
	struct sheet_column columns[TABLE_COLUMNS_MOST];
	size_t count;
	bool is_whole; /* long texts are wrapped, not cut */
};

static char *shown(const char *text)
{
	char *made = text_made("%s", text);

	if (!layout_is_utf8())
		terminal_make_ascii(made);
	return made;
}

/* Returns "heat.c:42" of "main at heat.c:42, ..". */
static const char *line_only(const char *text)
{
	const char *at = strstr(text, " at "), *from = at != NULL ? at + 4 : text;
	const char *offset = at == NULL ? strstr(text, "+0x") : NULL;
	const char *last = offset != NULL ? offset : from;

	return text_made("%.*s", (int)(last - from) + (int)strcspn(last, ","), from);
}

static void add_column(struct sheet *sheet, size_t index)
{
	const struct table_rows *rows = sheet->rows;
	const struct table_column *of = &rows->table->columns[index];
	size_t most = rows->detail == TABLE_ALL ? TEXT_MOST : PLACE_MOST;
	char **texts = profile_allocate(rows->profile, rows->count + 1, sizeof(*texts));
	unsigned of_lines = 0;

	texts[0] = shown(of->head);
	for (size_t row = 0; row < rows->count; row++) {
		const struct table_cell *cell = &rows->items[row].cells[index];

		texts[row + 1] =
			shown(of->unit == TABLE_BAR ? layout_bar(cell->value, cell->of, BAR_COLUMNS)
						    : table_cell_text(rows, of, cell, most));
	}
	for (size_t row = 0; row <= rows->count && of->unit == TABLE_PLACE; row++) {
		unsigned width = (unsigned)terminal_width(line_only(texts[row]));

		of_lines = width > of_lines ? width : of_lines;
	}
	sheet->columns[sheet->count++] =
		(struct sheet_column){ .of = of, .of_lines = of_lines, .texts = texts };
}

/* A report shows figures first, since texts have any length. */
static void add_columns(struct sheet *sheet)
{
	const struct table *table = sheet->rows->table;

	for (int texts = 0; texts < 2; texts++)
		for (size_t i = 0; i < table->count; i++)
			if (table_has_column(sheet->rows, i) &&
			    (table->in_order ? !texts : table_is_text(&table->columns[i]) == texts))
				add_column(sheet, i);
}

/* A head may extend over columns without a head. */
static void measure(struct sheet *sheet)
{
	struct sheet_column *end = sheet->columns + sheet->count;

	for (struct sheet_column *column = sheet->columns; column < end; column++) {
		column->width = 0;
		for (size_t row = 1; row <= sheet->rows->count; row++) {
			size_t width = terminal_width(column->texts[row]);

			if (width > column->width)
				column->width = (unsigned)width;
		}
	}
	for (struct sheet_column *column = sheet->columns; column < end; column++) {
		size_t span = column->width, head = terminal_width(column->texts[0]);

		for (struct sheet_column *next = column + 1;
		     next < end && next->texts[0][0] == '\0'; next++)
			span += GAP + next->width;
		if (head > span)
			column->width += (unsigned)(head - span);
	}
}

/* Sums the widths of the columns; a text counts with `most` at most. */
static unsigned width_of_all(const struct sheet *sheet, unsigned most)
{
	unsigned all = INDENT;

	for (size_t i = 0; i < sheet->count; i++) {
		unsigned width = sheet->columns[i].width;

		all += (i > 0 ? GAP : 0) +
		       (table_is_text(sheet->columns[i].of) && width > most ? most : width);
	}
	return all;
}

/* Leaves out the columns with the highest `drop`.  False: there are none. */
static bool drop_next(struct sheet *sheet)
{
	size_t kept = 0;
	unsigned most = 0;

	for (size_t i = 0; i < sheet->count; i++)
		if (sheet->columns[i].of->drop > most)
			most = sheet->columns[i].of->drop;
	for (size_t i = 0; i < sheet->count && most > 0; i++)
		if (sheet->columns[i].of->drop < most)
			sheet->columns[kept++] = sheet->columns[i];
	sheet->count = most > 0 ? kept : sheet->count;
	return most > 0;
}

/* Returns "long_na.. at heat.c:42" of a place, or its end: the line number stays. */
static const char *cut_place(const char *text, size_t columns)
{
	const char *line = line_only(text), *at = strstr(text, " at ");
	size_t of_line = terminal_width(line);

	if (of_line > columns)
		return text_made("..%s", line + layout_bytes(line, of_line + 2 - columns));
	if (at == NULL || of_line + NARROWEST + 6 > columns)
		return line;
	size_t name = layout_bytes(text, columns - 4 - of_line);
	return name >= (size_t)(at - text)
		       ? text_made("%.*s at %s", (int)(at - text), text, line)
		       : text_made("%.*s.. at %s", (int)layout_bytes(text, columns - 6 - of_line),
				   text, line);
}

/* Returns how narrow a column may become; `is_place`: a place, to its line numbers. */
static unsigned least_width(const struct sheet_column *column, bool is_place)
{
	unsigned least = is_place && column->of_lines > NARROWEST ? column->of_lines : NARROWEST;

	if (!table_is_text(column->of) || (is_place && column->of->unit != TABLE_PLACE))
		return column->width;
	return least < FLEXIBLE_LEAST ? least : FLEXIBLE_LEAST;
}

/* Narrows the widest of the texts, or of the places.  False: none can be narrowed. */
static bool narrow(struct sheet *sheet, bool is_place)
{
	struct sheet_column *widest = NULL;

	for (size_t i = 0; i < sheet->count; i++) {
		struct sheet_column *column = &sheet->columns[i];

		if (column->width > least_width(column, is_place) &&
		    (widest == NULL || column->width > widest->width))
			widest = column;
	}
	if (widest != NULL)
		widest->width--;
	return widest != NULL;
}

/* Leaves out columns first, then narrows places to their line numbers, then all texts. */
static void fit(struct sheet *sheet)
{
	do
		measure(sheet);
	while (width_of_all(sheet, FLEXIBLE_LEAST) > layout_columns() && drop_next(sheet));
	while (width_of_all(sheet, (unsigned)-1) > layout_columns() &&
	       (narrow(sheet, true) || narrow(sheet, false)))
		continue;
}

/* Returns what of the text stands in a line; *ret_bytes: so much of it is done. */
static const char *line_of(const struct sheet *sheet, const struct sheet_column *column,
			   const char *text, size_t *ret_bytes)
{
	unsigned width = column->width;

	*ret_bytes = strlen(text);
	if (!table_is_text(column->of) || terminal_width(text) <= width)
		return text;
	if (column->of->unit == TABLE_PLACE && !sheet->is_whole)
		return cut_place(text, width);
	if (!sheet->is_whole)
		return text_made("%.*s..", (int)layout_bytes(text, width - 2), text);
	*ret_bytes = terminal_fit(text, width);
	return text_made("%.*s", (int)*ret_bytes, text);
}

static void print_row(const struct sheet *sheet, size_t row)
{
	const char *rest[TABLE_COLUMNS_MOST];
	bool more = true;

	for (size_t i = 0; i < sheet->count; i++)
		rest[i] = sheet->columns[i].texts[row];
	while (more) {
		size_t printed = 0, edge = INDENT, bytes;

		more = false;
		for (size_t i = 0; i < sheet->count; edge += sheet->columns[i++].width + GAP) {
			const struct sheet_column *column = &sheet->columns[i];
			const char *line = line_of(sheet, column, rest[i], &bytes);
			size_t wide = terminal_width(line), from = edge;

			if (!table_is_text(column->of) && column->of->unit != TABLE_BAR &&
			    wide < column->width)
				from += column->width - wide;
			if (wide > 0) {
				printf("%*s%s", (int)(from - printed), "", line);
				printed = from + wide;
			}
			rest[i] += bytes + strspn(rest[i] + bytes, " ");
			more |= rest[i][0] != '\0';
		}
		putchar('\n');
	}
}

static void print_rows(const struct table_rows *rows)
{
	struct sheet sheet = { .rows = rows,
			       .is_whole = rows->detail == TABLE_ALL && !rows->table->in_order };
	bool has_heads = false;

	add_columns(&sheet);
	fit(&sheet);
	for (size_t i = 0; i < sheet.count; i++)
		has_heads |= sheet.columns[i].texts[0][0] != '\0';
	if (has_heads)
		print_row(&sheet, 0);
	for (size_t row = 0; row < rows->count; row++) {
		const char *note = rows->items[row].note;

		if (rows->items[row].is_apart)
			printf("%*s..\n", INDENT, "");
		print_row(&sheet, row + 1);
		for (const char *line; (line = text_take_line(&note)) != NULL;)
			layout_say(9, "     %s", text_name(line, TEXT_MOST));
	}
	if (rows->added > rows->count)
		printf("  and %zu more%s\n", rows->added - rows->count,
		       rows->table->name != NULL ? " (--all)" : "");
}

static void print_title(const struct table_rows *rows)
{
	putchar('\n');
	if (rows->table->title == NULL && rows->title != NULL)
		layout_say(4, "%s", rows->title);
	if (rows->table->title == NULL)
		return;
	char *title = text_made("%s", rows->table->title);
	for (char *at = title; *at != '\0'; at++)
		*at = (char)toupper((unsigned char)*at);
	layout_say(4, rows->title != NULL ? "%s (%s)" : "%s", title, rows->title);
}

void table_print(const struct table *table, const struct profile *profile, const void *with,
		 enum table_detail detail)
{
	struct table_rows rows = {
		.table = table,
		.profile = (struct profile *)profile,
		.with = with,
		.form = TABLE_REPORT,
		.detail = detail,
		.most = detail == TABLE_ALL || table->most == 0 ? SIZE_MAX : table->most,
	};

	table_fill(&rows);
	if (rows.count == 0 && rows.sentences == NULL)
		return;
	print_title(&rows);
	if (rows.count > 0)
		print_rows(&rows);
	layout_lines(4, "  ", rows.sentences);
}

void tables_print(const struct profile *profile)
{
	for (const struct table *const *table = tables; *table != NULL; table++)
		if ((*table)->title != NULL &&
		    (!(*table)->of_device || !profile_used_no_device(profile)))
			table_print(*table, profile, NULL, TABLE_ALL);
}
