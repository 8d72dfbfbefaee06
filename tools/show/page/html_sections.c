/*
 * html_sections.c - the sections of a page, which are mostly tables.
 */
#include "show/page/html.h"
#include "show/page/page_drawings.h"
#include "show/page/table_page.h"
#include "analyze/ranks.h"
#include "analyze/run_notes.h"
#include "profile/texts.h"
#include "tables/tables.h"

#include <string.h>

#define PLACE_MOST 60 /* characters of a place in the headline */

/* Returns a cell of a row, by the key or the head of its column. */
static const struct table_cell *cell_of(const struct table_rows *rows, size_t row,
					const char *column)
{
	return &rows->items[row].cells[table_column(rows->table, column)];
}

/* A long place is only below. */
static void say_first(const struct table_rows *advice, int64_t wall_ns)
{
	const struct table_cell *saves = cell_of(advice, 0, "Saves");
	const char *where = cell_of(advice, 0, "place")->text;
	bool has_place = where != NULL && where[0] != '\0' && strlen(where) <= PLACE_MOST;

	page_text(advice->to,
		  text_made("First: %s%s, which saves %s %s (%s).",
			    text_name(cell_of(advice, 0, "Next")->text, 200),
			    text_if(has_place, " (%s)", text_name(where, PLACE_MOST)),
			    strcmp(saves->text, "~") == 0 ? "about" : "at most",
			    text_time(saves->value), text_share(saves->value, wall_ns)));
}

void html_headline(struct page *page)
{
	const struct profile *profile = page->profile;
	struct table_rows states = page_fill(page, &table_states, NULL);
	struct table_rows advice = page_fill(page, &table_advice, NULL);
	size_t most = 0;

	for (size_t i = 1; i < states.count; i++)
		if (cell_of(&states, i, "ns")->value > cell_of(&states, most, "ns")->value)
			most = i;
	fputs("<p class=\"headline\">", page->to);
	if (states.count > 0) {
		const struct table_cell *ns = cell_of(&states, most, "ns"), *share = ns + 1;

		fprintf(page->to, "%s: %s of %s (%s). ", cell_of(&states, most, "state")->text,
			text_time(ns->value), text_time(profile->wall_ns),
			text_share(share->value, share->of));
	}
	if (advice.count > 0 &&
	    (__int128_t)cell_of(&advice, 0, "Saves")->value * 100 >= profile->wall_ns &&
	    profile->process.exit_status <= 0)
		say_first(&advice, profile->wall_ns);
	else if (advice.sentences != NULL)
		page_text(page->to, text_take_line(&advice.sentences));
	fputs("</p>\n", page->to);
}

/* Writes the stages on one scale, their figures, and the changes from each to the next. */
static void stages_section(struct page *page, const struct comparison *comparison)
{
	struct comparison part = *comparison;
	struct table figures;

	page_section(page, "stages", "Stages", NULL);
	part.to = part.count;
	page_stages(page->to, &part);
	fputs("<div class=\"comparison\">\n", page->to);
	while (part.from < part.count) {
		compare_make_table(&part, SIZE_MAX, &figures);
		table_page(page, &figures, &part);
		part.from = part.to;
	}
	fputs("</div>\n", page->to);
	for (part.from = 1; part.from < part.count; part.from++)
		table_folded(page, &compare_kernel_table, &part, false);
	page_section_end(page);
}

bool html_is_of_ranks(const struct compare_stage *stage)
{
	return stage->run_count > 1 && !stage->repeated;
}

/* Writes the ranks of a stage, and their spread. */
static void ranks_section(struct page *page, const struct compare_stage *stage)
{
	struct ranks ranks;

	if (!html_is_of_ranks(stage))
		return;
	ranks_compare(stage->runs, stage->run_count, &ranks);
	page_section(page, "ranks", "Ranks", NULL);
	page_element(page->to, "p",
		     text_made("%zu ranks. The slowest is rank %s with %s: its sections follow.",
			       ranks.count, text_name(ranks.slowest->process.rank, 8),
			       text_time(ranks.slowest->wall_ns)));
	table_page(page, &table_rank_spread, &ranks);
	page_ranks(page->to, &ranks);
	table_page(page, &table_ranks, &ranks);
	page_section_end(page);
}

static void say_no_source(const struct page *page)
{
	const char *missing = page->profile->missing, *other = page->profile->other_build;

	page_soft(page->to,
		  missing != NULL
			  ? text_made("No source line is known: %s, which was profiled, is not "
				      "on this machine.",
				      text_name(missing, 200))
		  : other != NULL && strstr(other, ".so") == NULL
			  ? text_made("No source line is known: %s differs from the file that "
				      "was profiled.",
				      text_name(other, 200))
			  : "No source line is known; compile the program with -g.");
}

