/*
 * page_table.c - tables of a page.
 *
 * Long lists are cut, so that the page of a program with ten thousand kernels opens on a phone.
 */
#include "page.h"
#include "base/parse.h"

#include <string.h>

/* Sites whose row has an anchor that links may lead to. */
static unsigned char anchors[PAGE_ANCHORS];

bool page_has_anchor(int64_t site)
{
	return site >= 0 && site < PAGE_ANCHORS && anchors[site];
}

static bool is_text(const char *column)
{
	return column[0] == '<';
}

void page_table_begin(FILE *to, const char *const *columns, size_t count)
{
	fputs("<div class=\"scroll\"><table>\n<thead><tr>", to);
	for (size_t i = 0; i < count; i++) {
		fprintf(to, "<th scope=\"col\"%s>", is_text(columns[i]) ? " class=\"text\"" : "");
		page_text(to, columns[i] + is_text(columns[i]));
		fputs("</th>", to);
	}
	fputs("</tr></thead>\n<tbody>\n", to);
}

void page_row_of(FILE *to, const char *const *columns, size_t count, const char *const *cells,
		 int64_t site, const char *link)
{
	if (site < 0 || site >= PAGE_ANCHORS || anchors[site]) {
		fputs("<tr>", to);
	} else {
		fprintf(to, "<tr id=\"site-%lld\">", (long long)site);
		anchors[site] = 1;
	}
	for (size_t i = 0; i < count; i++) {
		fputs(is_text(columns[i]) ? "<td class=\"text\">" : "<td>", to);
		if (i == 0 && link[0] != '\0')
			fprintf(to, "<a href=\"#%s\">", link);
		page_text(to, cells[i]);
		fputs(i == 0 && link[0] != '\0' ? "</a></td>" : "</td>", to);
	}
	fputs("</tr>\n", to);
}

void page_row(FILE *to, const char *const *columns, size_t count, const char *const *cells)
{
	page_row_of(to, columns, count, cells, UNKNOWN, "");
}

void page_table_end(FILE *to)
{
	fputs("</tbody>\n</table></div>\n", to);
}

void page_table_fold(FILE *to, const char *const *columns, size_t count, size_t index, size_t rows)
{
	if (index != PAGE_ROWS_OPEN)
		return;
	page_table_end(to);
	fprintf(to, "<details class=\"more\"><summary>%zu more</summary>\n", rows - index);
	page_table_begin(to, columns, count);
}

void page_table_close(FILE *to, size_t rows)
{
	page_table_end(to);
	if (rows > PAGE_ROWS_MOST)
		fprintf(to, "<p class=\"soft\">and %zu more in the JSON</p>\n",
			rows - PAGE_ROWS_MOST);
	if (rows > PAGE_ROWS_OPEN)
		fputs("</details>\n", to);
}

static bool says_nothing(const char *cell)
{
	static const char *const nothing[] = { "", "n/a", "0", "0 B", "0 ns" };

	for (size_t i = 0; i < HP_LEN(nothing); i++)
		if (strcmp(cell, nothing[i]) == 0)
			return true;
	return false;
}

/* The first column names the row, so it always stays. */
static bool is_column_needed(const char *const *cells, size_t count, size_t rows, size_t column)
{
	bool needed = column == 0;

	for (size_t row = 0; row < rows && !needed; row++)
		needed = !says_nothing(cells[row * count + column]);
	return needed;
}

void page_list(FILE *to, const char *const *columns, size_t count, const char *const *cells,
	       size_t shown, size_t rows)
{
	const char *kept[PAGE_COLUMNS_MOST], *row[PAGE_COLUMNS_MOST];
	size_t places[PAGE_COLUMNS_MOST], used = 0;

	for (size_t column = 0; column < count && column < PAGE_COLUMNS_MOST; column++)
		if (is_column_needed(cells, count, shown, column)) {
			kept[used] = columns[column];
			places[used++] = column;
		}
	page_table_begin(to, kept, used);
	for (size_t i = 0; i < shown; i++) {
		page_table_fold(to, kept, used, i, rows);
		for (size_t column = 0; column < used; column++)
			row[column] = cells[i * count + places[column]];
		page_row(to, kept, used, row);
	}
	page_table_close(to, rows);
}
