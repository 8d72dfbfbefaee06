/*
 * load.c - the order of everything: start, first use of the device, fork, exit.
 *
 * The constructor reads options and stores pointers, nothing else: it runs in every process that
 * inherits LD_PRELOAD.
 */
#define _GNU_SOURCE
#include "shim/load/load.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/once.h"
#include "base/options.h"
#include "base/protections.h"
#include "base/thread.h"
#include "engine/forking.h"
#include "engine/gate.h"
#include "engine/housekeeper.h"
#include "engine/peak.h"
#include "engine/plan.h"
#include "engine/section.h"
#include "engine/state.h"
#include "engine/thread_end.h"
#include "engine/tracker.h"
#include "engine/visibility.h"
#include "heap/heap.h"
#include "heap/limits.h"
#include "heap/pressure.h"
#include "pin/fork.h"
#include "pin/pin.h"
#include "pin/rates.h"
#include "shim/driver/enter.h"
#include "shim/libc/libc.h"
#include "shim/load/environment.h"
#include "shim/load/finish.h"
#include "shim/load/program.h"
#include "shim/load/watchers.h"
#include "trace/process.h"
#include "trace/trace.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* What exit() waits for the housekeeper to come out of the driver, at most. */
#define VISIT_PATIENCE_NS 100000000u

/* And for the device, so that the profile has what it was given. */
#define WORK_PATIENCE_NS  2000000000u

/*
 * The smallest block that is the heap's, where nobody said.  glibc serves what is below 128 KiB
 * from a heap that it rarely trims.  We keep 60 MiB without a device, so a program that frees and
 * takes more than that of such blocks in turns would pay for their pages each time: perl took
 * 0.68 s instead of 0.36.  Copies alone are worth that, and before there are any such a program is
 * left to glibc after all (heap_yield_below()).
 */
#define HEAP_MIN_PLAIN    ((size_t)256 << 10)
#define HEAP_MIN_DEVICE   ((size_t)64 << 10)

static struct hp_once started;
static _Atomic bool device_found;
static uint64_t began_ns; /* written by shim_start() */
static bool on_stand_in;  /* written by shim_device_found() */
static pid_t owner;       /* the process that found the device; not a child of its vfork() */

/* True if the program's owner has not set HOTPIN_HEAP_MIN. */
static bool heap_min_is_ours(void)
{
	return hp_options->heap_min == HP_AUTO;
}

/* There is no device, or none for us: the heap serves as in a process without CUDA. */
static void expect_no_device(void)
{
	heap_set_device(false);
	if (heap_min_is_ours())
		shim_libc_use_heap_from(HEAP_MIN_PLAIN);
}

void shim_stand_aside(const char *name)
{
	if (!atomic_exchange(&state_acts, false))
		return;
	expect_no_device();
	/* A profile that was asked for is lost. */
	hp_log(hp_options->profile != HP_PROFILE_OFF ? HP_WARN : HP_INFO,
	       "the driver lacks %s: every call is passed through; a newer driver helps", name);
}

/*
 * Where the parent has used CUDA it does not work in the child: nothing is pinned or reported
 * there, the heap goes on.  A child that was forked before that is a process like any other.
 */
static void after_fork_child(void)
{
	hp_locks_after_fork_child();
	hp_threads_after_fork_child();
	shim_limits_are_ours();
	if (hp_locks_are_held() && hp_keeps(forked_in_a_handler)) {
		/*
		 * All that such a child may do by POSIX is to leave or to become another program.
		 */
		pin_stop("this is the child of a signal handler's fork");
		if (atomic_load(&device_found))
			housekeeper_forget();
		return;
	}
	heap_after_fork_child();
	if (!atomic_load(&device_found))
		return;
	housekeeper_forget();
	if (hp_keeps(forget_in_the_child))
		tracker_after_fork_child();
	visibility_after_fork_child();
	pin_after_fork_child();
	expect_no_device();
	trace_after_fork_child();
}

static void before_fork(void)
{
	fork_unpin();
	hp_locks_before_fork();
}

