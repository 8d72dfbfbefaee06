/*
 * compare_gate.c - may these figures stand side by side?
 *
 * Against it: what makes the difference another than that of the program.  Worth a note: what may.
 */
#include "compare/compare.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool differ(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) != 0;
}

/* Older profiles have more than these digits of the hash. */
#define HASH_DIGITS 4

static bool differ_in_hash(const char *a, const char *b)
{
	return a != NULL && b != NULL && strncmp(a, b, HASH_DIGITS) != 0;
}

static void say(const struct compare_listener *to, enum compare_remark kind, const char *format,
		...) __attribute__((format(printf, 3, 4)));

static void say(const struct compare_listener *to, enum compare_remark kind, const char *format,
		...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	to->say(to->arg, kind, text);
}

static int object(const struct compare_listener *to, const struct compare_stage *first,
		  const struct compare_stage *other, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static int object(const struct compare_listener *to, const struct compare_stage *first,
		  const struct compare_stage *other, const char *format, ...)
{
	char why[512];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	say(to, COMPARE_AGAINST, "%s and %s are not comparable: %s", compare_name(other),
	    compare_name(first), why);
	return 1;
}

static int refuse(const struct compare_listener *to, const struct compare_stage *one,
		  const struct compare_stage *two)
{
	const struct profile *first = one->profile, *other = two->profile;
	int reasons = 0;

	if (first->environment.stand_in != other->environment.stand_in)
		reasons += object(to, one, two,
				  "one ran on the stand-in device, whose times are modeled");
	else if (differ(first->environment.device, other->environment.device))
		reasons += object(to, one, two, "%s is not %s",
				  text_name(other->environment.device, 64),
				  text_name(first->environment.device, 64));
	if (differ_in_hash(first->process.arguments_hash, other->process.arguments_hash))
		reasons += object(to, one, two, "the arguments of the program differ");
	if (first->process.ranks != other->process.ranks && first->process.ranks >= 0 &&
	    other->process.ranks >= 0)
		reasons +=
			object(to, one, two, "%s ranks are not %s",
			       text_count(other->process.ranks), text_count(first->process.ranks));
	else if (differ(first->process.rank, other->process.rank))
		reasons += object(to, one, two, "rank %s is not rank %s",
				  text_name(other->process.rank, 16),
				  text_name(first->process.rank, 16));
	return reasons;
}

/* Options that `hotpin run --observe` sets; the heap's size may also come from the environment. */
static const char *const observing[][2] = {
	{ "HOTPIN_PIN", "0" },
	{ "HOTPIN_RING", "0" },
	{ "HOTPIN_ASYNC", "0" },
	{ "HOTPIN_HEAP_MIN", NULL },
};

bool compare_was_observed(const struct profile *profile)
{
	for (size_t i = 0; i < HP_LEN(observing); i++) {
		const char *value = profile_option(profile, observing[i][0]);

		/* Profiles of earlier versions state HOTPIN_ASYNC=0 as "off". */
		if (observing[i][1] != NULL &&
		    (value == NULL ||
		     (strcmp(value, observing[i][1]) != 0 && strcmp(value, "off") != 0)))
			return false;
	}
	return true;
}

static bool is_of_observing(const char *name)
{
	for (size_t i = 0; i < HP_LEN(observing); i++)
		if (strcmp(name, observing[i][0]) == 0)
			return true;
	return false;
}

static void note_options(const struct compare_listener *to, const struct compare_stage *one,
			 const struct compare_stage *two)
{
	const struct profile *first = one->profile, *other = two->profile;
	bool told = compare_was_observed(first) != compare_was_observed(other);

	if (told)
		say(to, COMPARE_NOTE, "%s ran with --observe, %s did not",
		    compare_name(compare_was_observed(first) ? one : two),
		    compare_name(compare_was_observed(first) ? two : one));
	for (size_t i = 0; i < first->options.count; i++) {
		const struct profile_entry *entry = &first->options.items[i];
		const char *value = profile_option(other, entry->name);

		if (strcmp(entry->name, "HOTPIN_OUT") == 0 ||
		    strcmp(entry->name, "HOTPIN_STAGE") == 0 ||
		    strncmp(entry->name, "HOTPIN_LOG", 10) == 0 ||
		    (told && is_of_observing(entry->name)) || !differ(entry->text, value))
			continue;
		say(to, COMPARE_NOTE, "%s is \"%s\" in %s, \"%s\" in %s",
		    text_name(entry->name, 40), text_name(entry->text, 40), compare_name(one),
		    text_name(value, 40), compare_name(two));
	}
}

static void note(const struct compare_listener *to, const struct compare_stage *one,
		 const struct compare_stage *two)
{
	const struct profile *first = one->profile, *other = two->profile;

	if (differ(first->process.host, other->process.host))
		say(to, COMPARE_NOTE, "%s ran on %s, %s on %s", compare_name(two),
		    text_name(other->process.host, 64), compare_name(one),
		    text_name(first->process.host, 64));
	if (first->process.cpus != other->process.cpus)
		say(to, COMPARE_NOTE, "%s could use %s CPUs, %s %s", compare_name(two),
		    text_count(other->process.cpus), compare_name(one),
		    text_count(first->process.cpus));
	if (first->environment.driver_version != other->environment.driver_version &&
	    !profile_used_no_device(first) && !profile_used_no_device(other))
		say(to, COMPARE_NOTE, "the driver of %s supports CUDA %s, that of %s CUDA %s",
		    compare_name(two), text_cuda_version(other->environment.driver_version),
		    compare_name(one), text_cuda_version(first->environment.driver_version));
	if (strcmp(profile_view(first), profile_view(other)) != 0)
		say(to, COMPARE_NOTE, "%s has no device times, so its copies are timed at the call",
		    compare_name(strcmp(profile_view(first), "cupti") == 0 ? two : one));
	if (differ(first->hotpin_version, other->hotpin_version))
		say(to, COMPARE_NOTE, "%s was measured by hotpin %s, %s by %s", compare_name(two),
		    text_name(other->hotpin_version, 16), compare_name(one),
		    text_name(first->hotpin_version, 16));
	note_options(to, one, two);
}

/* Reports programs that did not end, or ended differently: a crash is not faster. */
static int ends(const struct compare_listener *to, const struct compare_stage *stages, size_t count)
{
	int64_t all = stages[0].runs[0]->process.exit_status;
	bool alike = true;
	int reasons = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < stages[i].run_count; j++)
			alike &= stages[i].runs[j]->process.exit_status == all;
	if (alike && all > 0)
		say(to, COMPARE_NOTE, "all programs exited with %s", text_count(all));
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < stages[i].run_count; j++) {
			const struct profile *run = stages[i].runs[j];
			const char *path = text_name(run->path, 80);

			if (profile_is_unended(run)) {
				say(to, COMPARE_AGAINST,
				    "%s is incomplete: its program was still running, or was killed",
				    path);
				reasons++;
			}
			if (!alike && run->process.exit_status > 0) {
				say(to, COMPARE_AGAINST,
				    "the program of %s exited with %s, others did not", path,
				    text_count(run->process.exit_status));
				reasons++;
			}
		}
	return reasons;
}

