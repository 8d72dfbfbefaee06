/*
 * html.c - `hotpin html`: writes profiles as one page that any browser shows without a network.
 *
 * The sections are written before the head of the page, which links to those that exist.
 */
#include "show/page/html.h"
#include "cmd/commands.h"
#include "cmd/flags.h"
#include "system/messages.h"
#include "names/names_find.h"
#include "analyze/places.h"
#include "analyze/ranks.h"
#include "analyze/run_notes.h"
#include "profile/texts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the run that represents the stage. */
static const struct profile *run_of(const struct compare_stage *stage)
{
	return html_is_of_ranks(stage) ? ranks_slowest(stage->runs, stage->run_count)
				       : stage->profile;
}

#define NOTE "p class=\"note\""

/* Writes the verdict, and why the comparison is doubtful; `hotpin compare` prints the same. */
static void comparison(FILE *to, const struct comparison *stages)
{
	const struct compare_remarks remarks = compare_gate(stages->stages, stages->count);

	page_element(to, "p class=\"headline\"", compare_sentence(stages));
	page_lines(to, NOTE, remarks.against);
	fputs("<details><summary>Files, and notes on the comparison</summary>\n", to);
	page_lines(to, "p", remarks.stages);
	page_lines(to, "p", remarks.notes);
	fputs("</details>\n", to);
}

/* Writes "12.0 s, NVIDIA H200, CUDA 13.0, node17, rank 2, ended .." */
static void facts(FILE *to, const struct profile *profile)
{
	const char *device = profile->environment.device, *rank = profile->process.rank;
	int64_t driver = profile->environment.driver_version;
	bool used = !profile_used_no_device(profile);

	page_soft(to,
		  text_made("%s, %s%s, %s%s, ended %s", text_time(profile->wall_ns),
			    !used            ? "no device was used"
			    : device != NULL ? text_name(device, 64)
					     : "device n/a",
			    text_if(used && driver >= 0, ", CUDA %s", text_cuda_version(driver)),
			    text_name(profile->process.host, 64),
			    text_if(rank != NULL, ", rank %s", text_name(rank, 16)),
			    text_when(profile->process.ended_utc)));
}

static void head(struct page *page, const struct comparison *stages)
{
	const struct compare_stage *last = &stages->stages[stages->count - 1];
	const struct profile *run = page->profile;
	FILE *to = page->to;

	fputs("<header>\n<h1>", to);
	page_text(to, text_name(run->process.program, 40));
	fputs(" <span>", to);
	if (run->stage != run->path)
		page_text(to, text_name(run->stage, 80));
	if (stages->count > 1)
		fprintf(to, ", the last of %zu stages", stages->count);
	fputs("</span></h1>\n", to);
	facts(to, run);
	if (last->repeated)
		page_soft(to, text_made("The median of %zu runs, %s to %s.", last->run_count,
					text_time(last->walls.least), text_time(last->walls.most)));
	if (html_is_of_ranks(last))
		page_soft(to, text_made("The slowest of %zu ranks.", last->run_count));
	if (stages->count > 1)
		comparison(to, stages);
	html_headline(page);
	page_lines(to, NOTE, run_notes(run));
}

/* `page` has the run and its sources. */
static void write_page(FILE *to, struct page *page, const struct comparison *stages)
{
	const struct profile *run = page->profile;
	char *sections = NULL, *nav = NULL;

	page->to = page_in_memory(&sections);
	page->nav = page_in_memory(&nav);
	html_sections(page, stages);
	fclose(page->to);
	fclose(page->nav);
	page->to = to;
	page_begin(to, text_made("hotpin: %s, %s", text_name(run->process.program, 40),
				 text_name(run->stage, 80)));
	head(page, stages);
	fprintf(to, "<nav aria-label=\"Sections\"><ul>\n%s</ul></nav>\n</header>\n%s", nav,
		sections);
	page_element(to, "footer", "Written by hotpin " HOTPIN_VERSION ". n/a means unknown.");
	page_end(to);
	free(sections);
	free(nav);
}

/* Reads the main sources, and says on stderr which of them the page quotes.  False: none. */
static bool read_sources(struct page *page, const struct source_where *where)
{
	bool any = false;

	source_lines_sum(page->profile, &page->lines);
	for (size_t i = 0; i < page->lines.main_count; i++) {
		struct source_file *file = &page->lines.files[i];

		source_lines_read(page->profile, file, where);
		if (file->why != NULL)
			continue;
		hotpin_say("the page contains lines of %s", text_name(file->found, 200));
		any = true;
	}
	return any;
}

static int write_stages(struct output *output, struct profile *profiles, size_t count,
			void *sources)
{
	struct comparison stages = { .least_tenths = COMPARE_NOISE_TENTHS };
	struct compare_stage *list = NULL;

	names_resolve(profiles, count);
	places_merge_sites(profiles, count);
	stages.count = compare_stages(profiles, ranks_only(profiles, count), &list);
	stages.stages = list;
	if (stages.count == 0)
		return EXIT_FAILURE;
	struct page page = { .profile = (struct profile *)run_of(&list[stages.count - 1]) };
	/* Who may read the page need not be allowed to read the sources. */
	if (read_sources(&page, sources))
		output->mode = S_IRUSR | S_IWUSR;
	write_page(output->to, &page, &stages);
	compare_stages_close(list, stages.count);
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

	if (status < 0 && path == NULL && isatty(STDOUT_FILENO))
		status = hotpin_misused("html", "the page would go to this terminal; name a file "
						"with -o, or redirect the output");
	if (status < 0)
		status = flags_write(path, argv + optind, (size_t)(argc - optind), write_stages,
				     &sources);
	free(sources.folders);
	return status;
}
