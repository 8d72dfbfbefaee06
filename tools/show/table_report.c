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

/* A table as it is printed. */
struct sheet {
	const struct table_rows *rows;
	size_t columns[TABLE_COLUMNS_MOST], count; /* of the table; those that are shown */
	unsigned widths[TABLE_COLUMNS_MOST];
	char **texts;  /* count of each row; the heads are the first row */
	bool is_whole; /* long texts are wrapped, not cut */
};

static const struct table_column *column_of(const struct sheet *sheet, size_t column)
{
	return &sheet->rows->table->columns[sheet->columns[column]];
}

/* A report shows figures first, since texts have any length. */
static void choose_columns(struct sheet *sheet)
{
	const struct table *table = sheet->rows->table;

	for (int texts = 0; texts < 2; texts++)
		for (size_t i = 0; i < table->count; i++)
			if (table_has_column(sheet->rows, i) &&
			    (table->in_order ? !texts : table_is_text(&table->columns[i]) == texts))
				sheet->columns[sheet->count++] = i;
}

static char *keep(const struct table_rows *rows, const char *text)
{
	char *kept = strcpy(profile_allocate(rows->profile, strlen(text) + 1, 1), text);

	if (!layout_is_utf8())
		terminal_make_ascii(kept);
	return kept;
}

static const char *cell_text(const struct table_rows *rows, const struct table_column *column,
			     const struct table_cell *cell)
{
	if (column->unit == TABLE_BAR)
		return layout_bar(cell->value, cell->of, BAR_COLUMNS);
	return table_cell_text(rows, column, cell,
			       rows->detail == TABLE_ALL ? TEXT_MOST : PLACE_MOST);
}

static void make_texts(struct sheet *sheet)
{
	const struct table_rows *rows = sheet->rows;
	char **to = sheet->texts = profile_allocate(rows->profile, sheet->count * (rows->count + 1),
						    sizeof(*sheet->texts));

	for (size_t i = 0; i < sheet->count; i++)
		*to++ = keep(rows, column_of(sheet, i)->head);
	for (size_t row = 0; row < rows->count; row++)
		for (size_t i = 0; i < sheet->count; i++)
			*to++ = keep(rows, cell_text(rows, column_of(sheet, i),
						     &rows->items[row].cells[sheet->columns[i]]));
}

/* A head may extend over columns without a head. */
static void measure(struct sheet *sheet)
{
	for (size_t i = 0; i < sheet->count; i++) {
		sheet->widths[i] = 0;
		for (size_t row = 1; row <= sheet->rows->count; row++) {
			size_t width = terminal_width(sheet->texts[row * sheet->count + i]);

			if (width > sheet->widths[i])
				sheet->widths[i] = (unsigned)width;
		}
	}
	for (size_t i = 0; i < sheet->count; i++) {
		size_t span = sheet->widths[i], head = terminal_width(sheet->texts[i]);

		for (size_t j = i + 1; j < sheet->count && sheet->texts[j][0] == '\0'; j++)
			span += GAP + sheet->widths[j];
		if (head > span)
			sheet->widths[i] += (unsigned)(head - span);
	}
}

/* Sums the widths of the columns; a text counts with `most` at most. */
static unsigned width_of_all(const struct sheet *sheet, unsigned most)
{
	unsigned all = INDENT;

	for (size_t i = 0; i < sheet->count; i++)
		all += (i > 0 ? GAP : 0) +
		       (table_is_text(column_of(sheet, i)) && sheet->widths[i] > most
				? most
				: sheet->widths[i]);
	return all;
}

