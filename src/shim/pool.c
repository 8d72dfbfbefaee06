/*
 * pool.c - streams and scratch memory in a table by context.
 */
#include "shim/pool.h"
#include "base/options.h"

#define POOLS         4

/* Of what is free on the device the scratch memory takes no more. */
#define SCRATCH_SHARE 16

static struct pool pools[POOLS];

static bool has_functions(void)
{
	return REAL_HAS(cuStreamCreate) && REAL_HAS(cuStreamDestroy_v2) &&
	       REAL_HAS(cuMemAlloc_v2) && REAL_HAS(cuMemGetInfo_v2) &&
	       REAL_HAS(cuMemcpyDtoDAsync_v2) && REAL_HAS(cuMemcpyDtoDAsync_v2_ptsz);
}

struct pool *pool_take(CUcontext context)
{
	for (struct pool *pool = pools; pool < pools + POOLS; pool++) {
		CUcontext none = NULL;

		if (atomic_load(&pool->context) != context &&
		    !atomic_compare_exchange_strong(&pool->context, &none, context))
			continue;
		return atomic_exchange(&pool->taken, true) ? NULL : pool;
	}
	return NULL;
}

void pool_give_back(struct pool *pool)
{
	atomic_store(&pool->taken, false);
}

/*
 * Streams share the device's queues, those of different priority do not: behind a copy of the
 * program's that waits for a kernel the leg would wait for that kernel, too.
 */
static bool make_stream(struct pool *pool)
{
	int least = 0, greatest = 0;

	if (REAL_HAS(cuStreamCreateWithPriority) && REAL_HAS(cuCtxGetStreamPriorityRange) &&
	    REAL(cuCtxGetStreamPriorityRange)(&least, &greatest) == CUDA_SUCCESS &&
	    REAL(cuStreamCreateWithPriority)(&pool->stream, CU_STREAM_NON_BLOCKING, greatest) ==
		    CUDA_SUCCESS)
		return true;
	if (REAL(cuStreamCreate)(&pool->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS)
		return true;
	pool->stream = NULL;
	return false;
}

/* Not where the program may need it soon. */
static bool is_affordable(size_t bytes)
{
	size_t left = 0, all = 0;

	return REAL(cuMemGetInfo_v2)(&left, &all) == CUDA_SUCCESS && bytes <= left / SCRATCH_SHARE;
}

bool pool_fill(struct pool *pool)
{
	size_t bytes = hp_options->scratch;

	if (pool->memory != 0 || pool->refused)
		return pool->memory != 0;
	pool->refused = true;
	if (bytes == 0 || !has_functions() || !is_affordable(bytes))
		return false;
	if (pool->stream == NULL && !make_stream(pool))
		return false;
	for (int i = 0; i < SCRATCH_PARTS; i++)
		if (pool->done[i] == NULL &&
		    REAL(cuEventCreate)(&pool->done[i], CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
			pool->done[i] = NULL;
			return false;
		}
	if (REAL(cuMemAlloc_v2)(&pool->memory, bytes) != CUDA_SUCCESS) {
		pool->memory = 0;
		return false;
	}
	pool->scratch = (struct scratch){ .room = bytes };
	pool->refused = false;
	return true;
}

void pool_sweep(struct pool *pool)
{
	for (int i = 0; i < SCRATCH_PARTS; i++)
		if (pool->used[i] && REAL(cuEventQuery)(pool->done[i]) == CUDA_SUCCESS) {
			pool->used[i] = false;
			scratch_give(&pool->scratch, i);
		}
}

void pool_context_gone(CUcontext context)
{
	for (struct pool *pool = pools; pool < pools + POOLS; pool++) {
		if (atomic_load(&pool->context) != context)
			continue;
		*pool = (struct pool){ .taken = true };
		atomic_store(&pool->taken, false);
	}
}
