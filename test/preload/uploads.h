/*
 * Synchronous uploads that are queued behind other work, and whether they wait for it.
 */
#ifndef HP_TEST_PRELOAD_UPLOADS_H
#define HP_TEST_PRELOAD_UPLOADS_H

#include "promote.h"

static char array[4 * MIB] = { 1 };

/* A module, which a test cannot load while an upload is in flight. */
static CUmodule module;

static inline void start(void)
{
	begin();
	launch(NULL);
	OK(cuModuleLoadData(&module, "any"));
	OK(cuCtxSynchronize());
}

/*
 * Enqueues work and an upload behind it.  True if the upload waits: it is the driver's synchronous
 * copy, or the library waits for an event.
 */
static inline bool waits(const void *source, size_t bytes)
{
	launch(NULL);
	standin_log_reset();
	OK(cuMemcpyHtoD_v2(there, source, bytes));
	return standin_calls("cuMemcpyHtoD") + standin_calls("cuEventSynchronize") +
		       standin_calls("cuStreamSynchronize") !=
	       0;
}

/* Waiting is always right, and was observed once without a known reason. */
static inline bool waits_always(const void *source, size_t bytes)
{
	return waits(source, bytes) && waits(source, bytes);
}

#endif