static void say_timeline(const struct page *page)
{
	if (profile_used_no_device(page->profile))
		return;
	page_soft(page->to,
		  page->profile->events.row_count == 0
			  ? "No timeline: hotpin run --profile=trace records one."
			  : text_made("The timeline: hotpin trace -o timeline.json %s writes it; "
				      "open timeline.json at ui.perfetto.dev.",
				      text_name(page->profile->path, 200)));
}

static void next_section(struct page *page)
{
	const struct profile *profile = page->profile;

	page_section(page, "next", "What to do next", NULL);
	table_page(page, &table_advice, NULL);
	page_soft(page->to, "~ is an estimate. Savings do not add up.");
	if (page->lines.main_count == 0 && profile->site_count + profile->sample_count > 0)
		say_no_source(page);
	say_timeline(page);
	page_section_end(page);
}

/* Writes functions by samples, and the gaps between calls; nothing if they are unknown. */
static void host_section(struct page *page)
{
	struct profile *profile = page->profile;
	bool is_sampled = profile->sample_count > 0 || profile->python_count > 0 ||
			  (profile->sampling.why != NULL && !profile_used_no_device(profile));

	if (!is_sampled && profile->gap_count == 0)
		return;
	page_section(page, "host", "Host code", NULL);
	table_page(page, &table_python, NULL);
	if (profile->sample_count > 0)
		html_icicle(page->to, profile);
	table_page(page, &table_functions, NULL);
	table_page(page, &table_gaps, NULL);
	page_section_end(page);
}

/* Writes the sources with most time; nothing if there are none. */
static void source_section(struct page *page)
{
	const struct source_lines *lines = &page->lines;
	const struct profile_launches_rest *rest = &page->profile->launches_rest;

	if (lines->count == 0)
		return;
	page_section(page, "source", "Source", NULL);
	page_soft(page->to,
		  "The lines that matter. At call: host time inside calls that copy. Kernels: "
		  "time on the GPU of what a line launches, with ~ if a part of it is an "
		  "estimate. Host: CPU time outside CUDA, by samples.");
	for (size_t i = 0; i < lines->main_count; i++)
		table_folded(page, &table_lines, &(struct source_view){ &lines->files[i], i },
			     i == 0);
	if (lines->count > lines->main_count)
		page_soft(page->to,
			  text_made("Less time is in %s.",
				    text_several((int64_t)(lines->count - lines->main_count),
						 "more file", "more files")));
	if (rest->kernels > 0)
		page_soft(page->to, text_made("Launched from no known place: %s, %s.",
					      text_several(rest->kernels, "kernel", "kernels"),
					      text_time(rest->device_ns)));
	page_section_end(page);
}

static void did_section(struct page *page)
{
	const struct profile_effect *effect = &page->profile->effect;

	page_section(page, "did", "What hotpin did", NULL);
	if (effect->pins < 0)
		page_element(page->to, "p", "The profile does not say what hotpin did.");
	else if (effect->promoted_copies <= 0 && effect->staged_copies <= 0 &&
		 effect->deferred_copies <= 0 && effect->pins == 0)
		page_element(page->to, "p", "hotpin changed no copy of this run.");
	table_page(page, &table_did, NULL);
	fputs("<details><summary>Counters, options and the profile</summary>\n", page->to);
	table_page(page, &table_counters, NULL);
	table_page(page, &table_options, NULL);
	page_lines(page->to, PAGE_SOFT, run_facts(page->profile));
	fputs("</details>\n", page->to);
	page_section_end(page);
}

void html_sections(struct page *page, const struct comparison *stages)
{
	const struct profile *profile = page->profile;
	bool no_device = profile_used_no_device(profile), has_stages = stages->count > 1;

	if (has_stages)
		stages_section(page, stages);
	ranks_section(page, &stages->stages[stages->count - 1]);
	page_section(page, "time", "Where the time went",
		     has_stages ? text_name(profile->stage, 40) : NULL);
	table_page(page, &table_states, NULL);
	page_strip(page->to, profile);
	page_section_end(page);
	next_section(page);
	host_section(page);
	source_section(page);
	if (!no_device && profile->transfer_count > 0) {
		page_section(page, table_copies.name, table_copies.title, NULL);
		table_page(page, &table_copies, NULL);
		page_rates(page->to, profile);
		page_section_end(page);
	}
	for (const struct table *const *table = tables; *table != NULL; table++)
		if ((*table)->title != NULL && !(*table)->elsewhere &&
		    !((*table)->of_device && no_device))
			table_section(page, *table);
	did_section(page);
}
