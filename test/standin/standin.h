/*
 * standin.h - how tests control the stand-in driver, and query it.
 *
 * The stand-in driver and runtime are libcuda.so.1 and libcudart.so in software.  A stream
 * advances only if a test steps it, at random (STANDIN_STEPS), or if a call has to wait.
 * Asynchronous copies read pinned memory when they are executed, and freed memory is invalid.  So a
 * missing wait always shows as wrong bytes.
 *
 * Tests that preload something find these functions in the loaded libcuda.so.1 by dlsym(); tests
 * that link the engine call them.  All are thread-safe.  None counts as a CUDA call or is logged.
 *
 * Environment, read at the first call; abort() ends the process if a value cannot be read, or names
 * no function:
 *   STANDIN_LOG=path           each call is appended to path as one line
 *   STANDIN_FAIL=name:n[:code][,...]
 *                              the nth call of name returns code (default 2, OUT_OF_MEMORY) and has
 *                              no effect; a name without _v2, _ptsz... means all of its flavors
 *   STANDIN_SLOW=name:ms       calls of name take effect and return so much later, by the modeled
 *                              clock too; only inside such a call can a thread be canceled
 *   STANDIN_LATE=name:ms       calls of name take effect so much later
 *   STANDIN_JITTER=us          one call in eight takes effect later, by a random time below that
 *   STANDIN_STEPS=random[:seed]
 *                              streams also advance by themselves: a thread runs ready operations,
 *                              one at a time, each at random, and some calls run one before they
 *                              return; only calling threads access pageable memory
 *   STANDIN_DEVICES=n          number of devices, default 1; 0 makes cuInit return 100
 *   STANDIN_VERSION=13000      driver version; newer entry points are not found
 *   STANDIN_HMM=1              CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS is 1
 *   STANDIN_ATS=1              and CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
 *   STANDIN_EXTRA=1            cuGetProcAddress finds cuStandinUnknownThing, cuStandinCopyThing and
 *                              cuStandinBeginRecaptureThing (see below), and addresses for
 *                              cuStandinOther0 to 999
 *   STANDIN_PINNED_MIB=n       the most memory that can be pinned at a time; 0: no limit
 *   STANDIN_REENTER=1          cuInit looks itself up by dlsym() and cuGetProcAddress, as drivers
 *                              from 570 on and the one of WSL2 do
 *   STANDIN_REALTIME=n         calls take n times the modeled time.  Moving the bytes in software
 *                              takes 10 to 20 times as long as a device, so ratios are true from
 *                              about 30 on
 *   STANDIN_AHEAD=1            a synchronous upload of 64 KiB or less from pageable memory to an
 *                              empty stream returns although the legacy stream is busy, as on a
 *                              device; there the work continues by itself, here it does not
 *   STANDIN_LEAN=1             freed device memory and buffers of copies leave the process at once;
 *                              else they stay, which saves page faults
 *   STANDIN_PINS=path          a file of STANDIN_PINS struct standin_pins (pins.h), in which each
 *                              process tells a watching one how much it has registered
 *   STANDIN_PINS_LIMIT=bytes   what a process may have registered by that count, with K, M or G;
 *                              abort() ends it if it registers more
 *   STANDIN_PIN=soft           registrations hold no pages (as if io_uring were forbidden)
 *
 * old/libcuda.so.1 is the same driver without cuGetProcAddress_v2, with version 11050, as of CUDA
 * 11.5.
 *
 * A kernel runs as its host twin: a function that the program or a library exports (-rdynamic)
 * under the name standin_twin_<kernel name>, mangled names included.  The program also exports the
 * sizes of the kernel's parameters:
 *   const unsigned standin_args_<kernel name>[] = { 4, 8, ..., 0 };
 * A launch of a kernel without a twin fails with CUDA_ERROR_NOT_SUPPORTED.  The kernel standin_noop
 * is built in and has no parameters.  A kernel counts as one that prints if standin_prints_<kernel
 * name> is exported.  The size of a module's global variable is the exported
 * `const size_t standin_size_<name>`, or else 1 MiB.
 *
 *   CUresult cuStandinUnknownThing(CUdeviceptr ptr, void *out, size_t bytes);
 *   CUresult cuStandinCopyThing(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
 *   CUresult cuStandinBeginRecaptureThing(CUstream stream);
 * are driver functions that no header declares.  The first reads device memory in its present
 * state; the second is as cuMemcpyDtoHAsync, the third as cuStreamBeginCapture with mode GLOBAL.
 */
