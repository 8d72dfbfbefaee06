/*
 * Writes tables to a page.
 */
#ifndef HP_TOOLS_SHOW_PAGE_TABLE_PAGE_H
#define HP_TOOLS_SHOW_PAGE_TABLE_PAGE_H

#include "show/page/page.h"
#include "tables/table.h"

/* Returns the rows of a table; `with` is for fill(). */
struct table_rows page_fill(struct page *page, const struct table *table, const void *with);

/* Writes a table without a title; nothing if it has no rows and no sentences. */
void table_page(struct page *page, const struct table *table, const void *with);

/* The same folded, below its title. */
void table_folded(struct page *page, const struct table *table, const void *with, bool is_open);

/* The same as a section. */
void table_section(struct page *page, const struct table *table);

#endif
