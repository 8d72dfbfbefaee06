/*
 * run_notes.c - sentences on a run: what its figures lack, and how it was profiled.
 */
#include "analyze/run_notes.h"
#include "profile/texts.h"

#include <string.h>

const char *run_notes(const struct profile *profile)
{
	const char *notes = NULL;

	if (profile_is_unended(profile))
		text_add_line(
			&notes,
			"the program was still running when this was written, or was killed; all "
			"figures end there");
	if (profile->process.exit_status > 0)
		text_add_line(&notes, "the program exited with %s",
			      text_count(profile->process.exit_status));
	if (profile->environment.stand_in)
		text_add_line(&notes,
			      "this ran on the stand-in device; all device times are modeled");
	if (profile->truncated)
		text_add_line(
			&notes,
			"records are missing: CUPTI did not deliver all before the program ended");
	for (size_t i = 0; i < profile->warning_count; i++)
		text_add_line(&notes, "%s", text_name(profile->warnings[i], 200));
	return notes;
}

/* Returns ", dropped by CUPTI: 7"; "" if there are none. */
static const char *records(const char *which, int64_t count)
{
	return text_if(count > 0, ", %s: %s", which, text_count(count));
}

const char *run_facts(const struct profile *profile)
{
	int64_t cost = profile_cost_ns(profile), exit_ns = profile->overhead.exit_ns;
	bool used = !profile_used_no_device(profile);
	bool device_times = used && strcmp(profile_view(profile), "cupti") == 0;
	const char *facts = NULL;

	text_add_line(&facts, "%s: pid %lld on %s, ended %s; %s%s; hotpin %s",
		      text_name(profile->path, 200), (long long)profile->process.pid,
		      text_name(profile->process.host, 64), text_when(profile->process.ended_utc),
		      !used          ? "no CUPTI"
		      : device_times ? "CUPTI "
				     : "times at the call",
		      device_times ? text_cupti_version(profile->environment.cupti_version) : "",
		      text_name(profile->hotpin_version, 16));
	if (profile->coverage.cupti_copies >= 0)
		text_add_line(&facts, "Copies: %s seen by CUPTI, %s by hotpin.",
			      text_count(profile->coverage.cupti_copies),
			      text_count(profile->coverage.hotpin_copies));
	if (profile->records.read >= 0)
		text_add_line(&facts, "Records: %s read%s%s%s.", text_count(profile->records.read),
			      records("dropped by CUPTI", profile->records.dropped),
			      records("incomplete", profile->records.incomplete),
			      records("untimed", profile->records.untimed));
	if (cost >= 0)
		text_add_line(&facts, "Profiling%s cost about %s (%s)%s, without CUPTI's own work.",
			      profile_is_part(profile) ? " the whole run" : "", text_time(cost),
			      text_share(cost, profile->wall_ns),
			      text_if(exit_ns > 0, ", %s of it at exit", text_time(exit_ns)));
	return facts;
}
