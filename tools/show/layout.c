/*
 * layout.c - prints tables; the widths of columns are chosen when all rows are known.
 */
#include "show/layout.h"
#include "system/messages.h"
#include "base/parse.h"
#include "base/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USUAL          80
#define FLEXIBLE_LEAST 24
#define NARROWEST      4
#define GAP            2

struct cell {
	char *text;
	enum layout_tone tone;
};

struct row {
	struct cell cells[LAYOUT_COLUMNS_MOST];
	size_t count;
	bool is_note;
	unsigned note_hang;
};

struct layout_table {
	struct layout_column columns[LAYOUT_COLUMNS_MOST];
	size_t count, row_count, row_room;
	struct row *rows;
	unsigned widths[LAYOUT_COLUMNS_MOST];
	bool dropped[LAYOUT_COLUMNS_MOST];
};

static unsigned columns_now;
static bool color, utf8;

int layout_start(const char *word)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (word != NULL && strcmp(word, "auto") != 0 && strcmp(word, "always") != 0 &&
	    strcmp(word, "never") != 0) {
		hotpin_say("--color=%s: expected auto, always or never", word);
		return -1;
	}
	columns_now = terminal_columns(getenv("COLUMNS"), STDOUT_FILENO, USUAL);
	utf8 = terminal_is_utf8(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"));
	color = isatty(STDOUT_FILENO) && (none == NULL || none[0] == '\0') &&
		(terminal == NULL || strcmp(terminal, "dumb") != 0);
	if (word != NULL && strcmp(word, "auto") != 0)
		color = strcmp(word, "always") == 0;
	return 0;
}

unsigned layout_columns(void)
{
	return columns_now;
}

bool layout_is_utf8(void)
{
	return utf8;
}

const char *layout_begin(enum layout_tone tone)
{
	return !color || tone == LAYOUT_PLAIN ? ""
	       : tone == LAYOUT_BETTER        ? "\x1b[32m"
					      : "\x1b[31m";
}

const char *layout_end(enum layout_tone tone)
{
	return !color || tone == LAYOUT_PLAIN ? "" : "\x1b[0m";
}

static char *format_text(const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		return NULL;
	if (!utf8)
		terminal_make_ascii(text);
	return text;
}

void layout_say(unsigned hang, const char *format, ...)
{
	unsigned indent = 0;
	va_list args;

	va_start(args, format);
	char *text = format_text(format, args), *at = text;
	va_end(args);
	while (at != NULL) {
		size_t bytes = terminal_fit(at, columns_now - indent);

		printf("%*s%.*s\n", (int)indent, "", (int)bytes, at);
		at += bytes + strspn(at + bytes, " ");
		indent = hang;
		if (*at == '\0')
			break;
	}
	free(text);
}

void layout_lines(unsigned hang, const char *text)
{
	while (*text != '\0') {
		size_t bytes = strcspn(text, "\n");

		layout_say(hang, "%.*s", (int)bytes, text);
		text += bytes + (text[bytes] == '\n');
	}
}

const char *layout_bar(unsigned tenths, unsigned columns)
{
	static char bar[3 * 64 + 1];
	unsigned marks = (tenths * columns + 500) / 1000;
	char *at = bar;

	for (marks = marks < 64 ? marks : 64; marks > 0; marks--)
		at = stpcpy(at, utf8 ? "\xe2\x96\x88" : "#");
	*at = '\0';
	return bar;
}

struct layout_table *layout_table(const struct layout_column *columns, size_t count)
{
	struct layout_table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return NULL;
	table->count = count < LAYOUT_COLUMNS_MOST ? count : LAYOUT_COLUMNS_MOST;
	memcpy(table->columns, columns, table->count * sizeof(*columns));
	return table;
}

