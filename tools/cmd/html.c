/*
 * html.c - `hotpin html`: writes profiles as one page that any browser shows without a network.
 *
 * The sections are written before the head of the page, because the head links to the existing
 * sections, and the advice links to rows of tables further below.
 */
#include "show/page/html.h"
#include "show/page/table_page.h"
#include "cmd/commands.h"
#include "system/messages.h"
#include "names/names_find.h"
#include "show/page/page.h"
#include "analyze/places.h"
#include "system/progress.h"
#include "analyze/ranks.h"
#include "analyze/run_notes.h"
#include "profile/profile_open.h"
#include "profile/texts.h"
#include "tables/tables.h"
#include "system/output.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct stages {
	struct profile *profiles;
	struct source_where sources;
	const struct compare_stage *items;
	size_t count;
	struct page_links *links;
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

static const struct compare_stage *last_of(const struct stages *stages)
{
	return &stages->items[stages->count - 1];
}

static void note(FILE *to, const char *text)
{
	page_element(to, "p class=\"note\"", text);
}

static void note_softly(FILE *to, const char *text)
{
	page_element(to, "p class=\"soft\"", text);
}

struct notes {
	FILE *to;
	const char *told; /* in the section of the wall time; or NULL */
};

static void add_note(void *arg, const char *text)
{
	const struct notes *notes = arg;

	if (notes->told == NULL || strcmp(text, notes->told) != 0)
		note(notes->to, text);
}

static void notes(FILE *to, const struct profile *profile)
{
	run_notes(profile, add_note, &(struct notes){ to, profile->split_why });
}

struct remarks {
	FILE *above, *folded;
	size_t folded_count;
};

static void listen(void *arg, enum compare_remark kind, const char *text)
{
	struct remarks *remarks = arg;

	if (kind == COMPARE_AGAINST)
		note(remarks->above, text);
	if (kind != COMPARE_NOTE)
		return;
	page_element(remarks->folded, "p", text);
	remarks->folded_count++;
}

/* Writes why a comparison is doubtful; `hotpin compare` prints the same. */
static void comparison_notes(FILE *to, const struct stages *stages)
{
	char *folded = NULL;
	size_t bytes;
	struct remarks remarks = { to, open_memstream(&folded, &bytes), 0 };

	if (remarks.folded == NULL)
		exit(EXIT_FAILURE);
	compare_gate(&(struct compare_listener){ listen, &remarks }, stages->items, stages->count);
	fclose(remarks.folded);
	if (remarks.folded_count > 0)
		fprintf(to, "<details><summary>Notes on the comparison</summary>\n%s</details>\n",
			folded);
	free(folded);
}

/* Writes "one.json", the device, the day. */
static void facts(FILE *to, const struct profile *profile)
{
	fprintf(to, "<p class=\"soft\">%s, ", text_time(profile->wall_ns));
	if (profile_used_no_device(profile))
		fputs("no device was used", to);
	else
		page_text(to, profile->environment.device != NULL
				      ? text_name(profile->environment.device, 64)
				      : "device n/a");
	if (profile->environment.driver_version >= 0 && !profile_used_no_device(profile))
		fprintf(to, ", CUDA %s", text_cuda_version(profile->environment.driver_version));
	fputs(", ", to);
	page_text(to, text_name(profile->process.host, 64));
	if (profile->process.rank != NULL) {
		fputs(", rank ", to);
		page_text(to, text_name(profile->process.rank, 16));
	}
	fputs(", ended ", to);
	page_text(to, text_when(profile->process.ended_utc));
	fputs("</p>\n", to);
}

/* Compares the last stage with the previous one and with the first. */
static void verdict(FILE *to, const struct stages *stages)
{
	const struct compare_stage *last = last_of(stages), *before = last - 1;
	int64_t was_ns = before->profile->wall_ns, is_ns = last->profile->wall_ns;
	bool is_known = compare_has_noise(before, last);
	unsigned noise_tenths = compare_noise(before, last, COMPARE_NOISE_TENTHS);
	enum compare_verdict verdict = compare_judge(was_ns, is_ns, noise_tenths, is_known);

	fputs("<p class=\"headline\">", to);
	page_text(to, compare_name(last));
	if (was_ns == is_ns || (is_known && text_is_same(was_ns, is_ns, noise_tenths))) {
		fputs(" takes as long as ", to);
		page_text(to, compare_name(before));
		fputs(is_known ? ", within the noise" : "", to);
	} else {
		fprintf(to, " takes %s than ", text_change(was_ns, is_ns));
		page_text(to, compare_name(before));
		fprintf(to, " (%s)", compare_how_much(was_ns, is_ns));
	}
	if (stages->count > 2) {
		const struct compare_stage *first = &stages->items[0];
		int64_t first_ns = first->profile->wall_ns;

		fputs("; in all, from ", to);
		page_text(to, compare_name(first));
		if (compare_has_noise(first, last) &&
		    text_is_same(first_ns, is_ns, compare_noise(first, last, COMPARE_NOISE_TENTHS)))
			fputs(": within the noise", to);
		else
			fprintf(to, ": %s", compare_how_much(first_ns, is_ns));
	}
	if (is_known)
		fprintf(to, " (noise %u.%u %%).</p>\n", noise_tenths / 10, noise_tenths % 10);
	else
		fprintf(to, ".%s</p>\n",
			verdict == COMPARE_UNCLEAR ? " This may be noise. " COMPARE_REPEAT "."
						   : "");
}

