/*
 * html.c - `hotpin html`: profiles as one page that opens anywhere, offline.
 */
#include "html.h"
#include "advice.h"
#include "compare.h"
#include "hotpin.h"
#include "names.h"
#include "page.h"
#include "progress.h"
#include "show.h"
#include "target.h"
#include "base/parse.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void title_of(const struct profile *profile, char *ret, size_t room)
{
	snprintf(ret, room, "%s%s%s%s", show_text(profile->process.program, 40),
		 profile->stage != NULL ? ", " : "",
		 profile->stage != NULL ? show_text(profile->stage, 80) : "",
		 profile_is_unended(profile) ? " (not ended)" : "");
}

static void device_text(const struct profile *profile, char *ret, size_t room)
{
	bool cupti = strcmp(profile_view(profile), "cupti") == 0;

	if (profile_used_no_device(profile))
		snprintf(ret, room, "No device was used");
	else
		snprintf(ret, room, "%s, CUDA %s, %s%s", show_text(profile->environment.device, 64),
			 show_cuda_version(profile->environment.driver_version),
			 cupti ? "CUPTI " : "times at the call only",
			 cupti ? show_cupti_version(profile->environment.cupti_version) : "");
}

static void head(FILE *to, const struct profile *profile)
{
	char text[2048], device[SHOW_BYTES(64) + 64];

	device_text(profile, device, sizeof(device));
	snprintf(text, sizeof(text), "%s. Process %lld on %s%s%s, ended %s. %s.",
		 show_text(profile->path, 120), (long long)profile->process.pid,
		 show_text(profile->process.host, 64),
		 profile->process.rank != NULL ? ", rank " : "",
		 profile->process.rank != NULL ? show_text(profile->process.rank, 16) : "",
		 show_when(profile->process.ended_utc), device);
	page_element(to, "p class=\"soft\"", text);
	if (profile_is_unended(profile))
		page_element(to, "p class=\"note\"",
			     "The program had not ended when this was written, or was killed: all "
			     "figures are up to then.");
	if (profile->process.exit_status > 0) {
		snprintf(text, sizeof(text), "The program exited with %s.",
			 show_count(profile->process.exit_status));
		page_element(to, "p class=\"note\"", text);
	}
	if (profile->environment.stand_in)
		page_element(to, "p class=\"note\"",
			     "On the stand-in device: all device times are modelled.");
	if (profile->truncated)
		page_element(to, "p class=\"note\"",
			     "Records are missing: not all had come when the program ended.");
	if (profile->other_build != NULL) {
		snprintf(text, sizeof(text),
			 "Places have no names: another build than ran lies at %s",
			 show_text(profile->other_build, 200));
		page_element(to, "p class=\"note\"", text);
	}
	for (size_t i = 0; i < profile->warning_count; i++)
		page_element(to, "p class=\"note\"", show_text(profile->warnings[i], 300));
}

static void wall(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<wall time", "time", "share", "<" };
	unsigned tenths[SHOW_PARTS];

	if (profile_has_split(profile)) {
		struct advice_list advice;

		advice_make(profile, &advice);
		show_split_tenths(&profile->split, tenths);
		page_split_bar(to, &profile->split, 1, 1);
		page_strip(to, profile);
		page_element(to, "p class=\"verdict\"",
			     show_verdict(profile, advice_on_host_code(profile, &advice)));
	}
	page_table_begin(to, columns, HP_LEN(columns));
	page_row(to, columns, HP_LEN(columns),
		 (const char *[]){ "all", show_time(profile->wall_ns), "100.0 %", "" });
	for (int part = 0; part < SHOW_PARTS && profile_has_split(profile); part++) {
		char percent[16];

		snprintf(percent, sizeof(percent), "%u.%u %%", tenths[part] / 10,
			 tenths[part] % 10);
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ show_parts[part].name,
					   show_time(show_part_ns(&profile->split, part)), percent,
					   show_parts[part].note });
	}
	if (!profile_has_split(profile))
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ "inside calls that wait",
					   show_time(profile->host.waits_ns),
					   show_share(profile->host.waits_ns, profile->wall_ns),
					   show_no_split(profile) });
	page_row(to, columns, HP_LEN(columns),
		 (const char *[]){ "inside calls that copy", show_time(profile->host.copy_calls_ns),
				   show_share(profile->host.copy_calls_ns, profile->wall_ns),
				   "of the host, whatever the device did meanwhile" });
	if (profile->host.copying_ns >= 0) {
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ "- copying", show_time(profile->host.copying_ns),
					   show_share(profile->host.copying_ns, profile->wall_ns),
					   "" });
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ "- of that, staging",
					   show_time(profile->host.staging_ns),
					   show_share(profile->host.staging_ns, profile->wall_ns),
					   "an estimate" });
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){
				 "- waiting for kernels",
				 show_time(profile->host.waiting_for_kernels_ns),
				 show_share(profile->host.waiting_for_kernels_ns, profile->wall_ns),
				 "" });
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ "- overhead", show_time(profile->host.overhead_ns),
					   show_share(profile->host.overhead_ns, profile->wall_ns),
					   "" });
	}
	page_table_end(to);
}

static void counters(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<counter", "count" };
	static const char *const settings[] = { "<option", "<value" };
	size_t zeros = 0;
	char text[80];

	fputs("<details>", to);
	page_element(to, "summary", "Counters and options");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->counters.count; i++) {
		if (profile->counters.items[i].value == 0) {
			zeros++;
			continue;
		}
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ show_text(profile->counters.items[i].name, 80),
					   show_count(profile->counters.items[i].value) });
	}
	page_table_end(to);
	if (zeros > 0) {
		snprintf(text, sizeof(text), "%zu more counters are 0.", zeros);
		page_element(to, "p class=\"soft\"", text);
	}
	page_table_begin(to, settings, HP_LEN(settings));
	for (size_t i = 0; i < profile->options.count; i++)
		page_row(to, settings, HP_LEN(settings),
			 (const char *[]){ show_text(profile->options.items[i].name, 80),
					   show_text(profile->options.items[i].text, 200) });
	page_table_end(to);
	fputs("</details>\n", to);
}