#ifndef STANDIN_STANDIN_H
#define STANDIN_STANDIN_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Precedes twins and their tables, so that the stand-in finds them in any build. */
#define STANDIN_EXPORT __attribute__((visibility("default")))

/* The type of a twin; args[i] points at a copy of parameter i, taken at the launch. */
typedef void standin_twin_fn(const unsigned grid[3], const unsigned block[3], void **args);

/*
 * Runs up to n operations of the stream, and none of other streams.  Returns their number: less
 * than n if the stream is empty or waits for another.  NULL is the legacy stream of the current
 * context.
 */
int standin_step(CUstream stream, int n);
/* Runs all queued operations of all streams; returns their number. */
int standin_step_all(void);
/* Returns the number of operations in the stream, -1 if there is no such stream. */
int standin_pending(CUstream stream);

/* Returns a copy of the call log, one call a line; valid until the next call of this function. */
const char *standin_log_text(void);
void standin_log_reset(void);
/* Returns the calls since the last reset; `name` has its suffix, or none for all flavors. */
int standin_calls(const char *name);

/* Return the bytes under cuMemHostRegister, and the number of registrations. */
size_t standin_registered_bytes(void);
int standin_registrations(void);
/*
 * Returns 0: not pinned; 1: registered, but DMA would see remapped pages; 2: the pages are held, so
 * that after munmap() and mmap() DMA continues with the old ones, as on a device.
 */
int standin_pinned(const void *ptr);

/*
 * Stops one thread in the middle of a driver call, so that a test can look at that moment.
 *
 * The next call of `name` (a name without _v2, _ptsz... means all of its flavors), after `passing`
 * of them have gone through, stops at `place` until standin_release().  Later calls pass.
 */
enum standin_place {
	STANDIN_AT_CALL,   /* before the call has any effect */
	STANDIN_AT_RETURN, /* after its effect, before it returns */
};
void standin_hold(const char *name, enum standin_place place, int passing);
/* Returns the number of held threads; it can exceed 1 after several standin_hold(). */
int standin_held(void);
/* Releases all of them, and holds no further call. */
void standin_release(void);

/* Returns the calls made after fork(), in the child of a process that used a device. */
int standin_orphan_calls(void);
/* Returns the number of damaged guard bytes found by frees; each was also reported on stderr. */
int standin_guard_errors(void);

/* Returns the virtual time of the host, in ns since the first call.  Takes no lock. */
uint64_t standin_clock_ns(void);
/* Advances the virtual time of the host, as if the program computed for so long. */
void standin_clock_pass(uint64_t ns);

/* For twins: returns the host address of a device pointer, NULL if it is invalid. */
void *standin_host(CUdeviceptr ptr);

/* See above; libcuda exports it, no header of NVIDIA names it. */
CUresult cuStandinUnknownThing(CUdeviceptr ptr, void *out, size_t bytes);
CUresult cuStandinCopyThing(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuStandinBeginRecaptureThing(CUstream stream);
/* For twins: sets the duration of the running kernel on the virtual clock. */
void standin_twin_ns(uint64_t ns);
/* For twins: makes the running kernel fault; its context returns `code` from now on. */
void standin_twin_fault(CUresult code);

#ifdef __cplusplus
}
#endif
#endif
