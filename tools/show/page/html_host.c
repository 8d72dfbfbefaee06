/*
 * html_host.c - host code: the time of functions, and of the gaps between CUDA calls.
 */
#include "show/page/html.h"
#include "show/page/table_page.h"
#include "show/page/page.h"
#include "profile/texts.h"
#include "tables/tables.h"

#include <stdio.h>

void html_host(FILE *to, struct profile *profile, struct page_links *links)
{
	bool is_sampled = profile->sample_count > 0 || profile->python_count > 0 ||
			  (profile->sampling.why != NULL && !profile_used_no_device(profile));

	if (!is_sampled && profile->gap_count == 0)
		return;
	page_section(to, "host", NULL);
	table_page(to, &table_python, profile, NULL, links);
	if (profile->sample_count > 0)
		html_icicle(to, profile);
	table_page(to, &table_functions, profile, NULL, links);
	table_page(to, &table_gaps, profile, NULL, links);
	page_section_end(to);
}
