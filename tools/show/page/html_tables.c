/*
 * html_tables.c - the tables of a profile as sections of a page, and the charts of copies.
 */
#include "show/page/html.h"
#include "show/page/page.h"
#include "tables/tables.h"

#include <stdio.h>
#include <stdlib.h>

static void charts(FILE *to, const struct profile *profile, bool opened)
{
	fputs("<div class=\"charts\">\n", to);
	page_sizes_chart(to, profile);
	page_rates_chart(to, profile);
	if (opened)
		page_sites_chart(to, profile);
	fputs("</div>\n", to);
}

void html_tables(FILE *to, const struct profile *profile, bool opened)
{
	bool no_device = profile_used_no_device(profile);
	bool has_copies = !no_device && profile->transfer_count > 0;
	char *below = NULL;
	size_t bytes;
	FILE *rows = open_memstream(&below, &bytes);

	if (rows == NULL)
		exit(EXIT_FAILURE);
	if (has_copies) {
		page_part(to, opened, table_copies.name, table_copies.title);
		table_page(to, &table_copies, profile, NULL, opened);
	}
	/* The chart of copies has links to rows, so the rows are written first. */
	for (const struct table *const *table = tables; *table != NULL; table++)
		if ((*table)->title != NULL && !(*table)->elsewhere &&
		    !((*table)->of_device && no_device))
			table_section(rows, *table, profile, opened);
	fclose(rows);
	if (has_copies) {
		charts(to, profile, opened);
		page_part_end(to, opened);
	}
	fputs(below, to);
	free(below);
}
