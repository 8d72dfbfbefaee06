/*
 * report.c - `hotpin report`: everything that a profile says, as text.
 *
 * What is unknown is n/a and never 0; what is an estimate, a bound or a guess says so.
 */
#include "report.h"
#include "hotpin.h"
#include "names.h"
#include "ranks.h"
#include "report_advice.h"
#include "report_json.h"
#include "show.h"
#include "base/parse.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool all_rows; /* --all */

static void head(const struct profile *profile)
{
	printf("%s: %s", show_text(profile->path, 200), show_text(profile->process.program, 32));
	if (profile->stage != NULL)
		printf(", stage \"%s\"", show_text(profile->stage, 80));
	if (profile->process.rank != NULL)
		printf(", rank %s", show_text(profile->process.rank, 16));
	if (profile->process.rank != NULL && profile->process.ranks >= 0)
		printf(" of %s", show_count(profile->process.ranks));
	printf("\n  pid %lld on %s, ended %s\n", (long long)profile->process.pid,
	       show_text(profile->process.host, 64), show_when(profile->process.ended_utc));
	if (profile_used_no_device(profile)) {
		printf("  no device was used; hotpin %s\n", show_text(profile->hotpin_version, 16));
		return;
	}
	printf("  %s, CUDA %s, ",
	       profile->environment.device != NULL ? show_text(profile->environment.device, 64)
						   : "device n/a",
	       show_cuda_version(profile->environment.driver_version));
	if (strcmp(profile_view(profile), "cupti") == 0)
		printf("CUPTI %s", show_cupti_version(profile->environment.cupti_version));
	else
		printf("times at the call only");
	printf("; hotpin %s\n", show_text(profile->hotpin_version, 16));
}

/* What a reader must know before any figure. */
static void notes(const struct profile *profile)
{
	if (profile_is_unended(profile))
		puts("  note: the program had not ended when this was written, or was killed; "
		     "all figures are up to then");
	if (profile->process.exit_status > 0)
		printf("  note: the program exited with %s\n",
		       show_count(profile->process.exit_status));
	if (profile->environment.stand_in)
		puts("  note: on the stand-in device: all device times are modelled");
	if (profile->truncated)
		puts("  note: records are missing: not all had come when the program ended");
	/* Many a stage of a port is built over the one before. */
	if (profile->other_build != NULL)
		printf("  note: places have no names: another build than ran lies at %s\n",
		       show_text(profile->other_build, 200));
	bool told = false;
	for (size_t i = 0; i < profile->warning_count; i++) {
		printf("  note: %s\n", show_text(profile->warnings[i], 200));
		told |= strstr(profile->warnings[i], "no device times") != NULL;
	}
	if (profile->backend.why != NULL && !told && !profile_used_no_device(profile))
		printf("  note: no device times: %s\n", show_text(profile->backend.why, 200));
}

static bool has_notes(const struct profile *profile)
{
	return profile_is_unended(profile) || profile->process.exit_status > 0 ||
	       profile->environment.stand_in || profile->truncated ||
	       profile->backend.why != NULL || profile->warning_count > 0;
}

static void bar(const char *name, int64_t ns, unsigned tenths, const char *note)
{
	static const char marks[] = "####################";
	int length = (int)((tenths + 25) / 50);

	printf("  %-13s %9s %4u.%u %%%s%.*s%*s%s\n", name, show_time(ns), tenths / 10, tenths % 10,
	       length > 0 || note[0] != '\0' ? "  " : "", length, marks,
	       note[0] != '\0' ? 21 - length : 0, "", note);
}

static void wall(const struct profile *profile, const char *on_host_code)
{
	unsigned tenths[SHOW_PARTS];

	printf("\nwall time      %9s\n", show_time(profile->wall_ns));
	if (!profile_has_split(profile)) {
		printf("  copy calls   %9s  %s\n", show_time(profile->host.copy_calls_ns),
		       show_share(profile->host.copy_calls_ns, profile->wall_ns));
		printf("  waits        %9s  %s\n", show_time(profile->host.waits_ns),
		       show_share(profile->host.waits_ns, profile->wall_ns));
		printf("  %s\n", show_no_split(profile));
		return;
	}
	show_split_tenths(&profile->split, tenths);
	for (int part = 0; part < SHOW_PARTS; part++)
		bar(show_parts[part].name, show_part_ns(&profile->split, part), tenths[part],
		    show_parts[part].note);
	if (profile->split.startup_ns < 0)
		puts("  written by an older hotpin: CUDA start-up, and calls that neither copy nor wait,\n"
		     "  are in host code");
	printf("  %s\n", show_verdict(profile, on_host_code));

	int64_t moving = profile_add(profile->split.transfer_ns, profile->split.overlap_ns);
	if (moving > 0)
		printf("  %s of transfers hidden under kernels; the device works %s of the time\n",
		       show_share(profile->split.overlap_ns, moving),
		       show_share(profile_add(moving, profile->split.kernel_ns), profile->wall_ns));
}

