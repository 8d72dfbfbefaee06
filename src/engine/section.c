/*
 * section.c - the housekeeper says where it is, and then reads whether pin_hold() is in force;
 * other threads do it the other way round.
 */
#include "engine/section.h"
#include "base/clock.h"
#include "base/protections.h"
#include "pin/pin.h"
#include "real/real.h"

#include <limits.h>
#include <stdatomic.h>

static _Atomic uint32_t current; /* enum section, or 0; a futex */

/* Sets the relaxed capture mode of the housekeeper's thread, the only one that enters. */
static void relax_captures(void)
{
	static bool done;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	if (!done)
		done = REAL(cuThreadExchangeStreamCaptureMode)(&mode) == CUDA_SUCCESS;
}

bool section_begin(enum section section)
{
	atomic_store(&current, section);
	if (!pin_is_held() || !hp_keeps(driver_section_blocked)) {
		relax_captures();
		return true;
	}
	section_end();
	return false;
}

void section_end(void)
{
	atomic_store(&current, 0);
	hp_wake(&current, INT_MAX);
}

void section_wait(bool any, uint64_t until_ns)
{
	uint32_t seen;

	while ((seen = atomic_load(&current)) == SECTION_ASKS || (any && seen != 0))
		if (!hp_wait_until(&current, seen, until_ns))
			return;
}