/*
 * The sooner the better: what comes first is last before fork(), and first after it.  Handlers that
 * others have registered before run while we hold our locks: they may allocate, for they are in
 * the same thread, but may wait for one that cannot.
 */
void shim_watch_forks(void)
{
	static _Atomic bool watched;

	if (atomic_exchange(&watched, true))
		return;
	thread_end_watch();
	pthread_atfork(before_fork, hp_locks_after_fork_parent, after_fork_child);
}

static bool wanted_here(void)
{
	if (getauxval(AT_SECURE) != 0 || !hp_options->enable)
		return false;
	/* What heap and pins count in; some kernels for aarch64 have larger ones. */
	if (getauxval(AT_PAGESZ) != HP_PAGE_BYTES)
		return false;
	return hp_options->only[0] == '\0' ||
	       fnmatch(hp_options->only, program_invocation_short_name, 0) == 0;
}

static void open_log(void)
{
	char path[HP_TEXT_MAX];
	struct process process;
	int error = -ENAMETOOLONG;

	/* Nearly always, and in every process that inherits us: nothing to look up. */
	if (hp_options->log_file[0] == '\0') {
		hp_log_open(NULL);
		return;
	}
	process_read(&process);
	if (process_expand(&process, hp_options->log_file, path, sizeof(path)) == 0)
		error = hp_log_open(path);
	if (error == 0)
		return;
	hp_log_open(NULL);
	errno = -error;
	hp_warn("HOTPIN_LOG_FILE: cannot open '%s' (%m), using stderr", hp_options->log_file);
}

/*
 * The first stage of a port uses no device.  Registered before anything of the program's, so it is
 * the last to run, behind destructors, which nobody tells the status.
 */
static void finish_without_device(int status, void *unused)
{
	(void)unused;
	if (atomic_load(&device_found))
		return;
	trace_exits_with(status);
	trace_without_device(began_ns);
}

/* The device is there, or will be. */
static void expect_device(void)
{
	/* Until there is a context, and with it a thread of ours. */
	heap_set_attended(false);
	heap_set_device(true);
	if (heap_min_is_ours()) {
		heap_yield_below(HEAP_MIN_PLAIN);
		shim_libc_use_heap_from(HEAP_MIN_DEVICE);
	}
}

void shim_start(void)
{
	if (!hp_once_begin(&started))
		return;
	began_ns = hp_now_ns();
	hp_options_load(shim_environment());
	open_log();
	if (wanted_here()) {
		atomic_store(&state_acts, true);
		shim_limits_are_ours();
		shim_watch_contexts();
		heap_start();
		bool uses_cuda = shim_program_uses_cuda();
		shim_watch_forks();
		shim_libc_use_heap(heap_min_is_ours() ? HEAP_MIN_PLAIN : hp_options->heap_min);
		if (uses_cuda)
			expect_device();
		if (hp_options->out[0] != '\0')
			on_exit(finish_without_device, NULL);
	}
	hp_once_end(&started);
}

__attribute__((constructor)) static void on_load(void)
{
	shim_start();
}

/*
 * Lets the device finish what it has, so that the profile has it too, but for what is on streams
 * that the legacy one does not wait for, and in other contexts.  Bounded: a kernel may be waiting
 * for a host that is leaving.  True: it has.
 */
