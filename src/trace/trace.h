/*
 * What happened and how long it took: the profile.
 *
 * A sink: the shim reports to it, it calls nobody above base/.  With HOTPIN_PROFILE=off and no
 * HOTPIN_OUT nothing here runs.  HOTPIN_OUT alone asks for the JSON without the table; with
 * HOTPIN_PROFILE=summary or trace both are written.
 */
#ifndef HP_TRACE_TRACE_H
#define HP_TRACE_TRACE_H

#include "trace/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the shim knows of the driver, for the report's head.  Strings are copied. */
struct trace_facts {
	const char *device;               /* cuDeviceGetName of device 0; NULL: unknown */
	const unsigned char *device_uuid; /* 16 bytes; NULL: unknown */
	int driver_version;               /* as cuDriverGetVersion gives it; 0: unknown */
	bool on_stand_in;                 /* the test driver: times are modeled */
	uint64_t began_ns; /* hp_now_ns() when the process began; 0: with this call */
	/* The driver functions that trace_called() is told of, by number; NULL: of none. */
	const char *(*function_name)(size_t function);
	size_t functions;
};

/*
 * The first cuInit() of this process has succeeded.  Starts collecting if HOTPIN_PROFILE or
 * HOTPIN_OUT asks for it; anything that fails costs accuracy, said in the report, and nothing else.
 * Once a process, in the program's thread, with no lock held: it loads CUPTI and starts two
 * threads, both with all signals blocked but faults.
 */
void trace_start(const struct trace_facts *facts);

/* Is anything collected?  From trace_start() to trace_stop(); never in a child of fork. */
bool trace_active(void);

/*
 * One copy that succeeded.  Any thread; short locks of ours; never calls the driver.  Where the
 * call comes from a place that was not seen before, it unwinds the stack and asks the loader.
 */
void trace_copied(const struct trace_copy *copy);

/*
 * A copy of `bytes` is about to go through staging memory; trace_staged() with what
 * this returned says how many did, and whether the last of it is still on its way, before
 * trace_copied().  Any thread.
 */
uint64_t trace_staging(enum trace_direction direction, uint64_t bytes);
void trace_staged(uint64_t ticket, uint64_t moved, bool in_flight);

/* Likewise of one that is cut at borders and goes straight to the memory that the program named. */
uint64_t trace_cutting(enum trace_direction direction, uint64_t bytes);

/*
 * A large block was allocated by `allocator`, which returns to `caller`; `frame` is a
 * __builtin_frame_address(0) below.  Inside malloc(), any lock may be held.
 */
void trace_allocated(uint32_t allocator, const void *caller, const void *frame);

/* One of its blocks was pinned, or unpinned, which took `ns`.  Any thread, no lock held. */
void trace_pinned(uint32_t allocator, bool begins, uint64_t bytes, uint64_t ns);

/* Does the environment ask for a profile? */
bool trace_wanted(void);

/*
 * A stage of the program begins, `domain` may be ""; returns what trace_stage_ends() wants.  Any
 * thread, before trace_start() too.
 */
uint64_t trace_stage_begins(const char *domain, const char *name);
void trace_stage_ends(uint64_t ticket);

/*
 * The calling thread was inside a driver function of the facts' table; `frame` is
 * __builtin_frame_address(0) of the exported function.  Any thread, no lock held; also before
 * trace_start(), when it is not counted.
 */
void trace_called(size_t function, uint64_t enter_ns, uint64_t leave_ns, const void *frame);

/* Meanwhile CUDA was being started, though perhaps by no call of the driver.  Any thread. */
void trace_starting(uint64_t from_ns, uint64_t to_ns);

/* A kernel or a graph was launched.  Any thread. */
void trace_launched(enum trace_launch launch);

/* The host waited for the device inside a call that asks for just that. */
void trace_waited(uint64_t enter_ns, uint64_t leave_ns);

/* The host waited for copies that had returned early. */
void trace_joined(uint64_t enter_ns, uint64_t leave_ns);

/*
 * The device's records would be lost with a context that goes away now: collects them.  Waits 5 s
 * at most; call it after the context's work is done and before it is destroyed or reset.
 */
void trace_flush(void);

/*
 * Ends collecting: what happens from here on is not in the report.  The caller does not wait for
 * more than 10 s.
 */
void trace_stop(void);

/* Bytes a second that the link carries, 0: not known.  Between trace_stop() and trace_finish(). */
void trace_peak(uint64_t h2d, uint64_t d2h);

/*
 * Ends collecting, unless it has ended, and writes the table to stderr (or the log file) and the
 * JSON to HOTPIN_OUT.  Once; later calls do nothing, and neither does a call in another process
 * than trace_start()'s (a child of vfork that calls _exit).  Work that still runs on the device is
 * missing from the report: wait for it before.  Errors cost a warning; errno and the program's exit
 * status stay.
 */
void trace_finish(void);

/*
 * In the place of all of these, for the process that `hotpin run` became: it ends, and there never
 * was a trace_start().  Its profile says so, unless one of its children has written one.
 */
void trace_without_device(uint64_t began_ns);

/* The process exits with this, of which its parent sees the last eight bits.  Any thread. */
void trace_exits_with(int status);

/* In the child of fork(): forgets everything, collects nothing. */
void trace_after_fork_child(void);

#endif
