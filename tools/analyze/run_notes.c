/*
 * run_notes.c - sentences on a run: what its figures lack, and how long calls block the host.
 */
#include "analyze/run_notes.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdio.h>

void run_notes(const struct profile *profile, void (*say)(void *arg, const char *text), void *arg)
{
	char text[64];

	if (profile_is_unended(profile))
		say(arg, "the program was still running when this was written, or was killed; all "
			 "figures end there");
	if (profile->process.exit_status > 0) {
		snprintf(text, sizeof(text), "the program exited with %s",
			 text_count(profile->process.exit_status));
		say(arg, text);
	}
	if (profile->environment.stand_in)
		say(arg, "this ran on the stand-in device; all device times are modeled");
	if (profile->truncated)
		say(arg, "records are missing: CUPTI did not deliver all before the program ended");
	for (size_t i = 0; i < profile->warning_count; i++)
		say(arg, text_name(profile->warnings[i], 200));
}

static void count(void *arg, const char *text)
{
	size_t *number = arg;

	(void)text;
	++*number;
}

bool run_has_notes(const struct profile *profile)
{
	size_t number = 0;

	run_notes(profile, count, &number);
	return number > 0;
}

void run_blocked(const struct profile *profile, void (*say)(void *arg, const char *text), void *arg)
{
	const int64_t ns[] = { profile->host.copying_ns, profile->host.waiting_for_kernels_ns,
			       profile->host.overhead_ns };
	static const char *const names[] = { "copying", "for kernels", "overhead" };
	char text[300];
	size_t used;

	if (profile->host.copy_calls_ns > 0) {
		used = (size_t)snprintf(text, sizeof(text), "Blocked in copy calls for %s",
					text_time(profile->host.copy_calls_ns));
		for (size_t i = 0, parts = 0; i < HP_LEN(ns); i++)
			if (ns[i] > 0)
				used += (size_t)snprintf(text + used, sizeof(text) - used,
							 "%s %s %s", parts++ > 0 ? "," : ":",
							 text_time(ns[i]), names[i]);
		snprintf(text + used, sizeof(text) - used, ".");
		say(arg, text);
	}
	if (profile->host.copy_calls_ns > 0 && profile->host.staging_ns > 0) {
		snprintf(text, sizeof(text),
			 "About %s of it is staging: the driver copies pageable memory.",
			 text_time(profile->host.staging_ns));
		say(arg, text);
	}
	if (profile->host.waits > 0) {
		snprintf(text, sizeof(text), "Blocked in waits for %s, %s.",
			 text_time(profile->host.waits_ns),
			 text_several(profile->host.waits, "call", "calls"));
		say(arg, text);
	}
}
