/*
 * The tables of a profile.
 *
 * A new table is a list of columns, a function that fills in rows, and a line in the list of
 * tables.c; then the report, the page and `--csv` have it.
 */
#ifndef HP_TOOLS_TABLES_TABLES_H
#define HP_TOOLS_TABLES_TABLES_H

#include "tables/table.h"

extern const struct table table_copies, table_sizes, table_sites, table_buffers, table_pinned,
	table_wrong, table_repeats;
extern const struct table table_gaps, table_python, table_functions;
/* The first screen of a report. */
extern const struct table table_states, table_advice;

extern const struct table table_counters, table_options, table_did;

/* The lines of a source; `with` is a struct source_view, or NULL for all sources as CSV. */
struct source_view {
	const struct source_file *file;
	size_t number; /* of the file on its page, from 0 on */
};
extern const struct table table_lines;

/* Tables of ranks; `with` is a struct ranks. */
extern const struct table table_ranks, table_rank_spread;

/* One row: the figures that `hotpin compare` compares. */
extern const struct table table_summary;

/* The columns and the function of a table, for its description. */
#define TABLE_FILL(of) .columns = of##_columns, .count = HP_LEN(of##_columns), .fill = fill_##of

/* All tables with a title or a name, in the order of a report; ends with NULL. */
extern const struct table *const tables[];

#endif
