/*
 * A call of our own while somebody may be capturing.
 *
 * In the mode that the thread is in it would break a capture of mode GLOBAL that another thread has
 * under way (CUDA driver API, cuThreadExchangeStreamCaptureMode); the relaxed mode permits it.
 */
#ifndef HP_REAL_RELAXED_H
#define HP_REAL_RELAXED_H

#include "base/protections.h"
#include "real/real.h"

#include <stdatomic.h>

struct relaxed {
	bool is; /* the mode was changed */
	CUstreamCaptureMode before;
};

static inline struct relaxed relaxed_begin(void)
{
	struct relaxed relaxed = { .before = CU_STREAM_CAPTURE_MODE_RELAXED };

	relaxed.is = hp_keeps(capture_is_not_broken) &&
		     REAL(cuThreadExchangeStreamCaptureMode)(&relaxed.before) == CUDA_SUCCESS;
	return relaxed;
}

static inline void relaxed_end(struct relaxed *relaxed)
{
	/* The mode is the program's: it is worth another try. */
	if (relaxed->is &&
	    REAL(cuThreadExchangeStreamCaptureMode)(&relaxed->before) != CUDA_SUCCESS)
		REAL(cuThreadExchangeStreamCaptureMode)(&relaxed->before);
}

#endif
