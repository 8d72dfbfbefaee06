/*
 * compare_gate.c - may these figures stand side by side?
 *
 * Against it: what makes the difference another than that of the program.  Worth a note: what may.
 */
#include "compare/compare.h"
#include "profile/texts.h"
#include "base/parse.h"

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

static void refuse_two(struct compare_remarks *to, const struct compare_stage *first,
		       const struct compare_stage *other, const char *why)
{
	text_add_line(&to->against, "%s and %s are not comparable: %s", compare_name(other),
		      compare_name(first), why);
}

static void refuse(struct compare_remarks *to, const struct compare_stage *one,
		   const struct compare_stage *two)
{
	const struct profile *first = one->profile, *other = two->profile;

	if (first->environment.stand_in != other->environment.stand_in)
		refuse_two(to, one, two, "one ran on the stand-in device, whose times are modeled");
	else if (differ(first->environment.device, other->environment.device))
		refuse_two(to, one, two,
			   text_made("%s is not %s", text_name(other->environment.device, 64),
				     text_name(first->environment.device, 64)));
	if (differ_in_hash(first->process.arguments_hash, other->process.arguments_hash))
		refuse_two(to, one, two, "the arguments of the program differ");
	if (first->process.ranks != other->process.ranks && first->process.ranks >= 0 &&
	    other->process.ranks >= 0)
		refuse_two(to, one, two,
			   text_made("%s ranks are not %s", text_count(other->process.ranks),
				     text_count(first->process.ranks)));
	else if (differ(first->process.rank, other->process.rank))
		refuse_two(to, one, two,
			   text_made("rank %s is not rank %s", text_name(other->process.rank, 16),
				     text_name(first->process.rank, 16)));
}

/* The options that `hotpin run --observe` sets to 0. */
static const char *const observing[] = { "HOTPIN_PIN", "HOTPIN_RING", "HOTPIN_ASYNC" };

bool compare_was_observed(const struct profile *profile)
{
	for (size_t i = 0; i < HP_LEN(observing); i++) {
		const char *value = profile_option(profile, observing[i]);

		if (value == NULL || strcmp(value, "0") != 0)
			return false;
	}
	return true;
}

/* True for an option whose difference says nothing more.  Observing also sets that of the heap. */
static bool is_told(const char *name, bool one_was_observed)
{
	static const char *const never[] = { "HOTPIN_OUT", "HOTPIN_STAGE", "HOTPIN_LOG" };
	bool told = one_was_observed && strcmp(name, "HOTPIN_HEAP_MIN") == 0;

	for (size_t i = 0; i < HP_LEN(never); i++)
		told |= strncmp(name, never[i], strlen(never[i])) == 0;
	for (size_t i = 0; i < HP_LEN(observing); i++)
		told |= one_was_observed && strcmp(name, observing[i]) == 0;
	return told;
}

static void note_options(struct compare_remarks *to, const struct compare_stage *one,
			 const struct compare_stage *two)
{
	const struct profile *first = one->profile, *other = two->profile;
	bool was_observed = compare_was_observed(first);
	bool one_was_observed = was_observed != compare_was_observed(other);

	if (one_was_observed)
		text_add_line(&to->notes, "%s ran with --observe, %s did not",
			      compare_name(was_observed ? one : two),
			      compare_name(was_observed ? two : one));
	for (size_t i = 0; i < first->options.count; i++) {
		const struct profile_entry *entry = &first->options.items[i];
		const char *value = profile_option(other, entry->name);

		if (!is_told(entry->name, one_was_observed) && differ(entry->text, value))
			text_add_line(&to->notes, "%s is \"%s\" in %s, \"%s\" in %s",
				      text_name(entry->name, 40), text_name(entry->text, 40),
				      compare_name(one), text_name(value, 40), compare_name(two));
	}
}

