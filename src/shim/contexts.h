/*
 * Which contexts live in this process?
 */
#ifndef HP_SHIM_CONTEXTS_H
#define HP_SHIM_CONTEXTS_H

#include "real/real.h"

#define CONTEXTS_MOST 32

/*
 * Those made or retained so far and not yet gone.  Returns how many, or -1: there were too many to
 * know.  The handles stay good for as long as the caller visits (visit.h).
 */
int contexts_list(CUcontext list[CONTEXTS_MOST]);

/* One is gone; visits are forbidden. */
void contexts_gone(CUcontext context);

/* How many have gone: an event of one that is gone must not be named any more. */
uint32_t contexts_ends(void);

/*
 * cuCtxRecordEvent(): `event` covers what `context` has been given so far.
 * CUDA_ERROR_NOT_SUPPORTED where the driver is older than CUDA 12.5, or what we were built with.
 */
CUresult contexts_record(CUcontext context, CUevent event);

#endif