static void section(FILE *to, const struct profile *profile, size_t index)
{
	char title[512];

	title_of(profile, title, sizeof(title));
	fprintf(to, "<section id=\"run%zu\">\n", index + 1);
	page_element(to, "h2", title);
	head(to, profile);
	wall(to, profile);
	html_tables(to, profile);
	counters(to, profile);
	fputs("</section>\n", to);
}

/* Beyond so many, side by side says little; `hotpin compare` puts repeats together. */
#define PROFILES_MOST 6

/* That of `hotpin compare`, of files instead of stages. */
static void ledger(FILE *to, const struct profile *profiles, size_t count)
{
	struct compare_figure all[PROFILES_MOST][COMPARE_FIGURES];
	char labels[PROFILES_MOST][200], texts[2 * PROFILES_MOST][80];
	const char *columns[2 * PROFILES_MOST] = { "<" }, *cells[2 * PROFILES_MOST];

	if (count < 2 || count > PROFILES_MOST)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct profile *profile = &profiles[i];

		/* No mark of page_table_begin(). */
		snprintf(labels[i], sizeof(labels[i]), " %s",
			 show_text(profile->stage != NULL ? profile->stage : profile->path, 32));
		columns[i > 0 ? 2 * i : 1] = labels[i];
		if (i > 0)
			columns[2 * i + 1] = "<";
		compare_figures(profile, all[i]);
	}
	size_t wide = 2 * count;

	page_table_begin(to, columns, wide);
	for (int figure = 0; figure < COMPARE_FIGURES; figure++) {
		cells[0] = compare_figure_name(figure);
		for (size_t i = 0; i < count; i++) {
			size_t at = i > 0 ? 2 * i : 1;
			int64_t value = all[i][figure].value;

			snprintf(texts[at], sizeof(texts[at]), "%s",
				 compare_figure_shown(figure, value));
			cells[at] = texts[at];
			if (i == 0)
				continue;
			snprintf(texts[at + 1], sizeof(texts[at + 1]), "%s",
				 show_ratio(all[i - 1][figure].value, value, 20));
			cells[at + 1] = texts[at + 1];
		}
		page_row(to, columns, wide, cells);
	}
	page_table_end(to);
	page_element(to, "p class=\"soft\"",
		     "Each beside the one before; differences up to 2 % are none.");
}

/* All wall times on one scale, each with a link to its section. */
static void overview(FILE *to, const struct profile *profiles, size_t count)
{
	int64_t longest_ns = 0;
	char text[512];

	for (size_t i = 0; i < count; i++)
		if (profiles[i].wall_ns > longest_ns)
			longest_ns = profiles[i].wall_ns;
	page_split_legend(to);
	for (size_t i = 0; i < count && count > 1; i++) {
		title_of(&profiles[i], text, sizeof(text));
		fprintf(to, "<p><a href=\"#run%zu\">", i + 1);
		page_text(to, text);
		fputs("</a> ", to);
		page_text(to, show_time(profiles[i].wall_ns));
		fputs("</p>\n", to);
		if (profile_has_split(&profiles[i]))
			page_split_bar(to, &profiles[i].split, profiles[i].wall_ns, longest_ns);
		else
			page_bar(to, "startup", profiles[i].wall_ns, longest_ns);
	}
}

static void write_page(FILE *to, const struct profile *profiles, size_t count)
{
	char title[1100], first[512], last[512];

	title_of(&profiles[0], first, sizeof(first));
	title_of(&profiles[count - 1], last, sizeof(last));
	if (count == 1)
		snprintf(title, sizeof(title), "hotpin: %s", first);
	else
		snprintf(title, sizeof(title), "hotpin: %zu profiles, from %s to %s", count, first,
			 last);
	page_begin(to, title);
	overview(to, profiles, count);
	ledger(to, profiles, count);
	for (size_t i = 0; i < count; i++) {
		progress_show("writing the page", i, count);
		section(to, &profiles[i], i);
	}
	page_element(to, "footer",
		     "Written by hotpin " HOTPIN_VERSION
		     ". n/a is unknown; what is called an estimate or a bound is one.");
	page_end(to);
	progress_clear();
}

int hotpin_html(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "out", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *path = NULL;
	int option, status = EXIT_FAILURE;

	while ((option = getopt_long(argc, argv, "ho:", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("html");
		if (option == '?')
			return hotpin_misused("html");
		path = optarg;
	}
	size_t count = (size_t)(argc - optind), opened = 0;
	if (count == 0) {
		hotpin_say("no profile to read");
		return hotpin_misused("html");
	}

	struct target target;
	/* First: what cannot be written should not be read, either. */
	if (target_open(&target, path, argv + optind, count) < 0)
		return EXIT_FAILURE;
	struct profile *profiles = calloc(count, sizeof(*profiles));
	while (profiles != NULL && opened < count &&
	       profile_open(argv[optind + (int)opened], &profiles[opened]) == 0)
		opened++;
	if (profiles != NULL && opened == count) {
		names_resolve(profiles, count, true);
		write_page(target.to, profiles, count);
		status = target_close(&target) < 0 ? EXIT_FAILURE : 0;
	} else {
		target_drop(&target);
	}
	for (size_t i = 0; i < opened; i++)
		profile_close(&profiles[i]);
	free(profiles);
	return status;
}
