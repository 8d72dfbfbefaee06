/*
 * html.c - `hotpin html`: writes profiles as one page that any browser shows without a network.
 *
 * The sections are written before the head of the page, which links to those that exist.
 */
#include "show/page/html.h"
#include "show/page/table_page.h"
#include "cmd/commands.h"
#include "cmd/flags.h"
#include "system/messages.h"
#include "names/names_find.h"
#include "show/page/page.h"
#include "analyze/places.h"
#include "analyze/ranks.h"
#include "analyze/run_notes.h"
#include "profile/texts.h"
#include "tables/tables.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the page shows. */
struct contents {
	struct profile *profiles;
	struct comparison stages;
	struct source_where sources;
	struct page page;
};

static bool is_of_ranks(const struct compare_stage *stage)
{
	return stage->run_count > 1 && !stage->repeated;
}

/* Returns the run that represents the stage. */
static const struct profile *run_of(const struct compare_stage *stage)
{
	return is_of_ranks(stage) ? ranks_slowest(stage->runs, stage->run_count) : stage->profile;
}

static const struct compare_stage *last_of(const struct contents *contents)
{
	return &contents->stages.stages[contents->stages.count - 1];
}

static FILE *in_memory(char **ret)
{
	static size_t bytes; /* nobody reads it */
	FILE *to = open_memstream(ret, &bytes);

	if (to == NULL)
		exit(EXIT_FAILURE);
	return to;
}

static void note(void *to, const char *text)
{
	page_element(to, "p class=\"note\"", text);
}

struct remarks {
	FILE *above, *folded;
};

static void listen(void *arg, enum compare_remark kind, const char *text)
{
	struct remarks *remarks = arg;

	if (kind == COMPARE_AGAINST)
		note(remarks->above, text);
	if (kind == COMPARE_NOTE)
		page_element(remarks->folded, "p", text);
}

/* Writes the verdict, and why the comparison is doubtful; `hotpin compare` prints the same. */
static void comparison(FILE *to, const struct comparison *stages)
{
	char *folded = NULL;
	struct remarks remarks = { to, in_memory(&folded) };

	page_element(to, "p class=\"headline\"",
		     text_made("%s: %s", compare_verdict_name(compare_last(stages)),
			       compare_sentence(stages)));
	compare_gate(&(struct compare_listener){ listen, &remarks }, stages->stages, stages->count);
	fclose(remarks.folded);
	if (folded[0] != '\0')
		fprintf(to, "<details><summary>Notes on the comparison</summary>\n%s</details>\n",
			folded);
	free(folded);
}

/* Writes "12.0 s, NVIDIA H200, CUDA 13.0, node17, rank 2, ended .." */
static void facts(FILE *to, const struct profile *profile)
{
	const char *device = profile->environment.device, *rank = profile->process.rank;
	bool used = !profile_used_no_device(profile);
	bool has_driver = used && profile->environment.driver_version >= 0;

	page_soft(to, text_made("%s, %s%s%s, %s%s%s, ended %s", text_time(profile->wall_ns),
				!used            ? "no device was used"
				: device != NULL ? text_name(device, 64)
						 : "device n/a",
				has_driver ? ", CUDA " : "",
				has_driver ? text_cuda_version(profile->environment.driver_version)
					   : "",
				text_name(profile->process.host, 64), rank != NULL ? ", rank " : "",
				rank != NULL ? text_name(rank, 16) : "",
				text_when(profile->process.ended_utc)));
}

static void head(FILE *to, const struct contents *contents)
{
	const struct compare_stage *last = last_of(contents);
	const struct profile *run = run_of(last);

	fputs("<header>\n<h1>", to);
	page_text(to, text_name(run->process.program, 40));
	fputs(" <span>", to);
	if (run->stage != run->path)
		page_text(to, text_name(run->stage, 80));
	if (contents->stages.count > 1)
		fprintf(to, ", the last of %zu stages", contents->stages.count);
	fputs("</span></h1>\n", to);
	facts(to, run);
	if (last->repeated)
		page_soft(to, text_made("The median of %zu runs, %s to %s.", last->run_count,
					text_time(last->least_ns), text_time(last->most_ns)));
	if (is_of_ranks(last))
		page_soft(to, text_made("The slowest of %zu ranks.", last->run_count));
	if (contents->stages.count > 1)
		comparison(to, &contents->stages);
	html_headline(to, run);
	run_notes(run, note, to);
}

