/*
 * fake.c - a driver that only registers memory, kept as a short list with a lock of its own.
 *
 * Every call checks for mistakes that a real driver reports late or never: a lock of the library
 * that is held (the driver may block, and call back), a call that would break a stream capture, two
 * registrations of one byte, and an exceeded pin budget.
 */
#include "fake.h"
#include "base/options.h"
#include "base/lock.h"
#include "heap/heap.h"
#include "heap/map.h"
#include "pin/user_registration.h"
#include "pin/pin.h"

#include "clock.h"
#include "heap_check.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct fake fake;

struct entry {
	uintptr_t base, owner;
	size_t bytes;
	bool ours;
};

/* Guarded by `mutex`. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct entry entries[4096];
static int count;

static __thread uintptr_t context;
static __thread CUstreamCaptureMode capture_mode;
static __thread bool is_program;

static void broken(const char *rule)
{
	printf("# rule broken: %s\n", rule);
	fflush(stdout);
	atomic_fetch_add(&fake.broken, 1);
}

static void check_entry(void)
{
#ifndef NDEBUG
	for (int lock = 0; lock < HP_LOCK_COUNT; lock++)
		if (hp_lock_held((enum hp_lock)lock))
			broken("the driver is called with a lock held");
#endif
	if (!is_program && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		broken("the capture mode is not relaxed");
	errno = EBADF;
}

static CUresult CUDAAPI get_current(CUcontext *ret)
{
	*ret = (CUcontext)context;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI set_current(CUcontext wanted)
{
	if (wanted != NULL && (uintptr_t)wanted == fake.gone)
		broken("a context is used that has been destroyed");
	void (*inside)(void) = fake.inside_set;

	if (wanted != NULL && inside != NULL)
		inside();
	context = (uintptr_t)wanted;
	return CUDA_SUCCESS;
}

/* One context may be pushed at a time. */
static __thread uintptr_t below;

