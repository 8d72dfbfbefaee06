/*
 * gate.c - what happens before a driver function when the gate is closed.
 *
 * The open gate is one load and a branch in thunk.S; everything here is the other case.
 */
#define _GNU_SOURCE
#include "base/protections.h"
#include "shim/copy.h"
#include "shim/deferring.h"
#include "shim/shim.h"
#include "trace/trace.h"

#include <dlfcn.h>

_Atomic uint32_t shim_gate = SHIM_GATE_UNREADY;
_Atomic uint64_t shim_tally[REAL_ROW_COUNT];

void shim_gate_open(enum shim_gate_bit bit)
{
	atomic_fetch_and(&shim_gate, ~(uint32_t)bit);
}

void shim_gate_close(enum shim_gate_bit bit)
{
	atomic_fetch_or(&shim_gate, (uint32_t)bit);
}

/* Stands where the driver has no such function: a program that links libcuda could not start. */
static CUresult missing(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

/* Stands everywhere when there is no driver at all. */
static CUresult no_driver(void)
{
	return CUDA_ERROR_NO_DEVICE;
}

/* Whoever has opened it may close it again, and we call it later, by threads of ours too. */
static void keep_driver(void)
{
	Dl_info info;

	if (dladdr(atomic_load(&real_driver[REAL_ROW_cuInit]), &info) == 0)
		return;
	void *kept = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (kept != NULL)
		dlclose(kept);
	else
		dlerror(); /* it is in another namespace */
}

bool shim_find_driver(void *handle)
{
	if (shim_dlsym_next == NULL && shim_dlsym_find() == NULL)
		return false;
	if (handle == NULL)
		handle = dlopen("libcuda.so.1", RTLD_LAZY);
	if (handle == NULL ||
	    real_driver_load(handle, shim_dlsym_next, shim_is_ours, (void *)missing) == 0)
		return false;
	if (hp_keeps(driver_stays))
		keep_driver();
	shim_gate_open(SHIM_GATE_UNREADY);
	return true;
}

/* Tells the profile of kernels and graphs; a host function is neither. */
static void note_launch(const char *name)
{
	if (shim_starts(name, "cuGraphLaunch"))
		trace_launched(TRACE_LAUNCH_GRAPH);
	else if (shim_starts(name, "cuLaunch") && !shim_starts(name, "cuLaunchHostFunc"))
		trace_launched(atomic_load_explicit(&shim_captures, memory_order_relaxed) == 0
				       ? TRACE_LAUNCH_KERNEL
				       : TRACE_LAUNCH_CAPTURED);
}

static bool may_put_work(enum real_class class)
{
	return class != REAL_PASS && class != REAL_LOCAL && class != REAL_OBSERVE &&
	       class != REAL_WAIT;
}

void shim_gate_pass(enum real_row row, CUstream stream)
{
	uint32_t gate = atomic_load_explicit(&shim_gate, memory_order_relaxed);

	if (gate & SHIM_GATE_UNREADY) {
		shim_start();
		if (!shim_find_driver(NULL))
			real_driver_fill((void *)no_driver);
	}

	const struct real_driver_fact *fact = &real_driver_facts[row];
	if (gate & SHIM_GATE_DEFERRED) {
		shim_defer_gate(row, stream);
		/* It may have waited. */
		if (hp_keeps(gate_read_again))
			gate = atomic_load_explicit(&shim_gate, memory_order_relaxed);
	}
	if (gate & SHIM_GATE_TALLY)
		atomic_fetch_add_explicit(&shim_tally[row], 1, memory_order_relaxed);
	if ((gate & (SHIM_GATE_QUIET | SHIM_GATE_UNPIN)) && may_put_work(fact->class))
		shim_device_disturbed();
	if ((gate & SHIM_GATE_LAUNCH) && fact->class == REAL_ENQUEUE)
		note_launch(fact->name);
}

/* The stream that a gated call names. */
static CUstream stream_of(const struct real_driver_fact *fact, const struct shim_frame *frame)
{
	const size_t registers = sizeof(frame->argument) / sizeof(frame->argument[0]);
	size_t index = (size_t)fact->stream;

	if (fact->stream == REAL_CONFIG_STREAM) {
		const CUlaunchConfig *config = (const CUlaunchConfig *)frame->argument[0];

		return config != NULL ? config->hStream : SHIM_NO_STREAM;
	}
	if (fact->stream == REAL_NO_STREAM)
		return SHIM_NO_STREAM;
	return (CUstream)(index < registers ? frame->argument[index]
					    : frame->stacked[index - registers]);
}

/* Of a function that nobody here knows anything can be expected. */
static void *enter_unknown(size_t number)
{
	if (hp_keeps(join_the_unknown))
		shim_defer_join();
	exposure_raise(REAL_SEEN_PAST_US);
	if (atomic_load(&shim_gate) & (SHIM_GATE_QUIET | SHIM_GATE_UNPIN))
		shim_device_disturbed();
	return atomic_load(&shim_unknown_real[number]);
}

void *shim_gate_enter(const struct shim_frame *frame)
{
	if (frame->row >= REAL_ROW_COUNT)
		return enter_unknown(frame->row - REAL_ROW_COUNT);

	const struct real_driver_fact *fact = &real_driver_facts[frame->row];
	shim_gate_pass((enum real_row)frame->row, stream_of(fact, frame));
	exposure_raise((enum real_sight)fact->sight);
	return atomic_load_explicit(&real_driver[frame->row], memory_order_acquire);
}
