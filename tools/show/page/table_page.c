/*
 * table_page.c - writes a table to a page.
 */
#include "show/page/table_page.h"
#include "tables/table.h"
#include "show/page/page.h"
#include "profile/texts.h"

#include <string.h>

#define PLACE_MOST 80  /* characters of a place */
#define ROWS_MOST  200 /* so that a page of ten thousand kernels opens on a phone */
#define ROWS_OPEN  20  /* rows that are not folded */

static void page_head(const struct table_rows *rows)
{
	bool has_heads = false;

	fprintf(rows->to, "<div class=\"scroll\"%s>\n",
		rows->table->is_source
			? " tabindex=\"0\" role=\"group\" aria-label=\"source lines\"><table "
			  "class=\"code\""
			: "><table");
	for (size_t i = 0; i < rows->table->count; i++)
		has_heads |= table_has_column(rows, i) && rows->table->columns[i].head[0] != '\0';
	fputs(has_heads ? "<thead><tr>" : "<tbody>\n", rows->to);
	for (size_t i = 0; has_heads && i < rows->table->count; i++) {
		const struct table_column *column = &rows->table->columns[i];

		if (!table_has_column(rows, i))
			continue;
		fprintf(rows->to, "<th scope=\"col\"%s>",
			table_is_text(column) ? " class=\"text\"" : "");
		page_text(rows->to, column->head);
		fputs("</th>", rows->to);
	}
	fputs(has_heads ? "</tr></thead>\n<tbody>\n" : "", rows->to);
}

/* A script sorts by this number. */
static void page_number(const struct table_rows *rows, const struct table_column *column,
			const struct table_cell *cell)
{
	if (cell->value < 0 || column->unit == TABLE_CHANGE)
		fputs("<td>", rows->to);
	else if (column->unit == TABLE_RATE || column->unit == TABLE_SHARE)
		fprintf(rows->to, "<td data-n=\"%g\">", (double)cell->value / (double)cell->of);
	else
		fprintf(rows->to, "<td data-n=\"%lld\">", (long long)cell->value);
}

static void write_cell(const struct table_rows *rows, const struct table_column *column,
		       const struct table_cell *cell, const char *note)
{
	const char *text = table_cell_text(rows, column, cell, PLACE_MOST);
	const char *id = text[0] != '\0' && column->unit == TABLE_PLACE
				 ? page_line(rows->page, cell->frame)
				 : NULL;

	if (column->unit == TABLE_BAR || column->unit == TABLE_DRAWING) {
		fputs("<td>", rows->to);
		page_bar(rows->to, cell->text, cell->value, cell->of);
		fputs("</td>", rows->to);
		return;
	}
	if (table_is_text(column))
		fputs("<td class=\"text\">", rows->to);
	else
		page_number(rows, column, cell);
	if (id != NULL)
		fprintf(rows->to, "<a href=\"#%s\">", id);
	page_text(rows->to, text);
	fputs(id != NULL ? "</a>" : "", rows->to);
	page_lines(rows->to, "small", note);
	fputs("</td>", rows->to);
}

/* The note is in the first cell of text. */
static void write_row(const struct table_rows *rows, const struct table_row *row)
{
	const char *note = row->note;

	if (row->is_apart && row != rows->items)
		fputs("</tbody>\n<tbody>", rows->to);
	fputs("<tr", rows->to);
	if (row->anchor != NULL)
		fprintf(rows->to, " id=\"%s\"", row->anchor);
	fputs(row->is_hot ? " class=\"hot\">" : ">", rows->to);
	for (size_t i = 0; i < rows->table->count; i++) {
		const struct table_column *column = &rows->table->columns[i];
		bool is_text = table_is_text(column);

		if (!table_has_column(rows, i))
			continue;
		write_cell(rows, column, &row->cells[i], is_text ? note : NULL);
		note = is_text ? NULL : note;
	}
	fputs("</tr>\n", rows->to);
}

static void page_rows(const struct table_rows *rows)
{
	size_t open = rows->table->is_source ? rows->count : ROWS_OPEN;
	size_t count = rows->table->is_source || rows->count < ROWS_MOST ? rows->count : ROWS_MOST;

	page_head(rows);
	for (size_t i = 0; i < count; i++) {
		if (i == open) {
			fprintf(rows->to,
				"</tbody>\n</table></div>\n<details class=\"more\"><summary>%zu "
				"more</summary>\n",
				rows->count - i);
			page_head(rows);
		}
		write_row(rows, &rows->items[i]);
	}
	fputs("</tbody>\n</table></div>\n", rows->to);
	if (rows->count > count)
		fprintf(rows->to, "<p class=\"soft\">and %zu more in the JSON</p>\n",
			rows->count - count);
	if (rows->count > open)
		fputs("</details>\n", rows->to);
}

struct table_rows page_fill(struct page *page, const struct table *table, const void *with)
{
	struct table_rows rows = { .table = table,
				   .profile = page->profile,
				   .with = with,
				   .form = TABLE_PAGE,
				   .detail = TABLE_ALL,
				   .page = page,
				   .to = page->to,
				   .most = SIZE_MAX };

	if (table != NULL)
		table_fill(&rows);
	return rows;
}

static bool is_shown(const struct table_rows *rows)
{
	return rows->count > 0 || rows->sentences != NULL;
}

static void page_write(const struct table_rows *rows)
{
	if (rows->title != NULL && rows->count > 0)
		page_soft(rows->to, rows->title);
	if (rows->count > 0)
		page_rows(rows);
	page_lines(rows->to, PAGE_SOFT, rows->sentences);
}

void table_page(struct page *page, const struct table *table, const void *with)
{
	struct table_rows rows = page_fill(page, table, with);

	page_write(&rows);
}

void table_folded(struct page *page, const struct table *table, const void *with, bool is_open)
{
	struct table_rows rows = page_fill(page, table, with);
	bool has_both = table->title != NULL && rows.title != NULL;

	if (!is_shown(&rows))
		return;
	fprintf(page->to, "<details%s><summary>", is_open ? " open=\"\"" : "");
	page_text(page->to, table->title != NULL ? table->title : "");
	page_text(page->to, has_both ? ", " : "");
	page_text(page->to, rows.title != NULL ? rows.title : "");
	fputs("</summary>\n", page->to);
	rows.title = NULL;
	page_write(&rows);
	fputs("</details>\n", page->to);
}

void table_section(struct page *page, const struct table *table)
{
	struct table_rows rows = page_fill(page, table, NULL);

	if (!is_shown(&rows))
		return;
	page_section(page, table->name, table->title, NULL);
	page_write(&rows);
	struct table_rows then = page_fill(page, table->then, NULL);
	if (is_shown(&then)) {
		page_element(page->to, "h3", table->then->title);
		page_write(&then);
	}
	page_section_end(page);
}