/* Returns the row that receives cells; NULL if there is no memory. */
static struct row *present(struct layout_table *table)
{
	if (table == NULL)
		return NULL;
	if (table->row_count == table->row_room) {
		size_t room = 2 * table->row_room + 8;
		struct row *rows = reallocarray(table->rows, room, sizeof(*rows));

		if (rows == NULL)
			return NULL;
		memset(rows + table->row_room, 0, (room - table->row_room) * sizeof(*rows));
		table->rows = rows;
		table->row_room = room;
	}
	return &table->rows[table->row_count];
}

static void add(struct row *row, size_t most, const char *format, va_list args)
{
	if (row != NULL && row->count < most)
		row->cells[row->count++].text = format_text(format, args);
}

void layout_cell(struct layout_table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(present(table), table != NULL ? table->count : 0, format, args);
	va_end(args);
}

void layout_tone(struct layout_table *table, enum layout_tone tone)
{
	struct row *row = present(table);

	if (row != NULL && row->count > 0)
		row->cells[row->count - 1].tone = tone;
}

void layout_row(struct layout_table *table)
{
	if (present(table) != NULL)
		table->row_count++;
}

void layout_note(struct layout_table *table, unsigned hang, const char *format, ...)
{
	struct row *row = present(table);
	va_list args;

	va_start(args, format);
	add(row, 1, format, args);
	va_end(args);
	if (row == NULL)
		return;
	row->note_hang = hang;
	row->is_note = true;
	table->row_count++;
}

static const char *text_of(const struct row *row, size_t column)
{
	return column < row->count && row->cells[column].text != NULL ? row->cells[column].text
								      : "";
}

static void measure(struct layout_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		table->widths[i] = (unsigned)terminal_width(table->columns[i].head);
		for (size_t j = 0; j < table->row_count; j++) {
			size_t width = terminal_width(text_of(&table->rows[j], i));

			if (!table->rows[j].is_note && width > table->widths[i])
				table->widths[i] = (unsigned)width;
		}
	}
}

/*
 * Cells of the first column contain the table's indent, so a table without that column needs one.
 */
static unsigned indent_of(const struct layout_table *table)
{
	return table->dropped[0] ? GAP : 0;
}

/* Sums the widths of the remaining columns; a flexible one counts with `flexible` at most. */
static unsigned width_of_all(const struct layout_table *table, unsigned flexible)
{
	unsigned all = indent_of(table);
	bool any = false;

	for (size_t i = 0; i < table->count; i++) {
		unsigned width = table->widths[i];

		if (table->dropped[i])
			continue;
		if (table->columns[i].flexible && width > flexible)
			width = flexible;
		all += width + (any ? GAP : 0);
		any = true;
	}
	return all;
}

/* Columns with the same `drop` number are dropped together. */
static void drop_next(struct layout_table *table)
{
	unsigned most = 0;

	for (size_t i = 0; i < table->count; i++)
		if (!table->dropped[i] && table->columns[i].drop > most)
			most = table->columns[i].drop;
	for (size_t i = 0; most > 0 && i < table->count; i++)
		table->dropped[i] |= table->columns[i].drop == most;
}

/* Drops columns first, then narrows flexible ones. */
static void fit(struct layout_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		if (width_of_all(table, FLEXIBLE_LEAST) > columns_now)
			drop_next(table);
	while (width_of_all(table, (unsigned)-1) > columns_now) {
		unsigned *widest = NULL;

		for (size_t i = 0; i < table->count; i++)
			if (table->columns[i].flexible && !table->dropped[i] &&
			    (widest == NULL || table->widths[i] > *widest))
				widest = &table->widths[i];
		if (widest == NULL || *widest <= NARROWEST)
			return;
		(*widest)--;
	}
}

static size_t columns_of(const char *text, size_t bytes)
{
	size_t used = 0;

	for (size_t at = 0; at < bytes; at++)
		used += (text[at] & 0xc0) != 0x80;
	return used;
}

/* Returns the number of bytes that fill so many columns. */
static size_t bytes_of(const char *text, size_t columns)
{
	size_t at = 0, used = 0;

	for (; text[at] != '\0'; at++) {
		used += (text[at] & 0xc0) != 0x80;
		if (used > columns)
			break;
	}
	return at;
}

