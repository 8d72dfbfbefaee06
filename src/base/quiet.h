/*
 * Writes that raise no signal.
 *
 * A write to a pipe without a reader, or to a file at its size limit, raises a signal that the
 * program would not get without hotpin.
 */
#ifndef HP_BASE_QUIET_H
#define HP_BASE_QUIET_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

struct hp_quiet {
	sigset_t before, ours;
};

/* Writes of this thread raise no signal until hp_quiet_end(); they only fail. */
static inline struct hp_quiet hp_quiet_begin(void)
{
	static const int raised[] = { SIGPIPE, SIGXFSZ };
	struct hp_quiet quiet;
	sigset_t pending;

	sigemptyset(&quiet.ours);
	sigpending(&pending);
	/* A signal that is already pending is the program's. */
	for (int i = 0; i < 2; i++)
		if (!sigismember(&pending, raised[i]))
			sigaddset(&quiet.ours, raised[i]);
	pthread_sigmask(SIG_BLOCK, &quiet.ours, &quiet.before);
	return quiet;
}

/* Discards the signals that the writes raised; errno is kept. */
static inline void hp_quiet_end(const struct hp_quiet *quiet)
{
	const struct timespec at_once = { 0 };
	int saved = errno;

	while (sigtimedwait(&quiet->ours, NULL, &at_once) > 0)
		continue;
	pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
	errno = saved;
}

#endif
