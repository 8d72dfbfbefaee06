/*
 * contexts.c - handles in a fixed table.
 */
#include "real/contexts.h"
#include "base/protections.h"

#include <stdatomic.h>

/* Any thread. */
static CUcontext _Atomic contexts[CONTEXTS_MOST]; /* NULL: a free entry */
static _Atomic bool too_many;                     /* a context found no entry */
static _Atomic uint32_t generation;               /* the number of calls that end contexts */

/* Primary contexts, by device.  Any thread. */
static struct {
	CUcontext _Atomic context; /* NULL: never retained */
	_Atomic int retains;
} primaries[64];

bool contexts_made(CUcontext context)
{
	CUcontext none = NULL;

	for (int i = 0; i < CONTEXTS_MOST; i++)
		if (atomic_load(&contexts[i]) == context)
			return false;
	for (int i = 0; i < CONTEXTS_MOST; i++, none = NULL)
		if (atomic_compare_exchange_strong(&contexts[i], &none, context))
			return true;
	atomic_store(&too_many, true);
	return true;
}

int contexts_list(CUcontext list[CONTEXTS_MOST])
{
	int count = 0;

	for (int i = 0; i < CONTEXTS_MOST; i++) {
		CUcontext context = atomic_load(&contexts[i]);

		if (context != NULL)
			list[count++] = context;
	}
	return atomic_load(&too_many) ? -1 : count;
}

uint32_t contexts_generation(void)
{
	return atomic_load(&generation);
}

static bool is_counted(CUdevice device)
{
	return device >= 0 && (size_t)device < sizeof(primaries) / sizeof(primaries[0]);
}

void contexts_retained(CUdevice device, CUcontext context)
{
	if (!is_counted(device))
		return;
	atomic_store(&primaries[device].context, context);
	atomic_fetch_add(&primaries[device].retains, 1);
}

CUcontext contexts_primary(CUdevice device)
{
	return is_counted(device) ? atomic_load(&primaries[device].context) : NULL;
}

/* Not below 0: a reset drops all references, and some calls do not come through hotpin. */
bool contexts_released(CUdevice device)
{
	int count = is_counted(device) ? atomic_load(&primaries[device].retains) : 0;

	while (count > 0)
		if (atomic_compare_exchange_weak(&primaries[device].retains, &count, count - 1))
			return count > 1;
	return false;
}

/* Two threads may have retained the context at once, so it may have two entries. */
void contexts_forget(CUcontext context)
{
	for (int i = 0; i < CONTEXTS_MOST; i++) {
		CUcontext expected = context;

		atomic_compare_exchange_strong(&contexts[i], &expected, NULL);
	}
	atomic_fetch_add(&generation, 1);
}

unsigned long long contexts_id(CUcontext context)
{
	unsigned long long id = 0;
	unsigned version;

	if (!REAL_HAS(cuCtxGetId))
		return REAL(cuCtxGetApiVersion)(context, &version) == CUDA_SUCCESS;
	return REAL(cuCtxGetId)(context, &id) == CUDA_SUCCESS ? id : 0;
}

bool contexts_has_stream(CUcontext context, CUstream stream)
{
	CUcontext of = NULL;

	if (stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
	    !hp_keeps(staged_in_one_context))
		return true;
	return REAL(cuStreamGetCtx)(stream, &of) == CUDA_SUCCESS && of == context;
}

unsigned contexts_event_flags(void)
{
	unsigned flags = 0;

	if (REAL(cuCtxGetFlags)(&flags) != CUDA_SUCCESS)
		flags = 0;
	return CU_EVENT_DISABLE_TIMING |
	       (flags & CU_CTX_SCHED_BLOCKING_SYNC ? CU_EVENT_BLOCKING_SYNC : 0);
}
