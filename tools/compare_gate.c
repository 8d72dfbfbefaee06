/*
 * compare_gate.c - may these figures stand side by side?
 *
 * Against it: what makes the difference another than that of the program.  Worth a note: what may.
 */
#include "compare.h"
#include "hotpin.h"
#include "show.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool differ(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) != 0;
}

static int against(size_t stage, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int against(size_t stage, const char *format, ...)
{
	char why[512];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	hotpin_say("stage %zu and stage 1 are not comparable: %s", stage, why);
	return 1;
}

static int refuse(const struct profile *first, const struct profile *other, size_t stage)
{
	int reasons = 0;

	if (first->environment.stand_in != other->environment.stand_in)
		reasons +=
			against(stage, "one ran on the stand-in device, whose times are modelled");
	else if (differ(first->environment.device, other->environment.device))
		reasons += against(stage, "%s is not %s", show_text(other->environment.device, 64),
				   show_text(first->environment.device, 64));
	if (differ(first->process.arguments_hash, other->process.arguments_hash))
		reasons += against(stage, "the arguments of the program differ");
	if (first->process.ranks != other->process.ranks && first->process.ranks >= 0 &&
	    other->process.ranks >= 0)
		reasons += against(stage, "%s ranks are not %s", show_count(other->process.ranks),
				   show_count(first->process.ranks));
	else if (differ(first->process.rank, other->process.rank))
		reasons +=
			against(stage, "rank %s is not rank %s", show_text(other->process.rank, 16),
				show_text(first->process.rank, 16));
	return reasons;
}

static void note_options(FILE *to, const struct profile *first, const struct profile *other,
			 size_t stage)
{
	for (size_t i = 0; i < first->options.count; i++) {
		const struct profile_entry *a = &first->options.items[i];

		if (strcmp(a->name, "HOTPIN_OUT") == 0 || strcmp(a->name, "HOTPIN_STAGE") == 0 ||
		    strncmp(a->name, "HOTPIN_LOG", 10) == 0)
			continue;
		for (size_t j = 0; j < other->options.count; j++) {
			const struct profile_entry *b = &other->options.items[j];

			if (strcmp(a->name, b->name) == 0 && differ(a->text, b->text))
				fprintf(to,
					"  note: %s is \"%s\" in stage 1, \"%s\" in stage %zu\n",
					show_text(a->name, 40), show_text(a->text, 40),
					show_text(b->text, 40), stage);
		}
	}
}

static void note(FILE *to, const struct profile *first, const struct profile *other, size_t stage)
{
	if (differ(first->process.program, other->process.program))
		fprintf(to, "  note: the program of stage 1 is %s, that of stage %zu is %s\n",
			show_text(first->process.program, 32), stage,
			show_text(other->process.program, 32));
	if (differ(first->process.host, other->process.host))
		fprintf(to, "  note: stage %zu ran on %s, stage 1 on %s\n", stage,
			show_text(other->process.host, 64), show_text(first->process.host, 64));
	if (first->process.cpus != other->process.cpus)
		fprintf(to, "  note: stage %zu might run on %s processors, stage 1 on %s\n", stage,
			show_count(other->process.cpus), show_count(first->process.cpus));
	if (first->environment.driver_version != other->environment.driver_version &&
	    !profile_used_no_device(first) && !profile_used_no_device(other))
		fprintf(to, "  note: stage %zu had a driver for CUDA %s, stage 1 for %s\n", stage,
			show_cuda_version(other->environment.driver_version),
			show_cuda_version(first->environment.driver_version));
	if (strcmp(profile_view(first), profile_view(other)) != 0)
		fprintf(to,
			"  note: there are no device times of stage %d: its copies are timed at the "
			"call\n",
			strcmp(profile_view(first), "cupti") == 0 ? (int)stage : 1);
	if (differ(first->hotpin_version, other->hotpin_version))
		fprintf(to, "  note: stage %zu was measured by hotpin %s, stage 1 by %s\n", stage,
			show_text(other->hotpin_version, 16), show_text(first->hotpin_version, 16));
	note_options(to, first, other, stage);
}

int compare_gate(FILE *to, const struct compare_stage *stages, size_t count)
{
	int reasons = 0;

	fputs("stages\n", to);
	for (size_t i = 0; i < count; i++) {
		const struct profile *profile = stages[i].profile;

		fprintf(to, "  %zu  %-32s %s", i + 1, show_text(profile->stage, 32),
			show_text(profile->path, 60));
		if (stages[i].repeated)
			fprintf(to, " and %zu more, %s to %s", stages[i].run_count - 1,
				show_time(stages[i].least_ns), show_time(stages[i].most_ns));
		else if (stages[i].run_count > 1)
			fprintf(to, " and %zu more ranks, added up", stages[i].run_count - 1);
		fputc('\n', to);
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < stages[i].run_count; j++)
			if (stages[i].runs[j]->state != NULL &&
			    strcmp(stages[i].runs[j]->state, "running") == 0) {
				hotpin_say("%s ends too early: its program had not ended, or was "
					   "killed",
					   show_text(stages[i].runs[j]->path, 80));
				reasons++;
			}
		if (stages[i].profile->truncated)
			fprintf(to, "  note: records of stage %zu are missing\n", i + 1);
		if (i == 0)
			continue;
		reasons += refuse(stages[0].profile, stages[i].profile, i + 1);
		note(to, stages[0].profile, stages[i].profile, i + 1);
	}
	return reasons;
}
