/*
 * Writes tables to a page.
 */
#ifndef HP_TOOLS_SHOW_PAGE_TABLE_PAGE_H
#define HP_TOOLS_SHOW_PAGE_TABLE_PAGE_H

#include "show/page/page.h"
#include "tables/table.h"

/* Returns the rows of a table; none and no sentences: it is not shown. */
struct table_rows page_fill(FILE *to, const struct table *table, const struct profile *profile,
			    const void *with, const struct page *page);

void page_write(const struct table_rows *rows);

/* Returns a cell of a row, by the key or the head of its column. */
const struct table_cell *page_cell(const struct table_rows *rows, size_t row, const char *column);

/*
 * Draw the rows of compare_stage_table, of table_ranks; GB/s by copy size of table_sizes, if there
 * are two sizes and device times.
 */
void page_rates(const struct table_rows *rows);
void page_stages(const struct table_rows *rows);
void page_ranks(const struct table_rows *rows);

/*
 * Writes a table without a title; nothing if it has no rows and no sentences.  `with` is for
 * fill(); `page` is for links, or NULL.
 */
void table_page(FILE *to, const struct table *table, const struct profile *profile,
		const void *with, const struct page *page);

/* The same folded, below its title. */
void table_folded(FILE *to, const struct table *table, const struct profile *profile,
		  const void *with, const struct page *page, bool is_open);

/* The same as a section of the page. */
void table_section(FILE *to, const struct table *table, const struct profile *profile,
		   struct page *page);

#endif
