/*
 * html_sections.c - the sections of a page, which are mostly tables.
 */
#include "show/page/html.h"
#include "show/page/table_page.h"
#include "analyze/ranks.h"
#include "analyze/run_notes.h"
#include "analyze/source_lines.h"
#include "profile/texts.h"
#include "system/messages.h"
#include "tables/tables.h"

#include <string.h>

#define PLACE_MOST 60 /* characters of a place in the headline */

/* A long place is only below. */
static void say_first(const struct table_rows *advice, int64_t wall_ns)
{
	const struct table_cell *saves = page_cell(advice, 0, "Saves");
	const char *where = page_cell(advice, 0, "place")->text;
	bool has_place = where != NULL && where[0] != '\0' && strlen(where) <= PLACE_MOST;

	page_text(advice->to,
		  text_made("First: %s%s%s%s, which saves %s %s (%s).",
			    text_name(page_cell(advice, 0, "Next")->text, 200),
			    has_place ? " (" : "", has_place ? text_name(where, PLACE_MOST) : "",
			    has_place ? ")" : "",
			    strcmp(saves->text, "~") == 0 ? "about" : "at most",
			    text_time(saves->value), text_share(saves->value, wall_ns)));
}

void html_headline(FILE *to, const struct profile *profile)
{
	struct table_rows states = page_fill(to, &table_states, profile, NULL, NULL);
	struct table_rows advice = page_fill(to, &table_advice, profile, NULL, NULL);
	size_t most = 0;

	for (size_t i = 1; i < states.count; i++)
		if (page_cell(&states, i, "ns")->value > page_cell(&states, most, "ns")->value)
			most = i;
	fputs("<p class=\"headline\">", to);
	if (states.count > 0) {
		const struct table_cell *ns = page_cell(&states, most, "ns"), *share = ns + 1;

		fprintf(to, "%s: %s of %s (%s). ", page_cell(&states, most, "state")->text,
			text_time(ns->value), text_time(profile->wall_ns),
			text_share(share->value, share->of));
	}
	if (advice.count > 0 &&
	    (__int128_t)page_cell(&advice, 0, "Saves")->value * 100 >= profile->wall_ns &&
	    profile->process.exit_status <= 0)
		say_first(&advice, profile->wall_ns);
	else if (advice.sentences != NULL)
		page_text(to, text_made("%.*s", (int)strcspn(advice.sentences, "\n"),
					advice.sentences));
	fputs("</p>\n", to);
}

void html_host(FILE *to, struct profile *profile, struct page *page)
{
	bool is_sampled = profile->sample_count > 0 || profile->python_count > 0 ||
			  (profile->sampling.why != NULL && !profile_used_no_device(profile));

	if (!is_sampled && profile->gap_count == 0)
		return;
	page_section(to, page, "host", "Host code", NULL);
	table_page(to, &table_python, profile, NULL, page);
	if (profile->sample_count > 0)
		html_icicle(to, profile);
	table_page(to, &table_functions, profile, NULL, page);
	table_page(to, &table_gaps, profile, NULL, page);
	page_section_end(to);
}

void html_source(FILE *to, struct profile *profile, const struct source_lines *lines,
		 struct page *page)
{
	if (lines->count == 0)
		return;
	page_section(to, page, "source", "Source", NULL);
	page_soft(to, "The lines that matter. At call: host time inside calls that copy. Kernels: "
		      "time on the GPU of what a line launches, with ~ if a part of it is an "
		      "estimate. Host: CPU time outside CUDA, by samples.");
	for (size_t i = 0; i < lines->main_count; i++)
		table_folded(to, &table_lines, profile,
			     &(struct source_view){ &lines->files[i], i }, page, i == 0);
	if (lines->count > lines->main_count)
		page_soft(to, text_made("Less time is in %s.",
					text_several((int64_t)(lines->count - lines->main_count),
						     "more file", "more files")));
	if (profile->launches_rest.kernels > 0)
		page_soft(to, text_made("Launched from no known place: %s, %s.",
					text_several(profile->launches_rest.kernels, "kernel",
						     "kernels"),
					text_time(profile->launches_rest.device_ns)));
	page_section_end(to);
}

