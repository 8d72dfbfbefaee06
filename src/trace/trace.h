/*
 * Collects the profile: the program's operations and their times.
 *
 * The shim reports to this layer, which calls no code above base/.  With HOTPIN_PROFILE=off and no
 * HOTPIN_OUT, nothing here runs.  HOTPIN_OUT alone asks for the JSON without the table; with
 * HOTPIN_PROFILE=summary or trace, hotpin writes both.
 */
#ifndef HP_TRACE_TRACE_H
#define HP_TRACE_TRACE_H

#include "trace/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shim's facts about the driver, for the report's head.  Strings are copied. */
struct trace_facts {
	const char *device;        /* cuDeviceGetName of device 0; NULL: unknown */
	int driver_version;        /* as cuDriverGetVersion gives it; 0: unknown */
	uint64_t link_bytes_per_s; /* of device 0, as link_rate() gives it; 0: unknown */
	bool on_stand_in;          /* the test driver: times are modeled */
	uint64_t began_ns;         /* hp_now_ns() when the process began; 0: with this call */
	/* The names of the driver functions whose numbers trace_called() takes; NULL: none. */
	const char *(*function_name)(size_t function);
	size_t functions;
	/* False: no call of it tells the host that a copy is complete.  NULL: any may. */
	bool (*may_wait)(size_t function);
};

/*
 * Starts sampling host code, if HOTPIN_PROFILE or HOTPIN_OUT asks for a profile: the constructor
 * calls this in the process that `hotpin run` became and in what that executes, and in each process
 * that preloads the library by itself.  Starts a thread, which blocks all signals except faults.
 * `began_ns`: hp_now_ns() when the process began.  `on_end` runs in that thread when all threads of
 * the program have ended, with the status of the first one, in the form of waitpid(2): hotpin's
 * threads keep the process alive.
 */
void trace_begin(uint64_t began_ns, void (*on_end)(int status));

/* True from trace_begin() or trace_start() to trace_stop(); never in a child of fork(). */
bool trace_begun(void);

/*
 * Starts collecting calls, after the first cuInit() of this process has succeeded, if a profile is
 * asked for.  A descendant of `hotpin run` begins to sample host code here.  A failure only reduces
 * accuracy, and the report says so.  Once a process, in the program's thread, with no lock held.
 * Loads CUPTI, which has another thread.  May change errno.
 */
void trace_start(const struct trace_facts *facts);

/*
 * True while calls are collected: from trace_start() to trace_stop(); never in a child of fork().
 */
bool trace_active(void);

/*
 * Adds one copy that succeeded.  Any thread.  Takes short locks of ours; never calls the driver.
 * For a call from a new place, unwinds the stack and asks the loader.
 */
void trace_copied(const struct trace_copy *copy);

/*
 * Notes that a copy of `bytes` is about to go through staging memory.  Returns a ticket for
 * trace_staged(), which follows before trace_copied().  `moved` is the number of bytes that went
 * through.  The calling thread makes all driver calls for them in between.
 */
uint64_t trace_staging(enum trace_direction direction, uint64_t bytes);
void trace_staged(uint64_t ticket, uint64_t moved);

/*
 * Notes that `allocator` allocated a large block and returns to `caller`.  `frame` is a
 * __builtin_frame_address(0) below.  Inside malloc(); any lock may be held.
 */
void trace_allocated(uint32_t allocator, const void *caller, const void *frame);

/*
 * Notes that pinning (`begins`) or unpinning one of its blocks took `ns`.  Any thread, no lock
 * held.
 */
void trace_pinned(uint32_t allocator, bool begins, uint64_t bytes, uint64_t ns);

/*
 * Notes that the program has pinned a block, by cuMemHostAlloc() or, if `registered`, by
 * cuMemHostRegister(), or that it has ended that.  The other arguments are as those of
 * trace_called().
 */
void trace_program_pinned(const void *block, uint64_t bytes, bool registered, uint64_t enter_ns,
			  uint64_t leave_ns, const void *frame);
void trace_program_unpinned(const void *block, uint64_t enter_ns, uint64_t leave_ns);

/* True if the environment asks for a profile. */
bool trace_wanted(void);

/*
 * Notes that a part of the capture range begins or ends: by an NVTX range, or by cuProfilerStart()
 * and cuProfilerStop(), which have an effect only if HOTPIN_CAPTURE names them.  Any thread, no
 * lock held, also before trace_start().
 */
void trace_captures(bool begins);
void trace_profiler(bool starts);

/*
 * Adds a call of the calling thread.  `function` is a number in the table of struct trace_facts;
 * `frame` is the __builtin_frame_address(0) of the exported function.  Any thread, no lock held.
 * Calls before trace_start() are not counted.  By its name, a function may start CUDA, launch work
 * or wait for the device.
 */
void trace_called(size_t function, uint64_t enter_ns, uint64_t leave_ns, const void *frame);

/* Notes a call whose function has no number.  Any thread. */
void trace_called_unknown(void);

/* Notes that CUDA was starting during this time, perhaps without a driver call.  Any thread. */
void trace_starting(uint64_t from_ns, uint64_t to_ns);

/* Counts the launch of a kernel or a graph.  Any thread. */
void trace_launched(enum trace_launch launch);

/* Adds a wait of the host for deferred copies. */
void trace_joined(uint64_t enter_ns, uint64_t leave_ns);

/*
 * Collects the device's records, which would be lost with a context that is destroyed or reset.
 * Waits at most 5 s.  Called after the context's work is complete and before the context is
 * destroyed or reset.
 */
void trace_flush(void);

/* Ends collecting: later operations are not in the report.  The caller waits at most 10 s. */
void trace_stop(void);

/*
 * Ends collecting if necessary, and writes the table to stderr (or the log file) and the JSON to
 * HOTPIN_OUT.  Does nothing if the process used no device and a child has written a profile.  Once:
 * later calls do nothing.  A call in another process than trace_start()'s (a
 * child of vfork() that calls _exit()) also does nothing.  Work that is still in flight on the
 * device is missing from the report: wait for it before this call.  Errors cause a warning.  errno
 * and the program's exit status do not change.
 */
void trace_finish(void);

/* Sets the exit status of the process.  The parent sees its last eight bits.  Any thread. */
void trace_exits_with(int status);

/* In the child of fork(): forgets all data and collects nothing. */
void trace_after_fork_child(void);

#endif
