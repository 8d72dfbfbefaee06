/*
 * run_notes.c - sentences on a run: what its figures lack, how long calls block the host, and how
 * it was profiled.
 */
#include "analyze/run_notes.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdio.h>
#include <string.h>

void run_notes(const struct profile *profile, void (*say)(void *arg, const char *text), void *arg)
{
	if (profile_is_unended(profile))
		say(arg, "the program was still running when this was written, or was killed; all "
			 "figures end there");
	if (profile->process.exit_status > 0)
		say(arg, text_made("the program exited with %s",
				   text_count(profile->process.exit_status)));
	if (profile->environment.stand_in)
		say(arg, "this ran on the stand-in device; all device times are modeled");
	if (profile->truncated)
		say(arg, "records are missing: CUPTI did not deliver all before the program ended");
	for (size_t i = 0; i < profile->warning_count; i++)
		say(arg, text_name(profile->warnings[i], 200));
}

bool run_has_notes(const struct profile *profile)
{
	return profile_is_unended(profile) || profile->process.exit_status > 0 ||
	       profile->environment.stand_in || profile->truncated || profile->warning_count > 0;
}

void run_blocked(const struct profile *profile, void (*say)(void *arg, const char *text), void *arg)
{
	const int64_t ns[] = { profile->host.copying_ns, profile->host.waiting_for_kernels_ns,
			       profile->host.overhead_ns };
	static const char *const names[] = { "copying", "for kernels", "overhead" };
	const struct profile_host *host = &profile->host;
	char parts[200] = "";
	size_t used = 0;

	for (size_t i = 0; i < HP_LEN(ns); i++)
		if (ns[i] > 0)
			used += (size_t)snprintf(parts + used, sizeof(parts) - used, "%s %s %s",
						 used > 0 ? "," : ":", text_time(ns[i]), names[i]);
	if (host->copy_calls_ns > 0)
		say(arg, text_made("Blocked in copy calls for %s%s.",
				   text_time(host->copy_calls_ns), parts));
	if (host->copy_calls_ns > 0 && host->staging_ns > 0)
		say(arg, text_made("About %s of it is staging: the driver copies pageable memory.",
				   text_time(host->staging_ns)));
	if (host->waits > 0)
		say(arg, text_made("Blocked in waits for %s, %s.", text_time(host->waits_ns),
				   text_several(host->waits, "call", "calls")));
}

/* Returns ", dropped by CUPTI: 7"; "" if there are none. */
static const char *records(const char *which, int64_t count)
{
	return count > 0 ? text_made(", %s: %s", which, text_count(count)) : "";
}

void run_facts(const struct profile *profile, void (*say)(void *arg, const char *text), void *arg)
{
	int64_t cost = profile_cost_ns(profile), exit_ns = profile->overhead.exit_ns;
	bool used = !profile_used_no_device(profile);
	bool device_times = used && strcmp(profile_view(profile), "cupti") == 0;

	say(arg,
	    text_made("%s: pid %lld on %s, ended %s; %s%s; hotpin %s",
		      text_name(profile->path, 200), (long long)profile->process.pid,
		      text_name(profile->process.host, 64), text_when(profile->process.ended_utc),
		      !used          ? "no CUPTI"
		      : device_times ? "CUPTI "
				     : "times at the call",
		      device_times ? text_cupti_version(profile->environment.cupti_version) : "",
		      text_name(profile->hotpin_version, 16)));
	if (profile->coverage.cupti_copies >= 0)
		say(arg, text_made("Copies: %s seen by CUPTI, %s by hotpin.",
				   text_count(profile->coverage.cupti_copies),
				   text_count(profile->coverage.hotpin_copies)));
	if (profile->records.read >= 0)
		say(arg, text_made("Records: %s read%s%s%s.", text_count(profile->records.read),
				   records("dropped by CUPTI", profile->records.dropped),
				   records("incomplete", profile->records.incomplete),
				   records("untimed", profile->records.untimed)));
	if (cost >= 0)
		say(arg, text_made("Profiling%s cost about %s (%s)%s, without CUPTI's own work.",
				   profile_is_part(profile) ? " the whole run" : "",
				   text_time(cost), text_share(cost, profile->wall_ns),
				   exit_ns > 0 ? text_made(", %s of it at exit", text_time(exit_ns))
					       : ""));
}
