/*
 * Writes tables as CSV.
 */
#ifndef HP_TOOLS_SHOW_TABLE_CSV_H
#define HP_TOOLS_SHOW_TABLE_CSV_H

#include "tables/table.h"

#include <stdio.h>

void table_csv_head(FILE *to, const struct table *table);

/* Writes the rows of a profile. */
void table_csv(FILE *to, const struct table *table, const struct profile *profile);

#endif
