/*
 * Writes tables to a page.
 */
#ifndef HP_TOOLS_SHOW_PAGE_TABLE_PAGE_H
#define HP_TOOLS_SHOW_PAGE_TABLE_PAGE_H

#include "show/page/page.h"
#include "tables/table.h"

/*
 * Writes a table without a title; nothing if it has no rows and no sentences.  `with` is for
 * fill(); `page` is for links, or NULL.
 */
void table_page(FILE *to, const struct table *table, const struct profile *profile,
		const void *with, const struct page *page);

/* The same folded, below its title. */
void table_folded(FILE *to, const struct table *table, const struct profile *profile,
		  const void *with, const struct page *page, bool is_open);

/* The same as a section of a page, or of a folded run if `page` is NULL. */
void table_section(FILE *to, const struct table *table, const struct profile *profile,
		   struct page *page);

#endif