bool html_source_say(const struct page *page)
{
	bool any = false;

	for (size_t i = 0; i < page->file_count; i++) {
		if (page->files[i].why != NULL)
			continue;
		hotpin_say("the page contains lines of %s", text_name(page->files[i].found, 200));
		any = true;
	}
	return any;
}

static void fact(void *to, const char *text)
{
	page_soft(to, text);
}

static void did(FILE *to, const struct profile *profile, struct page *page)
{
	page_section(to, page, "did", "What hotpin did", NULL);
	if (profile->effect.pins < 0)
		page_element(to, "p", "The profile does not say what hotpin did.");
	else if (profile->effect.promoted_copies <= 0 && profile->effect.staged_copies <= 0 &&
		 profile->effect.deferred_copies <= 0 && profile->effect.pins == 0)
		page_element(to, "p", "hotpin changed no copy of this run.");
	table_page(to, &table_did, profile, NULL, NULL);
	fputs("<details><summary>Counters, options and the profile</summary>\n", to);
	table_page(to, &table_counters, profile, NULL, NULL);
	table_page(to, &table_options, profile, NULL, NULL);
	run_facts(profile, fact, to);
	fputs("</details>\n", to);
	page_section_end(to);
}

void html_tables(FILE *to, const struct profile *profile, struct page *page)
{
	bool no_device = profile_used_no_device(profile);

	if (!no_device && profile->transfer_count > 0) {
		page_section(to, page, table_copies.name, table_copies.title, NULL);
		table_page(to, &table_copies, profile, NULL, page);
		struct table_rows sizes = page_fill(to, &table_sizes, profile, NULL, NULL);
		page_rates(&sizes);
		page_section_end(to);
	}
	for (const struct table *const *table = tables; *table != NULL; table++)
		if ((*table)->title != NULL && !(*table)->elsewhere &&
		    !((*table)->of_device && no_device))
			table_section(to, *table, profile, page);
	did(to, profile, page);
}

void html_stages(FILE *to, const struct comparison *comparison, struct page *page)
{
	struct comparison part = *comparison;
	const struct profile *first = comparison->stages[0].profile;
	struct table figures;

	page_section(to, page, "stages", "Stages", NULL);
	part.to = part.count;
	struct table_rows stages = page_fill(to, &compare_stage_table, first, &part, NULL);
	page_stages(&stages);
	page_write(&stages);
	fputs("<div class=\"comparison\">\n", to);
	while (part.from < part.count) {
		compare_make_table(&part, SIZE_MAX, &figures);
		table_page(to, &figures, first, &part, NULL);
		part.from = part.to;
	}
	fputs("</div>\n", to);
	for (part.from = 1; part.from < part.count; part.from++)
		table_folded(to, &compare_kernel_table, part.stages[part.from].profile, &part, NULL,
			     false);
	page_section_end(to);
}

void html_ranks(FILE *to, const struct compare_stage *stage, struct page *page)
{
	struct ranks ranks;

	if (!ranks_compare(stage->runs, stage->run_count, &ranks))
		return;
	page_section(to, page, "ranks", "Ranks", NULL);
	page_element(to, "p",
		     text_made("%zu ranks. The slowest is rank %s with %s: its sections follow.",
			       ranks.count, text_name(ranks.slowest->process.rank, 8),
			       text_time(ranks.slowest->wall_ns)));
	table_page(to, &table_rank_spread, ranks.slowest, &ranks, NULL);
	struct table_rows each = page_fill(to, &table_ranks, ranks.slowest, &ranks, NULL);
	page_ranks(&each);
	page_write(&each);
	page_section_end(to);
}
