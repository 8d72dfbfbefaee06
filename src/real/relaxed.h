/*
 * Calls of hotpin's own while a stream capture may be active.
 *
 * In the thread's own mode such a call could invalidate another thread's capture of mode GLOBAL
 * (CUDA driver API, cuThreadExchangeStreamCaptureMode).  In the relaxed mode it does not.
 */
#ifndef HP_REAL_RELAXED_H
#define HP_REAL_RELAXED_H

#include "base/protections.h"
#include "real/real.h"

struct relaxed {
	bool is; /* the mode was changed */
	CUstreamCaptureMode before;
};

/* Sets the relaxed mode of this thread until relaxed_end(), which must follow in it. */
static inline struct relaxed relaxed_begin(void)
{
	struct relaxed relaxed = { .before = CU_STREAM_CAPTURE_MODE_RELAXED };

	relaxed.is = hp_keeps(capture_is_not_broken) &&
		     REAL(cuThreadExchangeStreamCaptureMode)(&relaxed.before) == CUDA_SUCCESS;
	return relaxed;
}

static inline void relaxed_end(struct relaxed *relaxed)
{
	/* The program depends on its mode, so a failure is worth a second attempt. */
	if (relaxed->is &&
	    REAL(cuThreadExchangeStreamCaptureMode)(&relaxed->before) != CUDA_SUCCESS)
		REAL(cuThreadExchangeStreamCaptureMode)(&relaxed->before);
}

#endif
