/*
 * Prints tables for a terminal.
 */
#ifndef HP_TOOLS_SHOW_TABLE_REPORT_H
#define HP_TOOLS_SHOW_TABLE_REPORT_H

#include "tables/table.h"

/*
 * Prints a table without the columns that say nothing in any row; nothing if it has no rows and no
 * sentences.  `with` is for fill().
 */
void table_print(const struct table *table, const struct profile *profile, const void *with,
		 enum table_detail detail);

/* Prints all tables of a report. */
void tables_print(const struct profile *profile);

#endif
