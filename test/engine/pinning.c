/*
 * pinning.c - stands between the library and the stand-in driver.
 *
 * Every call checks for mistakes that a driver reports late or never: a lock of the library that is
 * held (the driver may block, and call back), or a call that would break a stream capture.
 */
#include "pinning.h"
#include "linked.h"
#include "base/options.h"
#include "pin/user_registration.h"

#include "watch.h"

#include <errno.h>
#include <stdio.h>

struct pinning pinning;
CUcontext context;

static const struct standin_pins *pins;

static void broken(const char *rule)
{
	printf("# rule broken: %s\n", rule);
	fflush(stdout);
	pinning.broken++;
}

static CUstreamCaptureMode capture_mode(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED, unused;

	cuThreadExchangeStreamCaptureMode(&mode);
	unused = mode;
	cuThreadExchangeStreamCaptureMode(&unused);
	return mode;
}

static void check_entry(void)
{
#ifndef NDEBUG
	for (int lock = 0; lock < HP_LOCK_COUNT; lock++)
		if (hp_lock_held((enum hp_lock)lock))
			broken("the driver is called with a lock held");
#endif
	if (capture_mode() != CU_STREAM_CAPTURE_MODE_RELAXED)
		broken("the capture mode is not relaxed");
	errno = EBADF;
}

static CUresult register_v2(void *base, size_t bytes, unsigned flags)
{
	void (*inside)(void *, size_t) = pinning.inside;
	CUresult refuse = pinning.refuse;

	pinning.registers++;
	check_entry();
	if (inside != NULL)
		inside(base, bytes);
	return refuse != CUDA_SUCCESS ? refuse : cuMemHostRegister_v2(base, bytes, flags);
}

static CUresult unregister(void *base)
{
	void (*inside)(void *) = pinning.inside_end;

	pinning.unregisters++;
	check_entry();
	if (pinning.keeps)
		return CUDA_ERROR_UNKNOWN;
	if (inside != NULL)
		inside(base);
	return cuMemHostUnregister(base);
}

static void *look_up(void *handle, const char *name)
{
	if (strcmp(name, "cuMemHostRegister_v2") == 0)
		return (void *)register_v2;
	if (strcmp(name, "cuMemHostUnregister") == 0)
		return (void *)unregister;
	return linked_look_up(handle, name);
}

void pinning_start(uint64_t budget)
{
	char limit[32];

	watch_begin();
	snprintf(limit, sizeof(limit), "%llu", (unsigned long long)budget);
	setenv("STANDIN_PINS_LIMIT", limit, 1);
	/* Nothing is copied, and the pages of large blocks take long to pin. */
	setenv("STANDIN_PIN", "soft", 1);
	hp_options_load(NULL);
	linked_load(look_up);
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	pins = watch_own();
	heap_set_device(true);
	pin_start(budget);
}

CUresult program_registers(void *address, size_t bytes)
{
	pin_before_user_registration(address, bytes);
	CUresult result = cuMemHostRegister_v2(address, bytes, 0);
	pin_after_user_registration(address, bytes, result == CUDA_SUCCESS);
	return result;
}

CUresult program_unregisters(void *address)
{
	const struct block *block = range_find(address);

	/* As the shim: the program's registration has ended with its context. */
	if (block != NULL && block_pin(block) != BLOCK_USER_REGISTERED)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	CUresult result = cuMemHostUnregister(address);
	if (result == CUDA_SUCCESS)
		pin_user_registration_ended(address);
	return result;
}

bool all_is_well(void)
{
	if (pin_bytes() != pins->now)
		broken("the sum of what is pinned is wrong");
	if (capture_mode() != CU_STREAM_CAPTURE_MODE_GLOBAL)
		broken("the capture mode is not as it was");
	if (pin_check() != 0)
		broken("pin_check()");
	if (heap_check() != 0)
		broken("heap_check()");
	return pinning.broken == 0;
}