/* Leaves out the columns with the highest `drop`.  False: there are none. */
static bool drop_next(struct sheet *sheet)
{
	size_t kept = 0, count = sheet->count;
	unsigned most = 0;

	for (size_t i = 0; i < count; i++)
		if (column_of(sheet, i)->drop > most)
			most = column_of(sheet, i)->drop;
	if (most == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (column_of(sheet, i)->drop < most)
			sheet->columns[kept++] = sheet->columns[i];
	sheet->count = kept;
	return true;
}

/* Returns "heat.c:42" of "main at heat.c:42, ..".  Lives as texts of texts.h do. */
static const char *line_only(const char *text)
{
	const char *at = strstr(text, " at "), *offset = strstr(text, "+0x");

	if (at != NULL)
		return text_made("%.*s", (int)strcspn(at + 4, ","), at + 4);
	return text_made("%.*s",
			 (int)strcspn(offset != NULL ? offset : text, ",") +
				 (int)(offset != NULL ? offset - text : 0),
			 text);
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

/* Returns the width of a text, or of its line number, to which it is narrowed first. */
static unsigned least_width(const struct sheet *sheet, size_t column)
{
	size_t least = NARROWEST;

	for (size_t row = 0; row <= sheet->rows->count; row++) {
		const char *text = sheet->texts[row * sheet->count + column];
		size_t width = terminal_width(line_only(text));

		least = width > least ? width : least;
	}
	return column_of(sheet, column)->unit == TABLE_PLACE && least < FLEXIBLE_LEAST
		       ? (unsigned)least
		       : FLEXIBLE_LEAST;
}

/* Narrows the widest of the texts, or of the places.  False: none can be narrowed. */
static bool narrow(struct sheet *sheet, bool is_place)
{
	size_t widest = sheet->count;

	for (size_t i = 0; i < sheet->count; i++) {
		enum table_unit unit = column_of(sheet, i)->unit;
		unsigned least = is_place ? least_width(sheet, i) : NARROWEST;

		if (table_is_text(column_of(sheet, i)) && (!is_place || unit == TABLE_PLACE) &&
		    sheet->widths[i] > least &&
		    (widest == sheet->count || sheet->widths[i] > sheet->widths[widest]))
			widest = i;
	}
	if (widest < sheet->count)
		sheet->widths[widest]--;
	return widest < sheet->count;
}

/* Leaves out columns first, then narrows places to their line numbers, then all texts. */
static void fit(struct sheet *sheet)
{
	do {
		make_texts(sheet);
		measure(sheet);
	} while (width_of_all(sheet, FLEXIBLE_LEAST) > layout_columns() && drop_next(sheet));
	while (width_of_all(sheet, (unsigned)-1) > layout_columns() &&
	       (narrow(sheet, true) || narrow(sheet, false)))
		continue;
}

/* Returns what of the text stands in a line; *ret_bytes: so much of it is done. */
static const char *line_of(const struct sheet *sheet, size_t column, const char *text,
			   size_t *ret_bytes)
{
	const struct table_column *of = column_of(sheet, column);
	unsigned width = sheet->widths[column];

	*ret_bytes = strlen(text);
	if (!table_is_text(of) || terminal_width(text) <= width)
		return text;
	if (of->unit == TABLE_PLACE && !sheet->is_whole)
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

	memcpy(rest, &sheet->texts[row * sheet->count], sheet->count * sizeof(*rest));
	while (more) {
		size_t printed = 0, edge = INDENT, bytes;

		more = false;
		for (size_t i = 0; i < sheet->count; edge += sheet->widths[i++] + GAP) {
			const char *line = line_of(sheet, i, rest[i], &bytes);
			size_t wide = terminal_width(line), from = edge;

			if (!table_is_text(column_of(sheet, i)) &&
			    column_of(sheet, i)->unit != TABLE_BAR && wide < sheet->widths[i])
				from += sheet->widths[i] - wide;
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

	choose_columns(&sheet);
	fit(&sheet);
	for (size_t i = 0; i < sheet.count; i++)
		has_heads |= sheet.texts[i][0] != '\0';
	if (has_heads)
		print_row(&sheet, 0);
	for (size_t row = 0; row < rows->count; row++) {
		const char *note = rows->items[row].note;

		if (rows->items[row].is_apart)
			printf("%*s..\n", INDENT, "");
		print_row(&sheet, row + 1);
		for (; note != NULL && *note != '\0'; note += strspn(note, "\n")) {
			size_t bytes = strcspn(note, "\n");

			layout_say(9, "     %s",
				   text_name(text_made("%.*s", (int)bytes, note), TEXT_MOST));
			note += bytes;
		}
	}
	if (rows->added > rows->count)
		printf("  and %zu more%s\n", rows->added - rows->count,
		       rows->table->name != NULL ? " (--all)" : "");
}

static void print_title(const struct table_rows *rows)
{
	char title[80];

	putchar('\n');
	if (rows->table->title == NULL && rows->title != NULL)
		layout_say(4, "%s", rows->title);
	if (rows->table->title == NULL)
		return;
	snprintf(title, sizeof(title), "%s", rows->table->title);
	for (char *at = title; *at != '\0'; at++)
		*at = (char)toupper((unsigned char)*at);
	layout_say(4, rows->title != NULL ? "%s (%s)" : "%s", title, rows->title);
}

static void fill(struct table_rows *rows, const struct table *table, const struct profile *profile,
		 const void *with, enum table_detail detail)
{
	*rows = (struct table_rows){ .table = table,
				     .profile = (struct profile *)profile,
				     .with = with,
				     .form = TABLE_REPORT,
				     .detail = detail,
				     .most = detail == TABLE_ALL || table->most == 0
						     ? SIZE_MAX
						     : table->most };
	table_fill(rows);
}

void table_print(const struct table *table, const struct profile *profile, const void *with,
		 enum table_detail detail)
{
	struct table_rows rows;

	fill(&rows, table, profile, with, detail);
	if (rows.count == 0 && rows.sentences == NULL)
		return;
	print_title(&rows);
	if (rows.count > 0)
		print_rows(&rows);
	for (char *at = rows.sentences; at != NULL && *at != '\0'; at += strcspn(at, "\n") + 1)
		layout_say(4, "  %.*s", (int)strcspn(at, "\n"), at);
}

void tables_print(const struct profile *profile)
{
	for (const struct table *const *table = tables; *table != NULL; table++)
		if ((*table)->title != NULL &&
		    (!(*table)->of_device || !profile_used_no_device(profile)))
			table_print(*table, profile, NULL, TABLE_ALL);
}
