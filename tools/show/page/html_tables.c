/*
 * html_tables.c - the tables of a profile as sections of a page, and the chart of copies.
 */
#include "show/page/html.h"
#include "show/page/table_page.h"
#include "show/page/page.h"
#include "tables/tables.h"

#include <stdio.h>

void html_tables(FILE *to, const struct profile *profile, struct page_links *links)
{
	bool no_device = profile_used_no_device(profile);

	if (!no_device && profile->transfer_count > 0) {
		page_part(to, links != NULL, table_copies.name, table_copies.title);
		table_page(to, &table_copies, profile, NULL, links);
		page_rates_chart(to, profile);
		page_part_end(to, links != NULL);
	}
	for (const struct table *const *table = tables; *table != NULL; table++)
		if ((*table)->title != NULL && !(*table)->elsewhere &&
		    !((*table)->of_device && no_device))
			table_section(to, *table, profile, links);
}
