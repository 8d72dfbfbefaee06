/*
 * device.c - starts pinning and the profile, and stops them at exit.
 */
#define _GNU_SOURCE
#include "shim/load/device.h"
#include "base/clock.h"
#include "base/options.h"
#include "base/procfile.h"
#include "base/protections.h"
#include "base/thread.h"
#include "engine/gate.h"
#include "engine/housekeeper.h"
#include "engine/plan.h"
#include "engine/staging.h"
#include "engine/state.h"
#include "engine/visibility.h"
#include "heap/limits.h"
#include "pin/pin.h"
#include "stage/move.h"
#include "shim/driver/unknown.h"
#include "shim/libc/large.h"
#include "shim/load/exit.h"
#include "shim/load/start.h"
#include "trace/collect/link.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The longest time that exit() waits for the housekeeper to leave the driver. */
#define SECTION_PATIENCE_NS 100000000u

/* The longest time that exit() waits for the device, so that the profile covers all its work. */
#define WORK_PATIENCE_NS    2000000000u

static bool on_stand_in; /* written by shim_device_found() */
static pid_t owner;      /* the process that found the device; not a child of its vfork() */

/*
 * Waits until the device has done its work, so that the profile covers it.  Work on non-blocking
 * streams and in other contexts is not waited for.  The wait is bounded, because a kernel may wait
 * for the host, which is exiting.
 */
static void wait_for_device(void)
{
	CUevent event;
	uint64_t end_ns = hp_now_ns() + WORK_PATIENCE_NS;

	if (state_captures != 0 ||
	    REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
		return;
	/* The streams of the stand-in move when a call waits, not when it queries. */
	bool recorded = REAL(cuEventRecord)(event, NULL) == CUDA_SUCCESS;
	if (recorded && on_stand_in)
		REAL(cuEventSynchronize)(event);
	else
		while (REAL(cuEventQuery)(event) == CUDA_ERROR_NOT_READY &&
		       hp_sleep_before(end_ns, 50000))
			continue;
	REAL(cuEventDestroy_v2)(event);
}

/*
 * exit() calls this before the driver's own handler.  The driver does not document what its handler
 * does to a thread that is inside the driver.
 */
static void finish(int status, void *unused)
{
	(void)unused;
	if (getpid() != owner)
		return;
	trace_exits_with(status);
	pin_hold();
	housekeeper_wait(true, hp_now_ns() + SECTION_PATIENCE_NS);
	if (!trace_active())
		return;
	wait_for_device();
	trace_stop();
	exit_report();
}

/* Later reads of these files open none. */
static void keep_files(struct limits *ret)
{
	hp_procfile_keep(true);
	limits_look("", ret);
	limits_ration_space();
	limits_huge_everywhere("");
	move_keep();
	hp_procfile_keep(false);
}

/* The default budget depends on files, which are read here only: most processes use no device. */
static void start_pinning(const struct limits *limits)
{
	uint64_t budget = hp_options->pin_budget;

	if (hp_options->pin)
		pin_start(budget == HP_AUTO ? limits_pin_budget(limits) : budget);
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

/* The stand-in has no link, but perhaps the bus id of a device of this machine. */
static uint64_t rate_of_link(void)
{
	char bus_id[32];

	if (on_stand_in || !trace_wanted() ||
	    REAL(cuDeviceGetPCIBusId)(bus_id, sizeof(bus_id), 0) != CUDA_SUCCESS)
		return 0;
	return link_rate("", bus_id);
}

/* Asynchronous copies of pinned memory do not wait; the profile knows the others. */
static bool may_wait(size_t row)
{
	enum real_class class = real_driver_facts[row].class;

	return class != REAL_PASS && class != REAL_LOCAL &&
	       (class != REAL_COPY || strstr(real_driver_facts[row].name, "Async") == NULL);
}

void shim_device_found(void)
{
	char name[128];
	struct utsname kernel;
	struct limits limits;
	struct trace_facts facts = {
		.began_ns = shim_began_ns,
		.function_name = name_of_row,
		.functions = REAL_ROW_COUNT,
		.may_wait = may_wait,
	};

	if (!state_active || atomic_exchange(&state_device_found, true))
		return;
	int saved = errno;
	/* If this thread were canceled here, no other thread would do the rest. */
	hp_uncancellable_begin();
	owner = getpid();
	keep_files(&limits);
	shim_large_with_device();
	start_pinning(&limits);
	staging_start();
	if (some_device_has(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS))
		visibility_raise(REAL_SEEN_MANAGED);
	if (hp_keeps(page_tables) &&
	    some_device_has(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES))
		pin_stop("the device reads the host's page tables itself");
	if (uname(&kernel) == 0 && !hp_procfile_fork_keeps_pins(kernel.release) &&
	    hp_keeps(fork_keeps_pins))
		pin_stop("a fork would move pinned pages away on this kernel");
	if (REAL(cuDeviceGetName)(name, sizeof(name), 0) == CUDA_SUCCESS)
		facts.device = name;
	/* test/standin gives its device this name; its times are modeled. */
	on_stand_in = facts.device != NULL && strcmp(name, "stand-in device") == 0;
	facts.on_stand_in = on_stand_in;
	facts.link_bytes_per_s = rate_of_link();
	REAL(cuDriverGetVersion)(&facts.driver_version);
	trace_start(&facts);
	if (trace_active()) {
		gate_set(GATE_PROFILE);
		exit_prepare();
		atomic_store(&pin_told, trace_pinned);
	} else {
		hp_procfile_seal();
	}
	atomic_store(&state_copies_pass, !trace_active() && hp_options->route == COPY_AUTO);
	unknown_find_linked();
	/* The driver has registered its handler already, so this one runs before it. */
	on_exit(finish, NULL);
	hp_uncancellable_end();
	errno = saved;
}
