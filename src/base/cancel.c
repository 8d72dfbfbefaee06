/*
 * cancel.c - counts the pairs of a thread.
 */
#include "base/cancel.h"

#include <assert.h>
#include <pthread.h>

static __thread unsigned depth __attribute__((tls_model("initial-exec")));
static __thread int state_before __attribute__((tls_model("initial-exec")));

void hp_uncancellable_begin(void)
{
	if (depth++ == 0)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_before);
}

void hp_uncancellable_end(void)
{
	int state = state_before;

	assert(depth != 0);
	/* A pending asynchronous request ends the thread in this call. */
	if (--depth == 0)
		pthread_setcancelstate(state, NULL);
}
