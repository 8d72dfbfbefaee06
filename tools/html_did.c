/*
 * html_did.c - what hotpin did in a run, and facts of the run that readers seldom need.
 */
#include "html.h"
#include "effect.h"
#include "page.h"
#include "show.h"
#include "base/parse.h"

#include <string.h>

static void effect(FILE *to, const struct profile *profile)
{
	char sentences[EFFECT_SENTENCES][EFFECT_ROOM];
	size_t count = effect_say(profile, sentences);

	if (count == 0)
		page_element(to, "p",
			     profile->effect.pins < 0 ? "The profile does not say what hotpin did."
						      : "hotpin changed no copy of this run.");
	for (size_t i = 0; i < count; i++)
		page_element(to, "p", sentences[i]);
}

static void counters(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<counter", "count" };
	size_t zeros = 0;

	for (size_t i = 0; i < profile->counters.count; i++)
		zeros += profile->counters.items[i].value == 0;
	if (zeros < profile->counters.count)
		page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->counters.count; i++)
		if (profile->counters.items[i].value != 0)
			page_row(to, columns, HP_LEN(columns),
				 (const char *[]){ show_text(profile->counters.items[i].name, 80),
						   show_count(profile->counters.items[i].value) });
	if (zeros < profile->counters.count)
		page_table_end(to);
	if (zeros > 0)
		fprintf(to, "<p class=\"soft\">%zu more counters are 0.</p>\n", zeros);
}

static void options(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<option", "<value" };

	if (profile->options.count == 0)
		return;
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->options.count; i++)
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ show_text(profile->options.items[i].name, 80),
					   show_text(profile->options.items[i].text, 200) });
	page_table_end(to);
}

static void environment(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<environment", "<value" };
	int64_t cost =
		profile_add(profile_add(profile->overhead.start_ns, profile->overhead.callbacks_ns),
			    profile->overhead.appends_ns);
	const char *const rows[][2] = {
		{ "file", show_text(profile->path, 120) },
		{ "host", show_text(profile->process.host, 64) },
		{ "process", show_count(profile->process.pid) },
		{ "CPUs", show_count(profile->process.cpus) },
		{ "device", show_text(profile->environment.device, 64) },
		{ "driver, for CUDA", show_cuda_version(profile->environment.driver_version) },
		{ "CUPTI", show_cupti_version(profile->environment.cupti_version) },
		{ "hotpin", show_text(profile->hotpin_version, 16) },
		{ "profiling cost about", show_time(cost) },
	};

	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < HP_LEN(rows); i++)
		if (strcmp(rows[i][1], "n/a") != 0)
			page_row(to, columns, HP_LEN(columns), rows[i]);
	page_table_end(to);
}

void html_did(FILE *to, const struct profile *profile, bool opened)
{
	if (opened)
		page_section(to, "did", NULL);
	if (!profile_used_no_device(profile))
		effect(to, profile);
	fputs("<details><summary>Counters, options and environment</summary>\n", to);
	counters(to, profile);
	options(to, profile);
	environment(to, profile);
	fputs("</details>\n", to);
	if (opened)
		page_section_end(to);
}