static void say_no_source(FILE *to, const struct profile *profile)
{
	if (profile->missing != NULL)
		page_soft(to, text_made("No source line is known: %s, which was profiled, is not "
					"on this machine.",
					text_name(profile->missing, 200)));
	else if (profile->other_build != NULL && strstr(profile->other_build, ".so") == NULL)
		page_soft(to, text_made("No source line is known: %s differs from the file that "
					"was profiled.",
					text_name(profile->other_build, 200)));
	else
		page_soft(to, "No source line is known; compile the program with -g.");
}

static void say_timeline(FILE *to, const struct profile *profile)
{
	if (profile_used_no_device(profile))
		return;
	if (profile->events.row_count == 0)
		page_soft(to, "No timeline: hotpin run --profile=trace records one.");
	else
		page_soft(to, text_made("The timeline: hotpin trace -o timeline.json %s writes "
					"it; open timeline.json at ui.perfetto.dev.",
					text_name(profile->path, 200)));
}

/* Reads the sources of the run that is shown, so that all tables link to their lines. */
static void read_sources(struct contents *contents, struct profile *profile,
			 struct source_lines *ret)
{
	source_lines_sum(profile, ret);
	for (size_t i = 0; i < ret->main_count; i++)
		source_lines_read(profile, &ret->files[i], &contents->sources);
	contents->page.files = ret->files;
	contents->page.file_count = ret->main_count;
}

static void write_sections(FILE *to, struct contents *contents)
{
	const struct compare_stage *last = last_of(contents);
	struct profile *run = &contents->profiles[run_of(last) - contents->profiles];
	bool has_stages = contents->stages.count > 1;
	struct page *page = &contents->page;
	struct source_lines lines;

	read_sources(contents, run, &lines);
	if (has_stages)
		html_stages(to, &contents->stages, page);
	if (is_of_ranks(last))
		html_ranks(to, last, page);
	page_section(to, page, "time", "Where the time went",
		     has_stages ? text_name(run->stage, 40) : NULL);
	table_page(to, &table_states, run, NULL, NULL);
	page_strip(to, run);
	page_section_end(to);
	page_section(to, page, "next", "What to do next", NULL);
	table_page(to, &table_advice, run, NULL, page);
	page_soft(to, "~ is an estimate. Savings do not add up.");
	if (page->file_count == 0 && run->site_count + run->sample_count > 0)
		say_no_source(to, run);
	say_timeline(to, run);
	page_section_end(to);
	html_host(to, run, page);
	html_source(to, run, &lines, page);
	html_tables(to, run, page);
}

static void write_page(FILE *to, struct contents *contents)
{
	const struct profile *run = run_of(last_of(contents));
	char *sections = NULL, *nav = NULL;
	FILE *below = in_memory(&sections);

	contents->page.nav = in_memory(&nav);
	write_sections(below, contents);
	fclose(below);
	fclose(contents->page.nav);
	page_begin(to, text_made("hotpin: %s, %s", text_name(run->process.program, 40),
				 text_name(run->stage, 80)));
	head(to, contents);
	fprintf(to, "<nav aria-label=\"Sections\"><ul>\n%s</ul></nav>\n</header>\n%s", nav,
		sections);
	page_element(to, "footer", "Written by hotpin " HOTPIN_VERSION ". n/a means unknown.");
	page_end(to);
	free(sections);
	free(nav);
}

static int write_stages(struct output *output, struct profile *profiles, size_t count,
			void *sources)
{
	struct contents contents = { .profiles = profiles,
				     .sources = *(struct source_where *)sources };
	struct compare_stage *stages = NULL;

	names_resolve(profiles, count, true);
	places_merge_sites(profiles, count);
	count = compare_stages(profiles, ranks_only(profiles, count), &stages);
	if (count == 0)
		return EXIT_FAILURE;
	contents.stages = (struct comparison){ .stages = stages,
					       .count = count,
					       .least_tenths = COMPARE_NOISE_TENTHS };
	write_page(output->to, &contents);
	compare_stages_free(stages, count);
	/* Who may read the page need not be allowed to read the sources. */
	if (html_source_say(&contents.page))
		output->mode = S_IRUSR | S_IWUSR;
	return 0;
}

int hotpin_html(int argc, char **argv)
{
	struct source_where sources = { NULL };
	const char *path = NULL;
	const struct flag flags[] = { { "out", 'o', &path },
				      { "source", 's', .folders = &sources },
				      { NULL } };
	int status = flags_read(argc, argv, flags, FLAGS_PROFILES);

	if (status < 0 && path == NULL && isatty(STDOUT_FILENO)) {
		hotpin_say("the page would go to this terminal; name a file with -o, or redirect "
			   "the output");
		status = hotpin_misused("html");
	}
	if (status < 0)
		status = flags_write(path, argv + optind, (size_t)(argc - optind), write_stages,
				     &sources);
	free(sources.folders);
	return status;
}
