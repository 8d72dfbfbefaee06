/*
 * What the writers of tables share: the rows of one table, and the texts of its cells.
 */
#ifndef HP_TOOLS_TABLES_TABLE_ROWS_H
#define HP_TOOLS_TABLES_TABLE_ROWS_H

#include "tables/table.h"

#include <stdio.h>

enum table_form { TABLE_REPORT, TABLE_PAGE, TABLE_CSV };

struct table_rows {
	const struct table *table;
	struct profile *profile; /* its memory grows; its data stay as they are */
	const void *with;
	enum table_form form;
	enum table_detail detail;
	struct page *page; /* that shows the table open, or NULL */
	FILE *to;
	/* Writes a row, of which nothing is kept; NULL: the rows are kept. */
	void (*write)(const struct table_rows *rows, const struct table_cell *cells);
	struct table_row *items; /* at most `most` */
	size_t count, room, most;
	size_t added;            /* with those that were left out */
	char *needed;            /* by column: whether it says anything */
	char *title, *sentences; /* NULL: none; each sentence ends with a newline */
};

/* Fills in the rows of a form. */
void table_fill(struct table_rows *rows);

/* True if the column is in the form, and says anything in any row. */
bool table_has_column(const struct table_rows *rows, size_t column);

bool table_is_text(const struct table_column *column);

/* Returns the text of a cell, escaped, with a place of at most `most` characters. */
const char *table_cell_text(const struct table_rows *rows, const struct table_column *column,
			    const struct table_cell *cell, size_t most);

#endif
