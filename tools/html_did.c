/*
 * html_did.c - what hotpin did in a run, and the facts of the run that are seldom asked for.
 */
#include "html.h"
#include "page.h"
#include "show.h"
#include "base/parse.h"

#include <string.h>

/* True if hotpin neither pinned, staged nor deferred. */
static bool is_idle(const struct profile *profile)
{
	return profile->effect.promoted_copies <= 0 && profile->effect.staged_copies <= 0 &&
	       profile->effect.deferred_copies <= 0 && profile->effect.waits_removed <= 0 &&
	       profile->effect.pins <= 0;
}

static void effect(FILE *to, const struct profile *profile)
{
	char text[512];

	if (is_idle(profile)) {
		page_element(to, "p", "It changed no copy of this run.");
		return;
	}
	snprintf(text, sizeof(text),
		 "%s copies of pinned buffers (%s), %s staged (%s), %s deferred, %s waits removed. "
		 "Pinned %s times, unpinned %s, which took %s and saved about %s (an estimate).",
		 show_count(profile->effect.promoted_copies),
		 show_bytes(profile->effect.promoted_bytes),
		 show_count(profile->effect.staged_copies),
		 show_bytes(profile->effect.staged_bytes),
		 show_count(profile->effect.deferred_copies),
		 show_count(profile->effect.waits_removed), show_count(profile->effect.pins),
		 show_count(profile->effect.unpins), show_time(profile->effect.spent_ns),
		 show_time(profile->effect.saved_ns));
	page_element(to, "p", text);
	if (profile->effect.deferred_copies <= 0)
		return;
	snprintf(
		text, sizeof(text),
		"The host went on for about %s (an estimate) while deferred copies were under way.",
		show_time(profile->effect.ahead_ns));
	page_element(to, "p", text);
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
		{ "processors", show_count(profile->process.cpus) },
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