static void host(const struct profile *profile)
{
	if (profile->host.copy_calls_ns <= 0)
		return;
	printf("\ncalls that copy took the host %s", show_time(profile->host.copy_calls_ns));
	if (profile->host.copying_ns >= 0) {
		printf(":\n  copying %s", show_time(profile->host.copying_ns));
		if (profile->host.staging_ns >= 0)
			printf(" (staging about %s)", show_time(profile->host.staging_ns));
		printf(", waiting for kernels %s, overhead %s",
		       show_time(profile->host.waiting_for_kernels_ns),
		       show_time(profile->host.overhead_ns));
	}
	putchar('\n');
	if (profile->host.waits != 0)
		printf("%s calls that wait took it %s\n", show_count(profile->host.waits),
		       show_time(profile->host.waits_ns));
}

static void entries(const char *title, const struct profile_entries *list)
{
	bool any = false;

	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].value == 0)
			continue;
		printf("%s  %-40s %14s\n", any ? "" : title, show_text(list->items[i].name, 40),
		       show_count(list->items[i].value));
		any = true;
	}
}

static void tail(const struct profile *profile)
{
	const struct profile_entries *options = &profile->options;
	int64_t cost =
		profile_add(profile_add(profile->overhead.start_ns, profile->overhead.callbacks_ns),
			    profile->overhead.appends_ns);

	printf("\nprofiling cost the program about %s (%s), CUPTI's own work excepted\n",
	       show_time(cost), show_share(cost, profile->wall_ns));
	if (profile->records.read >= 0)
		printf("  %s records, %s dropped by CUPTI, %s incomplete, %s untimed\n",
		       show_count(profile->records.read), show_count(profile->records.dropped),
		       show_count(profile->records.incomplete),
		       show_count(profile->records.untimed));
	if (!all_rows) {
		puts("  counters, calls and options: --all");
		return;
	}
	entries("\ncounters that are not 0\n", &profile->counters);
	if (options->count > 0)
		puts("\noptions");
	for (size_t i = 0; i < options->count; i++)
		printf("  %s=%s\n", show_text(options->items[i].name, 40),
		       show_text(options->items[i].text, 200));
}

static void details(struct profile *profile)
{
	if (!profile_used_no_device(profile))
		host(profile);
	report_tables(profile, all_rows);
	tail(profile);
}

static void report_one(struct profile *profile)
{
	struct advice_list advice;

	advice_make(profile, &advice);
	wall(profile, advice_on_host_code(profile, &advice));
	report_advice(profile, &advice, all_rows);
	details(profile);
}

/* All ranks wait for the slowest: advice for that one counts.  Returns advice_on_host_code(). */
static const char *report_slowest(const struct profile *profiles, size_t count)
{
	const struct profile *slowest = &profiles[0];
	struct advice_list advice;

	for (size_t i = 1; i < count; i++)
		if (profiles[i].wall_ns > slowest->wall_ns)
			slowest = &profiles[i];
	advice_make(slowest, &advice);
	printf("\nthe slowest: %s\n", show_text(slowest->path, 200));
	report_advice(slowest, &advice, all_rows);
	return advice_on_host_code(slowest, &advice);
}

static int report_ranks(struct profile *profiles, size_t count, bool force)
{
	struct profile merged;

	if (ranks_check(profiles, count,
			force ? NULL : "; `hotpin compare` is for stages, --force adds them up") <
	    0)
		return EXIT_FAILURE;
	head(&profiles[0]);
	notes(&profiles[0]);
	/* Of a thousand ranks, those that have something to say. */
	for (size_t i = 1; i < count; i++) {
		if (!has_notes(&profiles[i]))
			continue;
		head(&profiles[i]);
		notes(&profiles[i]);
	}
	ranks_show(profiles, count);
	ranks_merge(profiles, count, &merged);
	const char *on_host_code = report_slowest(profiles, count);
	puts("\nall ranks together: times are added up");
	for (size_t i = 0; i < merged.warning_count; i++)
		printf("  note: %s\n", merged.warnings[i]);
	wall(&merged, on_host_code);
	details(&merged);
	profile_close(&merged);
	return 0;
}

int hotpin_report(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "force", no_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool force = false, json = false;
	int option, status = 0;

	while ((option = getopt_long(argc, argv, "ah", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("report");
		if (option == '?')
			return hotpin_misused("report");
		all_rows |= option == 'a';
		force |= option == 'f';
		json |= option == 'j';
	}
	if (optind == argc) {
		hotpin_say("no profile to read");
		return hotpin_misused("report");
	}

	size_t count = (size_t)(argc - optind), opened = 0;
	struct profile *profiles = calloc(count, sizeof(*profiles));
	if (profiles == NULL)
		return EXIT_FAILURE;
	for (; opened < count; opened++)
		if (profile_open(argv[optind + (int)opened], &profiles[opened]) < 0)
			break;
	if (opened < count)
		status = EXIT_FAILURE;
	if (status == 0)
		names_resolve(profiles, count, true);
	if (status == 0 && json)
		report_json(profiles, opened);
	count = json ? 0 : ranks_only(profiles, opened);
	if (status == 0 && count == 1) {
		head(&profiles[0]);
		notes(&profiles[0]);
		report_one(&profiles[0]);
	} else if (status == 0 && !json) {
		status = report_ranks(profiles, count, force);
	}
	for (size_t i = 0; i < opened; i++)
		profile_close(&profiles[i]);
	free(profiles);
	return status;
}