static CUresult CUDAAPI push_current(CUcontext wanted)
{
	if ((uintptr_t)wanted == fake.gone)
		return CUDA_ERROR_INVALID_CONTEXT;
	below = context;
	context = (uintptr_t)wanted;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI pop_current(CUcontext *ret)
{
	*ret = (CUcontext)context;
	context = below;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI exchange_mode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = capture_mode;

	capture_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

static CUresult add(uintptr_t base, size_t bytes)
{
	for (int i = 0; i < count; i++)
		if (base < entries[i].base + entries[i].bytes && entries[i].base < base + bytes)
			return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	if (count == (int)(sizeof(entries) / sizeof(entries[0])))
		return CUDA_ERROR_OUT_OF_MEMORY;
	entries[count++] = (struct entry){ base, context, bytes, !is_program };
	if (!is_program) {
		fake.bytes += bytes;
		if (fake.bytes > fake.bytes_most)
			fake.bytes_most = fake.bytes;
		if (fake.bytes > fake.budget)
			broken("more is pinned than the budget allows");
	}
	fake.last_base = base;
	fake.last_room = bytes;
	return CUDA_SUCCESS;
}

static void drop(int index)
{
	if (entries[index].ours)
		fake.bytes -= entries[index].bytes;
	entries[index] = entries[--count];
}

static bool refuses(void)
{
	return !is_program && fake.refuse != CUDA_SUCCESS;
}

static CUresult CUDAAPI register_v2(void *base, size_t bytes, unsigned flags)
{
	void (*inside)(void *, size_t) = is_program ? NULL : fake.inside;

	atomic_fetch_add(&fake.registers, 1);
	check_entry();
	if (context == 0)
		broken("registering without a context");
	if (!is_program && flags != CU_MEMHOSTREGISTER_PORTABLE)
		broken("pinned for one context only");
	if (inside != NULL)
		inside(base, bytes);
	if (context != 0 && context == fake.gone)
		broken("a context is used that has been destroyed");
	if (pin_bytes() > fake.budget)
		broken("more is pinned than the budget allows");
	if (refuses())
		return fake.refuse;
	test_clock_pass(fake.register_ns);
	pthread_mutex_lock(&mutex);
	CUresult result = add((uintptr_t)base, bytes);
	pthread_mutex_unlock(&mutex);
	if (result == CUDA_SUCCESS)
		fake.registered++;
	if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
		fake.overlaps++;
	return result;
}

static CUresult CUDAAPI unregister(void *base)
{
	CUresult result = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;

	void (*inside)(void *) = is_program ? NULL : fake.inside_end;

	fake.unregisters++;
	check_entry();
	if (fake.keeps)
		return CUDA_ERROR_UNKNOWN;
	if (inside != NULL)
		inside(base);
	test_clock_pass(fake.unregister_ns);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < count; i++) {
		if (entries[i].base != (uintptr_t)base)
			continue;
		if (entries[i].ours == is_program)
			broken("somebody else's registration is ended");
		drop(i);
		result = CUDA_SUCCESS;
		break;
	}
	pthread_mutex_unlock(&mutex);
	if (result != CUDA_SUCCESS) {
		fake.strangers++;
		if (!fake.lenient && !is_program)
			broken("unregistering what is not registered");
	}
	return result;
}

static void *look_up(void *handle, const char *name)
{
	(void)handle;
	if (strcmp(name, "cuCtxGetCurrent") == 0)
		return (void *)get_current;
	if (strcmp(name, "cuCtxSetCurrent") == 0)
		return (void *)set_current;
	if (strcmp(name, "cuCtxPushCurrent_v2") == 0)
		return (void *)push_current;
	if (strcmp(name, "cuCtxPopCurrent_v2") == 0)
		return (void *)pop_current;
	if (strcmp(name, "cuThreadExchangeStreamCaptureMode") == 0)
		return (void *)exchange_mode;
	if (strcmp(name, "cuMemHostRegister_v2") == 0)
		return (void *)register_v2;
	if (strcmp(name, "cuMemHostUnregister") == 0)
		return (void *)unregister;
	return NULL;
}

static bool is_ours(const void *address)
{
	(void)address;
	return false;
}

void fake_start(uint64_t budget)
{
	fake.budget = budget;
	hp_options_load(NULL);
	if (real_driver_load(NULL, look_up, is_ours, (void *)abort) != 7)
		abort();
	heap_set_device(true);
	pin_start(budget);
	fake_set_context(1000);
}

void fake_set_context(uintptr_t wanted)
{
	context = wanted;
	capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
}

void fake_destroy_context(uintptr_t gone)
{
	pthread_mutex_lock(&mutex);
	for (int i = count; i-- > 0;)
		if (entries[i].owner == gone)
			drop(i);
	pthread_mutex_unlock(&mutex);
}

CUresult fake_program_register(void *address, size_t bytes)
{
	pin_before_user_registration(address, bytes);
	is_program = true;
	CUresult result = REAL(cuMemHostRegister_v2)(address, bytes, 0);
	is_program = false;
	pin_after_user_registration(address, bytes, result == CUDA_SUCCESS);
	return result;
}

CUresult fake_program_unregister(void *address)
{
	const struct block *block = range_find(address);

	/* As the shim: the program's registration has ended with its context. */
	if (block != NULL && block_pin(block) != BLOCK_USER_REGISTERED)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	is_program = true;
	CUresult result = REAL(cuMemHostUnregister)(address);
	is_program = false;
	if (result == CUDA_SUCCESS)
		pin_user_registration_ended(address);
	return result;
}

bool fake_is_registered(const void *address, size_t bytes)
{
	uintptr_t base = (uintptr_t)address;
	bool found = false;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < count; i++)
		if (base >= entries[i].base && base + bytes <= entries[i].base + entries[i].bytes)
			found = true;
	pthread_mutex_unlock(&mutex);
	return found;
}

bool fake_all_well(void)
{
	if (pin_bytes() != fake.bytes)
		broken("the sum of what is pinned is wrong");
	if (capture_mode != CU_STREAM_CAPTURE_MODE_GLOBAL)
		broken("the capture mode is not as it was");
	if (pin_check() != 0)
		broken("pin_check()");
	if (heap_check() != 0)
		broken("heap_check()");
	return fake.broken == 0;
}
