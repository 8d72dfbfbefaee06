/*
 * table_page.c - writes a table to a page.
 */
#include "show/page/table_page.h"
#include "tables/table_rows.h"
#include "show/page/page.h"

#include <string.h>

#define PLACE_MOST 80  /* characters of a place */
#define ROWS_MOST  200 /* so that a page of ten thousand kernels opens on a phone */
#define ROWS_OPEN  15  /* rows that are not folded */

static void page_head(const struct table_rows *rows)
{
	fputs("<div class=\"scroll\"><table>\n<thead><tr>", rows->to);
	for (size_t i = 0; i < rows->table->count; i++) {
		const struct table_column *column = &rows->table->columns[i];

		if (!table_has_column(rows, i))
			continue;
		fprintf(rows->to, "<th scope=\"col\"%s>%s</th>",
			table_is_text(column) ? " class=\"text\"" : "", column->head);
	}
	fputs("</tr></thead>\n<tbody>\n", rows->to);
}

/* A script sorts by this number. */
static void page_number(const struct table_rows *rows, const struct table_column *column,
			const struct table_cell *cell)
{
	if (cell->value < 0)
		fputs("<td>", rows->to);
	else if (column->unit == TABLE_RATE || column->unit == TABLE_SHARE)
		fprintf(rows->to, "<td data-n=\"%g\">", (double)cell->value / (double)cell->of);
	else
		fprintf(rows->to, "<td data-n=\"%lld\">", (long long)cell->value);
}

static void page_cell(const struct table_rows *rows, const struct table_column *column,
		      const struct table_cell *cell)
{
	char id[PAGE_ID];
	bool has_link = rows->links != NULL && column->unit == TABLE_PLACE &&
			page_links_line(rows->links, cell->frame, id, sizeof(id));

	if (table_is_text(column))
		fputs("<td class=\"text\">", rows->to);
	else
		page_number(rows, column, cell);
	if (has_link)
		fprintf(rows->to, "<a href=\"#%s\">", id);
	page_text(rows->to, table_cell_text(rows, column, cell, PLACE_MOST));
	fputs(has_link ? "</a></td>" : "</td>", rows->to);
}

static void page_row(const struct table_rows *rows, const struct table_row *row)
{
	if (rows->links != NULL && page_links_add_site(rows->links, rows->profile, row->site))
		fprintf(rows->to, "<tr id=\"site-%lld\">", (long long)row->site);
	else
		fputs("<tr>", rows->to);
	for (size_t i = 0; i < rows->table->count; i++)
		if (table_has_column(rows, i))
			page_cell(rows, &rows->table->columns[i], &row->cells[i]);
	fputs("</tr>\n", rows->to);
}

static void page_rows(const struct table_rows *rows)
{
	page_head(rows);
	for (size_t i = 0; i < rows->count; i++) {
		if (i == ROWS_OPEN) {
			fprintf(rows->to,
				"</tbody>\n</table></div>\n<details class=\"more\"><summary>%zu "
				"more</summary>\n",
				rows->added - i);
			page_head(rows);
		}
		page_row(rows, &rows->items[i]);
	}
	fputs("</tbody>\n</table></div>\n", rows->to);
	if (rows->added > rows->count)
		fprintf(rows->to, "<p class=\"soft\">and %zu more in the JSON</p>\n",
			rows->added - rows->count);
	if (rows->count > ROWS_OPEN)
		fputs("</details>\n", rows->to);
}

/* Returns the rows of a table; none and no sentences: it is not shown. */
static struct table_rows page_fill(FILE *to, const struct table *table,
				   const struct profile *profile, const void *with,
				   struct page_links *links)
{
	struct table_rows rows = { .table = table,
				   .profile = (struct profile *)profile,
				   .with = with,
				   .form = TABLE_PAGE,
				   .links = links,
				   .to = to,
				   .most = ROWS_MOST };

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
	if (rows->title != NULL)
		page_element(rows->to, "p class=\"soft\"", rows->title);
	if (rows->count > 0)
		page_rows(rows);
	for (char *at = rows->sentences; at != NULL && *at != '\0';) {
		size_t bytes = strcspn(at, "\n");

		at[bytes] = '\0';
		page_element(rows->to, "p class=\"soft\"", at);
		at += bytes + 1;
	}
}

void table_page(FILE *to, const struct table *table, const struct profile *profile,
		const void *with, struct page_links *links)
{
	struct table_rows rows = page_fill(to, table, profile, with, links);

	page_write(&rows);
}

void table_section(FILE *to, const struct table *table, const struct profile *profile,
		   struct page_links *links)
{
	struct table_rows rows = page_fill(to, table, profile, NULL, links);

	if (!is_shown(&rows))
		return;
	page_part(to, links != NULL, table->name, table->title);
	page_write(&rows);
	struct table_rows then = page_fill(to, table->then, profile, NULL, links);
	if (is_shown(&then)) {
		page_element(to, links != NULL ? "h3" : "h4", table->then->title);
		page_write(&then);
	}
	page_part_end(to, links != NULL);
}
