/*
 * Writes tables to a page.
 */
#ifndef HP_TOOLS_SHOW_PAGE_TABLE_PAGE_H
#define HP_TOOLS_SHOW_PAGE_TABLE_PAGE_H

#include "show/page/page_links.h"
#include "tables/table.h"

#include <stdio.h>

/*
 * Writes a table without the columns that say nothing in any row; nothing if it has no rows and no
 * sentences.  `with` is for fill(); `links`: of the run that the page shows open, whose rows are
 * anchors and have links; else NULL.
 */
void table_page(FILE *to, const struct table *table, const struct profile *profile,
		const void *with, struct page_links *links);

/* As table_page(), as a section with the table's name, or under a title without `links`. */
void table_section(FILE *to, const struct table *table, const struct profile *profile,
		   struct page_links *links);

#endif
