/*
 * Writes that end nobody: a pipe that is no longer read, or a file at its size limit, would raise a
 * signal that the program would never have got without us.
 *
 * Neither libc nor errno is touched; in signal handlers too.
 */
#ifndef HP_BASE_QUIET_H
#define HP_BASE_QUIET_H

#include "base/bare.h"

#include <signal.h>
#include <time.h>

struct hp_quiet {
	hp_mask before, ours;
};

/* From here to hp_quiet_end() this thread's writes only fail. */
static inline struct hp_quiet hp_quiet_begin(void)
{
	struct hp_quiet quiet = { .ours = HP_MASK_OF(SIGPIPE) | HP_MASK_OF(SIGXFSZ) };
	hp_mask pending = 0;

	hp_bare_mask(SIG_BLOCK, &quiet.ours, &quiet.before);
	hp_bare4(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0, 0);
	/* What is pending already is the program's. */
	quiet.ours &= ~pending;
	return quiet;
}

static inline void hp_quiet_end(const struct hp_quiet *quiet)
{
	const struct timespec at_once = { 0 };

	while (quiet->ours != 0 && hp_bare4(SYS_rt_sigtimedwait, (long)&quiet->ours, 0,
					    (long)&at_once, sizeof(quiet->ours)) > 0)
		continue;
	hp_bare_mask(SIG_SETMASK, &quiet->before, NULL);
}

#endif
