/*
 * hold.c - stops a call in the middle until the test releases it.
 *
 * A held thread waits in call_begin() or call_end() without the engine's lock, like a thread that
 * the kernel has preempted there.  So a test reaches the middle of a call without measuring time.
 */
#include "engine.h"
#pragma GCC visibility push(default)
#include "standin.h"
#pragma GCC visibility pop

#include <errno.h>
#include <stdio.h>

/* Guarded by the engine's lock. */
static struct {
	char name[64]; /* empty: no call is held */
	enum standin_place place;
	int passing;       /* number of calls that pass first */
	int held;          /* threads held now */
	unsigned releases; /* changes with each release */
} hold;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void hold_here(const char *name, int place)
{
	int error = errno;

	if (hold.name[0] == '\0' || (int)hold.place != place || !name_matches(name, hold.name) ||
	    hold.passing-- > 0)
		return;
	hold.name[0] = '\0';
	unsigned releases = hold.releases;
	hold.held++;
	while (releases == hold.releases)
		pthread_cond_wait(&changed, &engine.lock);
	hold.held--;
	errno = error;
}

void standin_hold(const char *name, enum standin_place place, int passing)
{
	pthread_mutex_lock(&engine.lock);
	engine_load();
	snprintf(hold.name, sizeof(hold.name), "%s", name);
	hold.place = place;
	hold.passing = passing;
	pthread_mutex_unlock(&engine.lock);
}

int standin_held(void)
{
	pthread_mutex_lock(&engine.lock);
	int held = hold.held;
	pthread_mutex_unlock(&engine.lock);
	return held;
}

void standin_release(void)
{
	pthread_mutex_lock(&engine.lock);
	hold.name[0] = '\0';
	hold.releases++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&engine.lock);
}