static void head(FILE *to, const struct stages *stages, const struct advice_list *advice)
{
	const struct compare_stage *last = last_of(stages);
	const struct profile *run = run_of(last);

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
		fprintf(to, "<p class=\"soft\">The median of %zu runs, %s to %s.</p>\n",
			last->run_count, text_time(last->least_ns), text_time(last->most_ns));
	if (is_of_ranks(last))
		fprintf(to, "<p class=\"soft\">The slowest of %zu ranks.</p>\n", last->run_count);
	if (stages->count > 1)
		verdict(to, stages);
	html_headline(to, run, advice);
	page_nav(to);
	notes(to, run);
	if (stages->count > 1)
		comparison_notes(to, stages);
	fputs("</header>\n", to);
}

/*
 * Writes the sections below the advice.  The sources come first in time because the tables link to
 * their lines.
 */
static void opened_run(FILE *to, struct profile *profile, const struct source_where *folders,
		       struct page_links *links)
{
	char *sources = NULL;
	size_t bytes;
	FILE *lines = open_memstream(&sources, &bytes);

	if (lines == NULL)
		exit(EXIT_FAILURE);
	html_source(lines, profile, folders, links);
	fclose(lines);
	html_host(to, profile, links);
	fputs(sources, to);
	html_tables(to, profile, links);
	html_did(to, profile, true);
	free(sources);
}

static void folded_run(FILE *to, const struct profile *profile, bool with_advice)
{
	fputs("<details><summary>", to);
	page_text(to, text_name(profile->stage, 80));
	fprintf(to, ", %s</summary>\n", text_time(profile->wall_ns));
	facts(to, profile);
	notes(to, profile);
	html_time(to, profile);
	if (with_advice)
		html_next_folded(to, profile);
	table_page(to, &table_python, profile, NULL, NULL);
	html_tables(to, profile, NULL);
	html_did(to, profile, false);
	fputs("</details>\n", to);
}

static void earlier(FILE *to, const struct stages *stages)
{
	if (stages->count < 2)
		return;
	page_section(to, "earlier", NULL);
	for (size_t i = 0; i + 1 < stages->count; i++) {
		progress_show("writing the page", i, stages->count);
		folded_run(to, run_of(&stages->items[i]), true);
	}
	page_section_end(to);
}

/* Writes the times of all ranks together. */
static void sum(FILE *to, const struct compare_stage *stage)
{
	if (!is_of_ranks(stage))
		return;
	page_section(to, "sum", NULL);
	page_element(to, "p class=\"soft\"", "Times of all ranks are added up.");
	folded_run(to, stage->profile, false);
	page_section_end(to);
}

static void say_no_source(FILE *to, const struct profile *profile)
{
	char text[TEXT_BYTES(200) + 120];

	if (profile->missing != NULL)
		snprintf(text, sizeof(text),
			 "No source line is known: %s, which was profiled, is not on this machine.",
			 text_name(profile->missing, 200));
	else if (profile->other_build != NULL && strstr(profile->other_build, ".so") == NULL)
		snprintf(text, sizeof(text),
			 "No source line is known: %s differs from the file that was profiled.",
			 text_name(profile->other_build, 200));
	else
		snprintf(text, sizeof(text),
			 "No source line is known; compile the program with -g.");
	note_softly(to, text);
}

static void say_timeline(FILE *to, const struct profile *profile)
{
	if (profile_used_no_device(profile))
		return;
	if (profile->events.row_count == 0) {
		note_softly(to, "No timeline: hotpin run --profile=trace records one.");
		return;
	}
	fputs("<p class=\"soft\">The timeline: hotpin trace -o timeline.json ", to);
	page_text(to, text_name(profile->path, 200));
	fputs(" writes it; open timeline.json at ui.perfetto.dev.</p>\n", to);
}