static bool wait_for_device(void)
{
	CUevent event;
	uint64_t end_ns = hp_now_ns() + WORK_PATIENCE_NS;

	if (state_captures != 0 ||
	    REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
		return false;
	/* The stand-in moves for those who wait, not for those who ask. */
	bool recorded = REAL(cuEventRecord)(event, NULL) == CUDA_SUCCESS;
	if (recorded && on_stand_in)
		REAL(cuEventSynchronize)(event);
	else
		while (REAL(cuEventQuery)(event) == CUDA_ERROR_NOT_READY &&
		       hp_sleep_before(end_ns, 50000))
			continue;
	bool done = recorded && REAL(cuEventQuery)(event) == CUDA_SUCCESS;
	REAL(cuEventDestroy_v2)(event);
	return done;
}

void shim_report(void)
{
	static _Atomic bool begun;

	if (atomic_exchange(&begun, true))
		return;
	heap_count();
	trace_finish();
}

/*
 * The process ends as it should, with this status.  The driver ends next, and what it would do to a
 * thread that is just inside it is not written anywhere.
 */
static void finish(int status, void *unused)
{
	(void)unused;
	if (getpid() != owner)
		return;
	trace_exits_with(status);
	section_block(VISIT_PATIENCE_NS);
	if (!trace_active())
		return;
	bool idle = wait_for_device();
	trace_stop();
	if (idle) {
		uint64_t h2d, d2h;

		peak_measure(on_stand_in, &h2d, &d2h);
		trace_peak(h2d, d2h);
	}
	shim_report();
}

/* Only here: what the default follows from stands in files, and most processes never come here. */
static void start_pinning(void)
{
	/* What pinning would spare is told also where it is not wanted. */
	rates_start();
	if (!hp_options->pin)
		return;
	pin_start(hp_options->pin_budget != HP_AUTO
			  ? hp_options->pin_budget
			  : pressure_pin_budget(limits_ram(), limits_cgroup_left("")));
}

static bool some_device_has(CUdevice_attribute asked)
{
	int count = 0, yes = 0;

	if (REAL(cuDeviceGetCount)(&count) != CUDA_SUCCESS)
		return false;
	for (int device = 0; device < count && !yes; device++)
		REAL(cuDeviceGetAttribute)(&yes, asked, device);
	return yes != 0;
}

static const char *name_of_row(size_t row)
{
	return real_driver_facts[row].name;
}

void shim_device_found(void)
{
	char name[128];
	struct trace_facts facts = {
		.began_ns = began_ns,
		.function_name = name_of_row,
		.functions = REAL_ROW_COUNT,
	};

	if (!state_active() || atomic_exchange(&device_found, true))
		return;
	int saved = errno;
	/* Nobody does the rest for a thread that ends here. */
	hp_uncancellable_begin();
	owner = getpid();
	expect_device();
	start_pinning();
	if (some_device_has(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS))
		visibility_raise(REAL_SEEN_MANAGED);
	if (hp_keeps(page_tables) &&
	    some_device_has(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES))
		pin_stop("the device reads the host's page tables itself");
	if (REAL(cuDeviceGetName)(name, sizeof(name), 0) == CUDA_SUCCESS)
		facts.device = name;
	CUuuid uuid;
	if (REAL_HAS(cuDeviceGetUuid_v2) && REAL(cuDeviceGetUuid_v2)(&uuid, 0) == CUDA_SUCCESS)
		facts.device_uuid = (const unsigned char *)uuid.bytes;
	/* The name that test/standin gives its device: its times are modelled. */
	on_stand_in = facts.device != NULL && strcmp(name, "hotpin stand-in") == 0;
	facts.on_stand_in = on_stand_in;
	REAL(cuDriverGetVersion)(&facts.driver_version);
	trace_start(&facts);
	if (trace_active()) {
		gate_close(GATE_LAUNCH);
		gate_close(GATE_TIMED);
		shim_finish_prepare();
		atomic_store(&pin_told, trace_pinned);
	}
	atomic_store(&state_copies_pass, !trace_active() && hp_options->route == COPY_AUTO);
	/* After the driver's own handler was registered, so it runs before it. */
	on_exit(finish, NULL);
	hp_uncancellable_end();
	errno = saved;
}

/* What was done, for those who ask by HOTPIN_LOG. */
__attribute__((destructor)) static void on_unload(void)
{
	if (!state_active())
		return;
	if (hp_options->log < HP_DEBUG)
		return;
	heap_count();
	for (int i = 0; i < HP_COUNTER_COUNT; i++) {
		uint64_t count = atomic_load_explicit(&hp_counters[i], memory_order_relaxed);

		if (count != 0)
			hp_debug("%s: %llu", hp_counter_texts[i], (unsigned long long)count);
	}
}
