/*
 * Tables of figures: one description each, from which the report, the page and CSV are written.
 *
 * A table fills in its rows once; each output chooses the columns, the number of rows and the form
 * of a figure.  tables.c has the tables of a profile; table_report.c, table_page.c and table_csv.c
 * of `show` write them.
 */
#ifndef HP_TOOLS_TABLES_TABLE_H
#define HP_TOOLS_TABLES_TABLE_H

#include "profile/profile.h"

#include <stdio.h>

enum table_unit {
	TABLE_TEXT,
	TABLE_PLACE,  /* four columns of CSV, whose names begin with the key */
	TABLE_NUMBER, /* as it is */
	TABLE_COUNT,
	TABLE_BYTES,
	TABLE_SIZE, /* a power of 2 */
	TABLE_TIME,
	TABLE_RATE,
	TABLE_SHARE,
	TABLE_FIGURE,  /* the cell says its unit */
	TABLE_CHANGE,  /* a text like "-80.6 %" */
	TABLE_BAR,     /* a share as a bar; the text is its class on a page */
	TABLE_DRAWING, /* as TABLE_BAR, only on a page */
};

struct table_column {
	const char *key;  /* its name in CSV; NULL: it is not there */
	const char *head; /* in a report and on a page; NULL: it is not there */
	enum table_unit unit;
	unsigned drop; /* a narrow report leaves the highest out first; 0: never */
	size_t at;     /* TABLE_AT(): a field of the item of the row; 0: a cell of its own */
};
#define TABLE_AT(type, field) .at = offsetof(struct type, field) + 1

/* A figure, a text or a place.  The functions below make cells. */
struct table_cell {
	int64_t value, of;
	enum table_unit unit; /* of a TABLE_FIGURE */
	const char *text;     /* of a figure: what stands before it, like "~" */
	const struct profile_frame *frame;
	bool is_named; /* the text is the whole name of the place */
};

struct table_row {
	struct table_cell *cells;
	const char *note;   /* paragraphs below the row, or NULL; a newline is between two */
	const char *anchor; /* links of a page lead to it; or NULL */
	bool is_hot;        /* a line of source with figures */
	bool is_apart;      /* rows before it are left out */
};

#define TABLE_COLUMNS_MOST 40

struct table_rows;

struct table {
	const char *name;  /* in CSV, and the anchor of the section on a page */
	const char *title; /* NULL: not among the tables of a report or sections of a page */
	const char *about; /* of a table with a name: a line of `hotpin report --help` */
	const struct table_column *columns;
	size_t count;
	void (*fill)(struct table_rows *rows, struct profile *profile);
	unsigned most; /* rows of a report without --all; 0: all rows */
	bool of_device;
	bool is_source;           /* the lines of a source: zeros are blank */
	bool in_order;            /* a report shows the columns in order, not figures first */
	bool elsewhere;           /* on a page it has no section of its own */
	const struct table *then; /* it is in the same section of a page; or NULL */
};

/* How much of a table a report shows: its first rows, also how and why, or all. */
enum table_detail { TABLE_FIRST, TABLE_WHY, TABLE_ALL };

enum table_form { TABLE_REPORT, TABLE_PAGE, TABLE_CSV };

/* The rows of one table.  fill() reads the form, the detail and what the caller passes with them.
 */
struct table_rows {
	const struct table *table;
	struct profile *profile; /* its memory grows; its data stay as they are */
	const void *with;
	enum table_form form;
	enum table_detail detail; /* TABLE_ALL but in a report */
	struct page *page;        /* that shows the table open, or NULL */
	FILE *to;
	/* Writes a row, of which nothing is kept; NULL: the rows are kept. */
	void (*write)(const struct table_rows *rows, const struct table_cell *cells);
	struct table_row *items; /* at most `most` */
	size_t count, room, most;
	size_t added;          /* with those that were left out */
	char *needed;          /* by column: whether it says anything */
	const char *title;     /* the words after that of the table; NULL: none */
	const char *sentences; /* lines of text_add_line() below the table; NULL: none */
};

/*
 * Adds the row of an item: fields of it, and a cell for each other column, in their order.  Texts
 * must live until the table is written.  Returns the row, whose other fields may be set until the
 * next call.
 */
struct table_row *table_add(struct table_rows *rows, const void *item,
			    const struct table_cell *cells, size_t count);

/* The same with the cells as arguments. */
#define TABLE_ROW(rows, item, ...)                                        \
	table_add(rows, item, (const struct table_cell[]){ __VA_ARGS__ }, \
		  sizeof((const struct table_cell[]){ __VA_ARGS__ }) / sizeof(struct table_cell))

/* Adds a sentence below the table. */
void table_say(struct table_rows *rows, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct table_cell table_number(int64_t value); /* UNKNOWN is n/a */
struct table_cell table_number_of(enum table_unit unit, int64_t value);
struct table_cell table_about(const char *before, int64_t value); /* "~", ">=" or "<=" */
struct table_cell table_bar(const char *class, int64_t part, int64_t whole);
struct table_cell table_share(int64_t part, int64_t whole);
struct table_cell table_rate(int64_t bytes, int64_t ns);
struct table_cell table_text(const char *text); /* as it is; writers escape it */

/* "solve() at solve.cu:42 (more)"; only "more" if there is no frame. */
struct table_cell table_place(const struct profile_frame *frame, const char *more);

/* A place whose name is the text. */
struct table_cell table_place_named(const struct profile_frame *frame, const char *name);

/* Returns the figure of a cell; of a rate, bytes per second. */
int64_t table_value(enum table_unit unit, const struct table_cell *cell);

struct table_cell table_mean(int64_t ns, int64_t count);

/* Returns the index of the column of that key or head, which the table has. */
size_t table_column(const struct table *table, const char *name);

/* Returns the cells of the table's first row. */
void table_take(const struct table *table, const struct profile *profile, struct table_cell *ret);

/* For writers: fills in the rows of a form. */
void table_fill(struct table_rows *rows);

/* True if the column is in the form, and says anything in any row. */
bool table_has_column(const struct table_rows *rows, size_t column);

bool table_is_text(const struct table_column *column);

/* Returns the text of a cell, escaped, with a place of at most `most` characters. */
const char *table_cell_text(const struct table_rows *rows, const struct table_column *column,
			    const struct table_cell *cell, size_t most);

#endif