static void sections_above(FILE *to, const struct stages *stages, const struct advice_list *advice)
{
	const struct compare_stage *last = last_of(stages);
	const struct profile *run = run_of(last);
	char of[TEXT_BYTES(40)];

	snprintf(of, sizeof(of), "%s", text_name(run->stage, 40));

	if (stages->count > 1)
		html_stages(to, stages->items, stages->count);
	if (is_of_ranks(last))
		html_ranks(to, last);
	page_section(to, "time", stages->count > 1 ? of : NULL);
	html_time(to, run);
	say_timeline(to, run);
	page_section_end(to);
	page_section(to, "next", NULL);
	html_next(to, run, advice, stages->links);
	if (!page_has_section("source") && run->site_count + run->sample_count > 0)
		say_no_source(to, run);
	page_section_end(to);
}

static void write_page(FILE *to, const struct stages *stages)
{
	const struct profile *run = run_of(last_of(stages));
	char *parts[2] = { NULL }, title[TEXT_BYTES(120) + 32];
	size_t bytes;
	FILE *below = open_memstream(&parts[1], &bytes), *above = open_memstream(&parts[0], &bytes);
	struct advice_list advice;

	if (below == NULL || above == NULL)
		exit(EXIT_FAILURE);
	advice_make(run, &advice);
	opened_run(below, &stages->profiles[run - stages->profiles], &stages->sources,
		   stages->links);
	sum(below, last_of(stages));
	earlier(below, stages);
	sections_above(above, stages, &advice);
	fclose(below);
	fclose(above);
	snprintf(title, sizeof(title), "hotpin: %s, %s", text_name(run->process.program, 40),
		 text_name(run->stage, 80));
	page_begin(to, title);
	head(to, stages, &advice);
	fputs(parts[0], to);
	fputs(parts[1], to);
	page_element(to, "footer", "Written by hotpin " HOTPIN_VERSION ". n/a means unknown.");
	page_end(to);
	progress_clear();
	free(parts[0]);
	free(parts[1]);
}

/* Returns 0, or -1 if the files are not stages, which has been reported. */
static int write_stages(FILE *to, struct profile *profiles, size_t count,
			const struct source_where *sources, struct page_links *links)
{
	struct compare_stage *items = NULL;
	struct stages stages = { profiles, *sources, NULL, 0, links };

	names_resolve(profiles, count, true);
	places_merge_sites(profiles, count);
	stages.count = compare_stages(profiles, ranks_only(profiles, count), &items);
	stages.items = items;
	if (stages.count > 0)
		write_page(to, &stages);
	compare_stages_free(items, stages.count);
	return stages.count > 0 ? 0 : -1;
}

/* Nobody reads HTML on a terminal. */
static bool is_for_terminal(const char *path)
{
	return path == NULL && isatty(STDOUT_FILENO);
}

static int write_files(const char *path, char **files, size_t count,
		       const struct source_where *sources)
{
	struct output output;
	struct page_links links = { 0 };
	int status = EXIT_FAILURE;

	/* Opening the output first avoids a long read in vain if it cannot be written. */
	if (output_open(&output, path, files, count, false) < 0)
		return EXIT_FAILURE;
	struct profile *profiles = profile_open_all(files, count);
	if (profiles == NULL) {
		output_drop(&output);
		return EXIT_FAILURE;
	}
	if (write_stages(output.to, profiles, count, sources, &links) == 0) {
		/* Who may read the page need not be allowed to read the sources. */
		if (html_source_say(&links))
			output.mode = S_IRUSR | S_IWUSR;
		status = output_close(&output) < 0 ? EXIT_FAILURE : 0;
	} else {
		output_drop(&output);
	}
	profile_close_all(profiles, count);
	return status;
}

/*
 * Reads the page's path and the folders of sources.  True if the command ends
 * here, with `*ret_status`.
 */
static bool read_options(int argc, char **argv, const char **ret_path,
			 struct source_where *ret_sources, int *ret_status)
{
	static const struct option longs[] = {
		{ "out", required_argument, NULL, 'o' },
		{ "source", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "ho:s:", longs, NULL)) != -1) {
		if (option == 'o')
			*ret_path = optarg;
		else if (option == 's')
			source_add_folder(ret_sources, optarg);
		else {
			*ret_status = option == 'h' ? hotpin_help("html") : hotpin_misused("html");
			return true;
		}
	}
	if (optind == argc)
		hotpin_say("no profile to read; name a file of `hotpin run -o FILE`");
	else if (is_for_terminal(*ret_path))
		hotpin_say(
			"the page would go to this terminal; name a file with -o, or redirect the "
			"output");
	else
		return false;
	*ret_status = hotpin_misused("html");
	return true;
}

int hotpin_html(int argc, char **argv)
{
	struct source_where sources = { NULL, calloc((size_t)argc, sizeof(char *)), 0 };
	const char *path = NULL;
	int status = EXIT_FAILURE;

	if (sources.folders != NULL && !read_options(argc, argv, &path, &sources, &status))
		status = write_files(path, argv + optind, (size_t)(argc - optind), &sources);
	free(sources.folders);
	return status;
}
