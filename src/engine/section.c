/* section.c - the housekeeper enters the section; any number of threads may block it. */
#include "engine/section.h"
#include "base/clock.h"
#include "base/protections.h"
#include "base/users.h"
#include "real/real.h"

static struct hp_users insiders;  /* the housekeeper, while it is in the section */
static struct hp_users recorders; /* the same, while it makes calls that invalidate a capture */

/* Sets the relaxed capture mode of the housekeeper's thread, the only one that enters. */
static void relax_captures(void)
{
	static bool done;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	if (!done)
		done = REAL(cuThreadExchangeStreamCaptureMode)(&mode) == CUDA_SUCCESS;
}

bool section_begin(void)
{
	if (!hp_users_try_enter(&insiders))
		return false;
	relax_captures();
	return true;
}

void section_end(void)
{
	hp_users_leave(&insiders);
}

bool section_record_begin(void)
{
	return hp_users_try_enter(&recorders);
}

void section_record_end(void)
{
	hp_users_leave(&recorders);
}

void section_block_for_capture(void)
{
	if (!hp_keeps(driver_section_blocked))
		return;
	hp_users_close(&insiders);
	hp_users_close(&recorders);
	hp_users_drain(&recorders, UINT64_MAX);
}

void section_unblock_after_capture(void)
{
	if (!hp_keeps(driver_section_blocked))
		return;
	hp_users_open(&recorders);
	hp_users_open(&insiders);
}

void section_block(uint64_t patience_ns)
{
	uint64_t end_ns = UINT64_MAX;

	if (!hp_keeps(driver_section_blocked))
		return;
	hp_users_close(&insiders);
	if (insiders.inside != 0 && patience_ns != UINT64_MAX)
		end_ns = hp_now_ns() + patience_ns;
	hp_users_drain(&insiders, end_ns);
}

void section_unblock(void)
{
	if (hp_keeps(driver_section_blocked))
		hp_users_open(&insiders);
}

void section_after_fork_child(void)
{
	hp_users_reset(&insiders);
	hp_users_reset(&recorders);
}