static bool is_all_stand_in(const struct compare_stage *stages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!stages[i].profile->environment.stand_in)
			return false;
	return true;
}

static void introduce(const struct compare_listener *to, const struct compare_stage *stage)
{
	char more[100] = "";

	if (stage->repeated)
		snprintf(more, sizeof(more), " and %zu more, %s to %s", stage->run_count - 1,
			 text_time(stage->least_ns), text_time(stage->most_ns));
	else if (stage->run_count > 1)
		snprintf(more, sizeof(more), " and %zu more ranks, added up", stage->run_count - 1);
	say(to, COMPARE_STAGE, "%-32s %s%s", text_name(stage->profile->stage, 32),
	    text_name(stage->profile->path, 60), more);
}

int compare_gate(const struct compare_listener *to, const struct compare_stage *stages,
		 size_t count)
{
	for (size_t i = 0; i < count; i++)
		introduce(to, &stages[i]);
	if (is_all_stand_in(stages, count))
		say(to, COMPARE_NOTE,
		    "these ran on the stand-in device; all device times are modeled");
	int reasons = ends(to, stages, count);
	for (size_t i = 0; i < count; i++) {
		if (stages[i].profile->truncated)
			say(to, COMPARE_NOTE, "records of %s are missing",
			    compare_name(&stages[i]));
		if (i == 0)
			continue;
		if (profile_used_no_device(stages[i].profile) &&
		    !profile_used_no_device(stages[i - 1].profile))
			say(to, COMPARE_NOTE, "%s used no device, but %s did; check that it worked",
			    compare_name(&stages[i]), compare_name(&stages[i - 1]));
		reasons += refuse(to, &stages[0], &stages[i]);
		note(to, &stages[0], &stages[i]);
	}
	return reasons;
}