static void note_runs(struct compare_remarks *to, const struct compare_stage *one,
		      const struct compare_stage *two)
{
	const struct profile *first = one->profile, *other = two->profile;
	const char *is = compare_name(two), *was = compare_name(one);

	if (differ(first->process.host, other->process.host))
		text_add_line(&to->notes, "%s ran on %s, %s on %s", is,
			      text_name(other->process.host, 64), was,
			      text_name(first->process.host, 64));
	if (first->process.cpus != other->process.cpus)
		text_add_line(&to->notes, "%s could use %s CPUs, %s %s", is,
			      text_count(other->process.cpus), was,
			      text_count(first->process.cpus));
	if (first->environment.driver_version != other->environment.driver_version &&
	    !profile_used_no_device(first) && !profile_used_no_device(other))
		text_add_line(&to->notes, "the driver of %s supports CUDA %s, that of %s CUDA %s",
			      is, text_cuda_version(other->environment.driver_version), was,
			      text_cuda_version(first->environment.driver_version));
	if (strcmp(profile_view(first), profile_view(other)) != 0)
		text_add_line(&to->notes,
			      "%s has no device times, so its copies are timed at the call",
			      strcmp(profile_view(first), "cupti") == 0 ? is : was);
	if (differ(first->hotpin_version, other->hotpin_version))
		text_add_line(&to->notes, "%s was measured by hotpin %s, %s by %s", is,
			      text_name(other->hotpin_version, 16), was,
			      text_name(first->hotpin_version, 16));
	note_options(to, one, two);
}

/* Reports programs that did not end, or ended differently: a crash is not faster. */
static void ends(struct compare_remarks *to, const struct compare_stage *stages, size_t count)
{
	int64_t all = stages[0].runs[0]->process.exit_status;
	bool alike = true;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < stages[i].run_count; j++)
			alike &= stages[i].runs[j]->process.exit_status == all;
	if (alike && all > 0)
		text_add_line(&to->notes, "all programs exited with %s", text_count(all));
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < stages[i].run_count; j++) {
			const struct profile *run = stages[i].runs[j];
			const char *path = text_name(run->path, 80);

			if (profile_is_unended(run))
				text_add_line(
					&to->against,
					"%s is incomplete: its program was still running, or was "
					"killed",
					path);
			if (!alike && run->process.exit_status > 0)
				text_add_line(&to->against,
					      "the program of %s exited with %s, others did not",
					      path, text_count(run->process.exit_status));
		}
}

static bool is_all_stand_in(const struct compare_stage *stages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!stages[i].profile->environment.stand_in)
			return false;
	return true;
}

static void introduce(struct compare_remarks *to, const struct compare_stage *stage)
{
	const char *more =
		stage->repeated
			? text_made(" and %zu more, %s to %s", stage->run_count - 1,
				    text_time(stage->walls.least), text_time(stage->walls.most))
		: stage->run_count > 1
			? text_made(" and %zu more ranks, added up", stage->run_count - 1)
			: "";

	text_add_line(&to->stages, "%-32s %s%s", text_name(stage->profile->stage, 32),
		      text_name(stage->profile->path, 60), more);
}

struct compare_remarks compare_gate(const struct compare_stage *stages, size_t count)
{
	struct compare_remarks remarks = { NULL }, *to = &remarks;

	for (size_t i = 0; i < count; i++)
		introduce(to, &stages[i]);
	if (is_all_stand_in(stages, count))
		text_add_line(&to->notes,
			      "these ran on the stand-in device; all device times are modeled");
	ends(to, stages, count);
	for (size_t i = 0; i < count; i++) {
		if (stages[i].profile->truncated)
			text_add_line(&to->notes, "records of %s are missing",
				      compare_name(&stages[i]));
		if (i == 0)
			continue;
		if (profile_used_no_device(stages[i].profile) &&
		    !profile_used_no_device(stages[i - 1].profile))
			text_add_line(&to->notes,
				      "%s used no device, but %s did; check that it worked",
				      compare_name(&stages[i]), compare_name(&stages[i - 1]));
		refuse(to, &stages[0], &stages[i]);
		note_runs(to, &stages[0], &stages[i]);
	}
	return remarks;
}
