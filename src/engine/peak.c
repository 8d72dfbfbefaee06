/*
 * peak.c - times copies of pinned memory when the program has ended, so that the program does not
 * pay for them.
 *
 * The device is idle by then.  Every wait is bounded nevertheless, and if the driver refuses a
 * call, the peak stays unknown.
 */
#include "engine/peak.h"
#include "base/clock.h"
#include "base/options.h"
#include "engine/state.h"
#include "heap/limits.h"
#include "pin/pin.h"
#include "real/contexts.h"

#define BYTES       ((size_t)16 << 20)
#define ROUNDS      3
#define LEAST_LEFT  ((uint64_t)512 << 20) /* free memory that the cgroup must have */
#define PATIENCE_NS 500000000u

struct bench {
	CUstream stream;
	CUevent before, after;
	void *host;
	CUdeviceptr device;
	bool on_stand_in;
};

static bool make(struct bench *bench)
{
	return REAL(cuStreamCreate)(&bench->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
	       REAL(cuEventCreate)(&bench->before, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
	       REAL(cuEventCreate)(&bench->after, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
}

/*
 * True if the measurement may pin memory.  HOTPIN_PIN=0 pins nothing while the program runs, but
 * its profile still has the peak; then only HOTPIN_PIN_BUDGET prevents the measurement.
 */
static bool may_pin(void)
{
	return hp_options->pin ? pin_take_staging(BYTES) : hp_options->pin_budget >= BYTES;
}

static bool take_memory(struct bench *bench)
{
	return REAL(cuMemHostAlloc)(&bench->host, BYTES, 0) == CUDA_SUCCESS &&
	       REAL(cuMemAlloc_v2)(&bench->device, BYTES) == CUDA_SUCCESS;
}

static bool is_complete(const struct bench *bench)
{
	uint64_t end_ns = hp_now_ns() + PATIENCE_NS;
	CUresult result;

	/* The stand-in runs work during a wait, not during a query. */
	if (bench->on_stand_in)
		return REAL(cuEventSynchronize)(bench->after) == CUDA_SUCCESS;
	while ((result = REAL(cuEventQuery)(bench->after)) == CUDA_ERROR_NOT_READY &&
	       hp_sleep_before(end_ns, 20000))
		continue;
	return result == CUDA_SUCCESS;
}

/* True if the context is idle.  Non-blocking streams may still run work, even forever. */
static bool is_idle(const struct bench *bench, CUcontext context)
{
	if (!atomic_load_explicit(&state_unordered_streams, memory_order_relaxed))
		return true;
	/* The stand-in only completes an event during a wait, which is unbounded. */
	return !bench->on_stand_in && contexts_record(context, bench->after) == CUDA_SUCCESS &&
	       is_complete(bench);
}

/* Returns the bytes per second of a copy; 0: unknown. */
static uint64_t measure(const struct bench *bench, bool to_device)
{
	float ms = 0;

	if (REAL(cuEventRecord)(bench->before, bench->stream) != CUDA_SUCCESS)
		return 0;
	CUresult result = to_device ? REAL(cuMemcpyHtoDAsync_v2)(bench->device, bench->host, BYTES,
								 bench->stream)
				    : REAL(cuMemcpyDtoHAsync_v2)(bench->host, bench->device, BYTES,
								 bench->stream);
	if (result != CUDA_SUCCESS ||
	    REAL(cuEventRecord)(bench->after, bench->stream) != CUDA_SUCCESS ||
	    !is_complete(bench) ||
	    REAL(cuEventElapsedTime)(&ms, bench->before, bench->after) != CUDA_SUCCESS || ms <= 0)
		return 0;
	return (uint64_t)((double)BYTES * 1000 / (double)ms);
}

void peak_measure(bool on_stand_in, uint64_t *ret_h2d, uint64_t *ret_d2h)
{
	struct bench bench = { .on_stand_in = on_stand_in };
	CUcontext context = NULL;

	*ret_h2d = *ret_d2h = 0;
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL ||
	    limits_cgroup_left("") < LEAST_LEFT)
		return;
	/* The memory is not freed, because freeing waits for work that other threads enqueue. */
	if (make(&bench) && is_idle(&bench, context) && may_pin() && take_memory(&bench)) {
		for (int round = 0; round < ROUNDS; round++) {
			uint64_t h2d = measure(&bench, true), d2h = measure(&bench, false);

			*ret_h2d = h2d > *ret_h2d ? h2d : *ret_h2d;
			*ret_d2h = d2h > *ret_d2h ? d2h : *ret_d2h;
		}
	}
}
