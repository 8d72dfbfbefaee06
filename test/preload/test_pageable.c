/*
 * test_pageable.c - a block that is pinned while the program asks about it, and one that the
 * program frees while it has registered it.  test/hazards/hazards_ask.c has the answers about a
 * pinned block.
 */
#include "promote.h"

#include <pthread.h>

#define BYTES (4 * MIB)

/* Never registered: the driver's answers for unknown memory. */
static char stranger[4096];

struct question {
	CUresult (*ask)(char *at);
	char *at;
	CUresult answer;
};

static void *ask_it(void *arg)
{
	struct question *question = arg;

	OK(cuCtxSetCurrent(context));
	question->answer = question->ask(question->at);
	return NULL;
}

/*
 * The library has checked the block, which is not pinned.  Before the driver does, another thread
 * makes enough copies from the block to pin it.
 */
static void pinned_meanwhile(const char *function, CUresult (*question)(char *at))
{
	begin();
	CUresult known = question(stranger);
	free(promoted(BYTES));
	char *block = aligned_alloc(2 * MIB, BYTES + MIB);
	fill(block, BYTES, 6);
	struct question asked = { .ask = question, .at = block, .answer = CUDA_ERROR_UNKNOWN };
	standin_hold(function, STANDIN_AT_CALL, 0);
	pthread_t thread = check_thread(ask_it, &asked);
	WAIT_FOR(standin_held() == 1);
	for (int i = 0; i < 50; i++)
		OK(cuMemcpyHtoD_v2(there, block, BYTES));
	standin_release();
	pthread_join(thread, NULL);
	CHECK_EQ(asked.answer, known);
	CHECK_EQ(heat(block, BYTES), preloaded());
	CHECK(device_holds(there, BYTES, 6));
}

/* Tests `function`, whose answer about the address `at` is a number. */
#define PINNED_WHILE(id, function, answer)       \
	static CUresult id(char *at)             \
	{                                        \
		return answer;                   \
	}                                        \
	TEST(pinned_while_##id)                  \
	{                                        \
		pinned_meanwhile(#function, id); \
	}

static CUresult all_of(char *at)
{
	CUpointer_attribute kind = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
	unsigned type = 0;

	OK(cuPointerGetAttributes(1, &kind, (void *[]){ &type }, (CUdeviceptr)at));
	return (CUresult)type;
}

PINNED_WHILE(asked_for_one, cuPointerGetAttribute,
	     cuPointerGetAttribute(&(unsigned){ 0 }, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				   (CUdeviceptr)at))
PINNED_WHILE(asked_for_all, cuPointerGetAttributes, all_of(at))
PINNED_WHILE(told, cuPointerSetAttribute,
	     cuPointerSetAttribute(&(int){ 0 }, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (CUdeviceptr)at))
PINNED_WHILE(asked_for_flags, cuMemHostGetFlags, cuMemHostGetFlags(&(unsigned){ 0 }, at))
PINNED_WHILE(asked_where, cuMemHostGetDevicePointer,
	     cuMemHostGetDevicePointer_v2(&(CUdeviceptr){ 0 }, at, 0))
PINNED_WHILE(asked_how_large, cuMemGetAddressRange,
	     cuMemGetAddressRange_v2(&(CUdeviceptr){ 0 }, NULL, (CUdeviceptr)at))
PINNED_WHILE(unregistered, cuMemHostUnregister, cuMemHostUnregister(at))

/* A registration may outlive the block, whose memory is not reused in that time. */
TEST_AFTER(freed_while_it_is_registered, begin())
{
	char *block = promoted(BYTES);

	if (!preloaded())
		CHECK_SKIP("natively the pages go and the registration is a trap");
	OK(cuMemHostRegister_v2(block, BYTES, 0));
	volatile uintptr_t address = (uintptr_t)block;
	free(block);
	/* All at the same time: starts vary within their rooms, so not every one would fit. */
	char *others[8];
	for (unsigned i = 0; i < 8; i++) {
		char *other = others[i] = malloc(BYTES);

		CHECK((uintptr_t)other + BYTES <= address || (uintptr_t)other >= address + BYTES);
		fill(other, BYTES, i);
		OK(cuMemcpyHtoD_v2(there, other, BYTES));
		CHECK(device_holds(there, BYTES, i));
	}
	for (int i = 0; i < 8; i++)
		free(others[i]);
	OK(cuMemHostUnregister((void *)address));
}

PRELOAD_MAIN()
