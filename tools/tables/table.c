/*
 * table.c - collects the rows of a table.
 */
#include "tables/table.h"
#include "names/names.h"
#include "profile/texts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MOST 1000

struct table_cell table_number(int64_t value)
{
	return (struct table_cell){ .value = value };
}

struct table_cell table_number_of(enum table_unit unit, int64_t value)
{
	return (struct table_cell){ .value = value, .of = 1000000000, .unit = unit };
}

struct table_cell table_about(const char *before, int64_t value)
{
	return (struct table_cell){ .value = value, .unit = TABLE_TIME, .text = before };
}

struct table_cell table_bar(const char *class, int64_t part, int64_t whole)
{
	return (struct table_cell){ .value = part, .of = whole, .text = class };
}

/* Times of several threads may add up to more than the whole: then they are no part of it. */
struct table_cell table_share(int64_t part, int64_t whole)
{
	bool is_part = whole > 0 && part <= whole;

	return (struct table_cell){ .value = is_part ? part : UNKNOWN, .of = whole };
}

struct table_cell table_rate(int64_t bytes, int64_t ns)
{
	return (struct table_cell){ .value = bytes > 0 && ns > 0 ? bytes : UNKNOWN, .of = ns };
}

struct table_cell table_text(const char *text)
{
	return (struct table_cell){ .text = text };
}

struct table_cell table_place(const struct profile_frame *frame, const char *more)
{
	return (struct table_cell){ .frame = frame, .text = more };
}

struct table_cell table_place_named(const struct profile_frame *frame, const char *name)
{
	return (struct table_cell){ .frame = frame, .text = name, .is_named = true };
}

struct table_cell table_mean(int64_t ns, int64_t count)
{
	return table_number(ns >= 0 && count > 0 ? ns / count : UNKNOWN);
}

int64_t table_value(enum table_unit unit, const struct table_cell *cell)
{
	__int128_t rate;

	if (unit != TABLE_RATE || cell->value < 0)
		return cell->value;
	rate = (__int128_t)cell->value * 1000000000 / cell->of;
	return rate < INT64_MAX ? (int64_t)rate : INT64_MAX;
}

void table_say(struct table_rows *rows, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_add_line(&rows->sentences, "%s", text_of(format, args));
	va_end(args);
}

/* Returns a figure as a text: "n/a" if unknown, "-" for 0. */
static const char *figure(enum table_unit unit, int64_t value, int64_t of)
{
	if (value == 0)
		return "-";
	switch (unit) {
	case TABLE_NUMBER:
		return text_made("%lld", (long long)value);
	case TABLE_COUNT:
		return text_count(value);
	case TABLE_BYTES:
		return text_bytes(value);
	case TABLE_SIZE:
		return text_power(value);
	case TABLE_TIME:
		return text_time(value);
	case TABLE_RATE:
		return text_rate(value, of);
	default:
		return text_share(value, of);
	}
}

/* Returns the text of a cell, with places of at most so many characters. */
const char *table_cell_text(const struct table_rows *rows, const struct table_column *column,
			    const struct table_cell *cell, size_t place_most)
{
	bool has_more = cell->text != NULL && cell->text[0] != '\0';

	if (!table_is_text(column) && cell->value == 0 && rows->table->is_source)
		return "";
	if (!table_is_text(column) && column->unit != TABLE_CHANGE)
		return text_made("%s%s", has_more ? cell->text : "",
				 figure(column->unit == TABLE_FIGURE ? cell->unit : column->unit,
					cell->value, cell->of));
	if (column->unit != TABLE_PLACE || cell->frame == NULL || cell->is_named)
		return has_more ? text_name(cell->text, TEXT_MOST) : "";
	return text_name(text_made("%s%s%s%s%s",
				   names_place(rows->profile, cell->frame, place_most),
				   cell->frame->guessed ? " (likely)" : "", has_more ? " (" : "",
				   has_more ? cell->text : "", has_more ? ")" : ""),
			 TEXT_MOST);
}

static bool says_nothing(const struct table_cell *cell)
{
	return cell->value <= 0 && (cell->text == NULL || cell->text[0] == '\0') &&
	       cell->frame == NULL;
}

/* Puts fields of the item and the given cells in the order of the columns. */
static void merge(const struct table *table, const char *item, const struct table_cell *cells,
		  size_t count, struct table_cell *ret)
{
	const struct table_cell *next = cells;

	for (size_t i = 0; i < table->count; i++) {
		const struct table_column *column = &table->columns[i];

		if (column->at == 0)
			ret[i] = *next++;
		else if (column->unit == TABLE_TEXT)
			ret[i] = table_text(*(const char *const *)(item + column->at - 1));
		else
			ret[i] = table_number(*(const int64_t *)(item + column->at - 1));
	}
	assert((size_t)(next - cells) == count);
	(void)count; /* without asserts */
}

struct table_row *table_add(struct table_rows *rows, const void *item,
			    const struct table_cell *cells, size_t count)
{
	static struct table_row unused;
	struct table_cell all[TABLE_COLUMNS_MOST];

	assert(rows->table->count <= TABLE_COLUMNS_MOST);
	merge(rows->table, item, cells, count, all);
	rows->added++;
	if (rows->write != NULL)
		rows->write(rows, all);
	if (rows->write != NULL || rows->count == rows->most)
		return &unused;
	if (rows->count == rows->room) {
		size_t room = 2 * rows->room + 8;
		struct table_row *items = profile_allocate(rows->profile, room, sizeof(*items));

		if (rows->count > 0)
			memcpy(items, rows->items, rows->count * sizeof(*items));
		rows->items = items;
		rows->room = room;
	}
	struct table_row *row = &rows->items[rows->count++];
	row->cells = profile_allocate(rows->profile, rows->table->count, sizeof(*all));
	memcpy(row->cells, all, rows->table->count * sizeof(*all));
	row->note = row->anchor = NULL;
	row->is_apart = row->is_hot = false;
	for (size_t i = 0; i < rows->table->count; i++)
		rows->needed[i] |= !says_nothing(&all[i]);
	return row;
}

void table_fill(struct table_rows *rows)
{
	rows->needed = profile_allocate(rows->profile, rows->table->count, 1);
	rows->table->fill(rows, rows->profile);
}

bool table_has_column(const struct table_rows *rows, size_t column)
{
	const struct table_column *is = &rows->table->columns[column];

	return is->head != NULL && rows->needed[column] &&
	       (rows->form == TABLE_PAGE || is->unit != TABLE_DRAWING);
}

bool table_is_text(const struct table_column *column)
{
	return column->unit == TABLE_TEXT || column->unit == TABLE_PLACE;
}

size_t table_column(const struct table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct table_column *is = &table->columns[i];

		if ((is->key != NULL && strcmp(is->key, name) == 0) ||
		    (is->head != NULL && strcmp(is->head, name) == 0))
			return i;
	}
	abort();
}

void table_take(const struct table *table, const struct profile *profile, struct table_cell *ret)
{
	struct table_rows rows = { .table = table,
				   .profile = (struct profile *)profile,
				   .form = TABLE_REPORT,
				   .most = 1 };

	table_fill(&rows);
	memcpy(ret, rows.items[0].cells, table->count * sizeof(*ret));
}
