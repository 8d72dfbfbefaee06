/*
 * effect.c - says in sentences what hotpin did in a run.
 *
 * Actions that did not occur, or that the profile does not record, have no sentence.
 */
#include "effect.h"
#include "show.h"

#include <stdio.h>

static void say_deferred(const struct profile *profile, char *ret)
{
	char removed[80] = "", ahead[80] = "";

	if (profile->effect.waits_removed > 0)
		snprintf(removed, sizeof(removed), ", which removed %s",
			 show_several(profile->effect.waits_removed, "wait", "waits"));
	if (profile->effect.ahead_ns > 0)
		snprintf(ahead, sizeof(ahead), "; the host continued for about %s",
			 show_time(profile->effect.ahead_ns));
	snprintf(ret, EFFECT_ROOM, "Deferred %s%s%s.",
		 show_several(profile->effect.deferred_copies, "copy", "copies"), removed, ahead);
}

static void say_pins(const struct profile *profile, char *ret)
{
	char unpinned[64] = "", took[64] = "", saved[64] = "";

	if (profile->effect.unpins > 0)
		snprintf(unpinned, sizeof(unpinned), ", unpinned %s",
			 show_several(profile->effect.unpins, "time", "times"));
	if (profile->effect.spent_ns > 0)
		snprintf(took, sizeof(took), "; that took %s", show_time(profile->effect.spent_ns));
	if (profile->effect.saved_ns > 0)
		snprintf(saved, sizeof(saved), "%s saved about %s",
			 took[0] != '\0' ? " and" : "; that", show_time(profile->effect.saved_ns));
	snprintf(ret, EFFECT_ROOM, "Pinned %s%s%s%s.",
		 show_several(profile->effect.pins, "time", "times"), unpinned, took, saved);
}

size_t effect_say(const struct profile *profile, char ret[EFFECT_SENTENCES][EFFECT_ROOM])
{
	size_t used = 0;

	if (profile->effect.promoted_copies > 0)
		snprintf(ret[used++], EFFECT_ROOM,
			 "Copied %s (%s) from or to buffers that it had pinned.",
			 show_several(profile->effect.promoted_copies, "time", "times"),
			 show_bytes(profile->effect.promoted_bytes));
	if (profile->effect.staged_copies > 0)
		snprintf(ret[used++], EFFECT_ROOM, "Staged %s (%s).",
			 show_several(profile->effect.staged_copies, "copy", "copies"),
			 show_bytes(profile->effect.staged_bytes));
	if (profile->effect.deferred_copies > 0)
		say_deferred(profile, ret[used++]);
	if (profile->effect.pins > 0)
		say_pins(profile, ret[used++]);
	return used;
}
