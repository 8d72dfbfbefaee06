/*
 * page_table.c - tables of a page.
 *
 * Lists are cut, so that a page of a program with ten thousand kernels still opens on a telephone.
 */
#include "page.h"

#include <string.h>

/* Rows that a link may lead to: the sites of copies that have one. */
static unsigned char anchors[PAGE_ANCHORS];
static int64_t pending = UNKNOWN; /* of the next row */

void page_anchor(int64_t site)
{
	pending = site >= 0 && site < PAGE_ANCHORS && !anchors[site] ? site : UNKNOWN;
}

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

void page_row(FILE *to, const char *const *columns, size_t count, const char *const *cells)
{
	if (pending < 0) {
		fputs("<tr>", to);
	} else {
		fprintf(to, "<tr id=\"site-%lld\">", (long long)pending);
		anchors[pending] = 1;
		pending = UNKNOWN;
	}
	for (size_t i = 0; i < count; i++) {
		fputs(is_text(columns[i]) ? "<td class=\"text\">" : "<td>", to);
		page_text(to, cells[i]);
		fputs("</td>", to);
	}
	fputs("</tr>\n", to);
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
