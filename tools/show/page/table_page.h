/*
 * Writes tables to a page.
 */
#ifndef HP_TOOLS_SHOW_PAGE_TABLE_PAGE_H
#define HP_TOOLS_SHOW_PAGE_TABLE_PAGE_H

#include "tables/table.h"

#include <stdio.h>

/*
 * Writes a table without the columns that say nothing in any row; nothing if it has no rows and no
 * sentences.  `with` is for fill(); `opened`: of the run that the page shows open, whose rows are
 * anchors and have links.
 */
void table_page(FILE *to, const struct table *table, const struct profile *profile,
		const void *with, bool opened);

/* As table_page(), as a section with the table's name, or under a title if not `opened`. */
void table_section(FILE *to, const struct table *table, const struct profile *profile, bool opened);

/* True if a row of the page is the anchor of that copy site. */
bool table_has_anchor(int64_t site);

#endif
