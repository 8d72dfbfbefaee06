/*
 * html_did.c - what hotpin did in a run, and facts of the run that readers seldom need.
 */
#include "show/page/html.h"
#include "show/page/table_page.h"
#include "show/page/page.h"
#include "profile/texts.h"
#include "tables/tables.h"
#include "base/parse.h"

#include <string.h>

static void did(FILE *to, const struct profile *profile)
{
	if (profile->effect.pins < 0)
		page_element(to, "p", "The profile does not say what hotpin did.");
	else if (profile->effect.promoted_copies <= 0 && profile->effect.staged_copies <= 0 &&
		 profile->effect.deferred_copies <= 0 && profile->effect.pins == 0)
		page_element(to, "p", "hotpin changed no copy of this run.");
	table_page(to, &table_did, profile, NULL, NULL);
}

static void counters(FILE *to, const struct profile *profile)
{
	size_t zeros = 0;

	for (size_t i = 0; i < profile->counters.count; i++)
		zeros += profile->counters.items[i].value == 0;
	table_page(to, &table_counters, profile, NULL, NULL);
	if (zeros > 0)
		fprintf(to, "<p class=\"soft\">%zu more counters are 0.</p>\n", zeros);
}

static const struct table_column columns[] = {
	{ NULL, "Environment", TABLE_TEXT },
	{ NULL, "Value", TABLE_TEXT },
};

static void fill_environment(struct table_rows *rows, struct profile *profile)
{
	int64_t cost = profile_cost_ns(profile);
	const char *const texts[][2] = {
		{ "file", profile->path },
		{ "host", profile->process.host },
		{ "process", text_count(profile->process.pid) },
		{ "CPUs", text_count(profile->process.cpus) },
		{ "device", profile->environment.device },
		{ "driver, for CUDA", text_cuda_version(profile->environment.driver_version) },
		{ "CUPTI", text_cupti_version(profile->environment.cupti_version) },
		{ "hotpin", profile->hotpin_version },
		{ "profiling cost about", cost > 0 ? text_time(cost) : NULL },
	};

	for (size_t i = 0; i < HP_LEN(texts); i++) {
		if (texts[i][1] == NULL || strcmp(texts[i][1], "n/a") == 0)
			continue;
		const struct table_cell cells[] = { table_text(texts[i][0]),
						    table_text_made(rows, "%s", texts[i][1]) };
		table_add(rows, NULL, cells, HP_LEN(cells));
	}
}

static const struct table environment = {
	.columns = columns,
	.count = HP_LEN(columns),
	.fill = fill_environment,
};

void html_did(FILE *to, const struct profile *profile, bool opened)
{
	if (opened)
		page_section(to, "did", NULL);
	if (!profile_used_no_device(profile))
		did(to, profile);
	fputs("<details><summary>Counters, options and environment</summary>\n", to);
	counters(to, profile);
	table_page(to, &table_options, profile, NULL, NULL);
	table_page(to, &environment, profile, NULL, NULL);
	fputs("</details>\n", to);
	if (opened)
		page_section_end(to);
}