/* Prints "name_that_is.." in so many columns; "name_tha.. at heat.c:42" keeps the place. */
static void print_cut(const char *text, unsigned columns)
{
	const char *tail = strstr(text, " at ");

	tail = tail != NULL ? tail : strstr(text, "+0x");

	size_t width = tail != NULL ? terminal_width(tail) : 0;
	if (terminal_width(text) <= columns) {
		fputs(text, stdout);
		return;
	}
	if (tail == NULL || width + 6 > columns) {
		tail = "";
		width = 0;
	}
	printf("%.*s..%s", (int)bytes_of(text, columns - 2 - width), text, tail);
}

static bool is_last(const struct layout_table *table, size_t column)
{
	for (column++; column < table->count; column++)
		if (!table->dropped[column])
			return false;
	return true;
}

/* Prints what does not fit the first line in further lines; rest[i] is NULL if there is none. */
static void print_rest(const struct layout_table *table, const char **rest)
{
	for (bool more = true; more;) {
		unsigned blanks = indent_of(table);
		bool any = false;

		more = false;
		for (size_t i = 0; i < table->count; i++) {
			if (table->dropped[i])
				continue;
			const char *text = rest[i] != NULL ? rest[i] + strspn(rest[i], " ") : "";
			size_t bytes = terminal_fit(text, table->widths[i]);

			if (bytes > 0)
				printf("%*s%.*s", (int)blanks, "", (int)bytes, text);
			blanks = (bytes > 0 ? 0 : blanks) + table->widths[i] + GAP -
				 (unsigned)columns_of(text, bytes);
			rest[i] = text + bytes;
			any |= bytes > 0;
			more |= rest[i][strspn(rest[i], " ")] != '\0';
		}
		if (any)
			putchar('\n');
	}
}

static void print_row(const struct layout_table *table, const struct row *row, bool whole)
{
	const char *rest[LAYOUT_COLUMNS_MOST] = { NULL };
	unsigned blanks = indent_of(table); /* pending blanks, so that no line ends with any */
	bool any = false;

	for (size_t i = 0; i < table->count; i++) {
		const char *text = row != NULL ? text_of(row, i) : table->columns[i].head;
		enum layout_tone tone = row != NULL ? row->cells[i].tone : LAYOUT_PLAIN;
		unsigned width = table->widths[i], used = (unsigned)terminal_width(text);

		if (table->dropped[i])
			continue;
		blanks += any ? GAP : 0;
		any = true;
		if (used > width && whole && row != NULL) {
			size_t bytes = terminal_fit(text, width);

			printf("%*s%.*s", (int)blanks, "", (int)bytes, text);
			rest[i] = text + bytes;
			blanks = width - (unsigned)columns_of(text, bytes);
			continue;
		}
		used = used < width ? used : width;
		if (!table->columns[i].left)
			blanks += width - used;
		if (used > 0) {
			printf("%*s%s", (int)blanks, "", layout_begin(tone));
			print_cut(text, width);
			fputs(layout_end(tone), stdout);
			blanks = 0;
		}
		if (table->columns[i].left && !is_last(table, i))
			blanks += width - used;
	}
	putchar('\n');
	print_rest(table, rest);
}

static bool has_heads(const struct layout_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->columns[i].head[0] != '\0')
			return true;
	return false;
}

void layout_print(struct layout_table *table, bool whole)
{
	if (table == NULL)
		return;
	measure(table);
	fit(table);
	if (has_heads(table))
		print_row(table, NULL, whole);
	for (size_t i = 0; i < table->row_count; i++) {
		struct row *row = &table->rows[i];

		if (row->is_note)
			layout_say(row->note_hang, "%s", text_of(row, 0));
		else
			print_row(table, row, whole);
		for (size_t j = 0; j < row->count; j++)
			free(row->cells[j].text);
	}
	free(table->rows);
	free(table);
}
