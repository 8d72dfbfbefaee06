/*
 * selftest_steps.c - tests of STANDIN_STEPS=random: streams advance by themselves in a legal
 * order.  The thread that advances them ends with its context, and blocks neither a forked child
 * nor exit.
 */
#include "selftest.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BYTES 4096

static CUcontext start_moving(void)
{
	setenv("STANDIN_STEPS", "random:5", 1);
	return start();
}

/* Waits until the stream is empty, without a call that could advance it; for a minute at most. */
static bool empties(CUstream s)
{
	time_t end = time(NULL) + 60;

	while (standin_pending(s) != 0 && time(NULL) < end)
		sched_yield();
	return standin_pending(s) == 0;
}

static void launch(CUstream s)
{
	static CUfunction noop;

	if (noop == NULL)
		noop = kernel("standin_noop");
	CHECK_EQ(cuLaunchKernel(noop, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL), 0);
}

TEST_AFTER(streams_move_by_themselves, start_moving())
{
	CUdeviceptr at;
	CUstream s;

	at = device(BYTES);
	s = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuMemsetD8Async(at, 7, BYTES, s), 0);
	launch(s);
	CHECK(empties(s));
	CHECK_EQ(peek(at), 7);
}

static void CUDA_CB overwrite(void *p)
{
	memset(p, 2, 1 << 20);
}

/* The first node of a launch may run while the launch reads the source of the second. */
TEST(a_launch_reads_its_pageable_sources_before_it_begins)
{
	const size_t bytes = 1 << 20;
	unsigned char *p = pages(bytes, 1);
	CUgraphExec exec;
	CUdeviceptr at;
	CUgraph graph;
	CUstream s, other;

	start_moving();
	at = device(bytes);
	s = stream(CU_STREAM_NON_BLOCKING);
	other = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	CHECK_EQ(cuLaunchHostFunc(s, overwrite, p), 0);
	CHECK_EQ(cuMemcpyHtoDAsync(at, p, bytes, s), 0);
	CHECK_EQ(cuStreamEndCapture(s, &graph), 0);
	CHECK_EQ(cuGraphInstantiate(&exec, graph, 0), 0);
	for (int i = 0; i < 400; i++) {
		memset(p, 1, bytes);
		/* Other work keeps the thread awake that moves the streams. */
		for (int j = 0; j < 10; j++)
			launch(other);
		CHECK_EQ(cuGraphLaunch(exec, s), 0);
		CHECK_EQ(cuStreamSynchronize(s), 0);
		CHECK_EQ(peek(at), 1);
		CHECK_EQ(peek(at + bytes - 1), 1);
		CHECK_EQ(p[0], 2);
	}
	CHECK_EQ(cuGraphExecDestroy(exec), 0);
	CHECK_EQ(cuGraphDestroy(graph), 0);
}

TEST(not_unless_that_is_asked_for)
{
	CUstream s;

	unsetenv("STANDIN_STEPS");
	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	launch(s);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
}

/* Both states occur: complete before the call returns, and not. */
TEST(some_are_over_on_return_and_some_are_not)
{
	time_t end = time(NULL) + 60;
	bool over = false, pending = false;
	CUdeviceptr at;
	CUstream s;

	start_moving();
	at = device(BYTES);
	s = stream(CU_STREAM_NON_BLOCKING);
	while ((!over || !pending) && time(NULL) < end) {
		CHECK_EQ(cuMemsetD8Async(at, 7, BYTES, s), 0);
		if (standin_pending(s) == 0)
			over = true;
		else
			pending = true;
	}
	CHECK(over);
	CHECK(pending);
}

static void appended(void *data)
{
	int *list = ((int **)data)[0];
	int what = (int)(intptr_t)((void **)data)[1];

	list[++list[0]] = what;
}

/* Two streams with an event between them: each in order, the second after the first. */
TEST(the_order_is_kept)
{
	enum { COUNT = 200 };
	static int list[2 * COUNT + 1];
	static void *items[2 * COUNT][2];
	CUstream first, second;
	CUevent event;

	start_moving();
	first = stream(CU_STREAM_NON_BLOCKING);
	second = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), 0);
	for (int i = 0; i < 2 * COUNT; i++) {
		CUstream s = i / 10 % 2 == 0 ? first : second;

		if (i % 10 == 0) {
			CHECK_EQ(cuEventRecord(event, s == first ? second : first), 0);
			CHECK_EQ(cuStreamWaitEvent(s, event, 0), 0);
		}
		items[i][0] = list;
		items[i][1] = (void *)(intptr_t)i;
		CHECK_EQ(cuLaunchHostFunc(s, appended, items[i]), 0);
	}
	CHECK_EQ(cuCtxSynchronize(), 0);
	CHECK_EQ(list[0], 2 * COUNT);
	for (int i = 0; i < 2 * COUNT; i++)
		CHECK_EQ(list[i + 1], i);
}

static pthread_t calling;
static _Atomic int faults;
static unsigned char *closed;

static void open_again(int signal)
{
	(void)signal;
	CHECK(pthread_equal(pthread_self(), calling));
	faults++;
	mprotect(closed, BYTES, PROT_READ | PROT_WRITE);
}

/* The calling thread gets the faults of the program's memory. */
TEST_AFTER(pageable_memory_is_the_callers, start_moving())
{
	struct sigaction action = { .sa_handler = open_again };
	CUdeviceptr at;

	at = device(BYTES);
	closed = pages(BYTES, 3);
	calling = pthread_self();
	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < 300; i++) {
		mprotect(closed, BYTES, PROT_NONE);
		CHECK_EQ(i % 2 == 0 ? cuMemcpyHtoD(at, closed, BYTES)
				    : cuMemcpyDtoH(closed, at, BYTES),
			 0);
	}
	CHECK_EQ(faults, 300);
	CHECK_EQ(peek(at), 3);
}

/* Any thread reads pinned memory when the copy runs. */
TEST(pinned_memory_is_read_at_some_time)
{
	unsigned char *source = pages(BYTES, 1);
	CUdeviceptr at;
	CUstream s;

	start_moving();
	at = device(BYTES);
	s = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuMemHostRegister(source, BYTES, 0), 0);
	CHECK_EQ(cuMemcpyHtoDAsync(at, source, BYTES, s), 0);
	CHECK(empties(s));
	memset(source, 2, BYTES);
	CHECK_EQ(peek(at), 1);
	CHECK_EQ(cuMemHostUnregister(source), 0);
}

TEST(contexts_come_and_go)
{
	for (int i = 0; i < 200; i++) {
		CUcontext ctx;
		CUdeviceptr at;
		CUstream s;

		if (i == 0)
			start_moving();
		CHECK_EQ(cuCtxCreate_v2(&ctx, 0, 0), 0);
		at = device(BYTES);
		s = stream(CU_STREAM_NON_BLOCKING);
		for (int n = 0; n < i % 7; n++)
			CHECK_EQ(cuMemsetD8Async(at, 1, BYTES, n % 2 == 0 ? s : NULL), 0);
		if (i % 3 == 0)
			CHECK_EQ(cuStreamDestroy(s), 0);
		CHECK_EQ(cuCtxDestroy(ctx), 0);
	}
	CHECK_EQ(standin_guard_errors(), 0);
}

static CUcontext shared;

static void *move_bytes(void *arg)
{
	CUdeviceptr at, there;
	unsigned char back[64];
	CUstream s;

	(void)arg;
	CHECK_EQ(cuCtxSetCurrent(shared), 0);
	at = device(BYTES);
	there = device(BYTES);
	s = stream(CU_STREAM_DEFAULT);
	for (int i = 0; i < 300; i++) {
		CHECK_EQ(cuMemsetD8Async(at, (unsigned char)i, BYTES, s), 0);
		CHECK_EQ(cuMemcpyDtoDAsync(there, at, BYTES, s), 0);
		CHECK_EQ(cuMemcpyDtoHAsync(back, there, sizeof(back), s), 0);
		CHECK_EQ(back[63], (unsigned char)i);
	}
	CHECK_EQ(cuMemFree(at), 0);
	CHECK_EQ(cuMemFree(there), 0);
	CHECK_EQ(cuStreamDestroy(s), 0);
	return NULL;
}

TEST(many_threads_call)
{
	shared = start_moving();
	check_in_threads(8, move_bytes);
}

/* The process forks while the thread is at any point. */
TEST_AFTER(children, start_moving())
{
	CUdeviceptr at;
	CUstream s;

	at = device(BYTES);
	s = stream(CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < 100; i++) {
		for (int n = 0; n < 5; n++)
			CHECK_EQ(cuMemsetD8Async(at, 1, BYTES, s), 0);
		if (CHECK_CHILD(9)) {
			alarm(check_limit(60));
			bool refused = cuStreamSynchronize(s) == CUDA_ERROR_NOT_INITIALIZED;

			standin_pending(s);
			exit(refused && standin_orphan_calls() == 1 ? 9 : 1);
		}
	}
	CHECK_EQ(cuStreamSynchronize(s), 0);
}

static void stay(void *data)
{
	*(_Atomic int *)data = 1;
	for (;;)
		pause();
}

/* Exits with pending work of any kind, after so many operations. */
static void exit_with_work(int count)
{
	static _Atomic int stays;
	CUdeviceptr at;
	CUstream s;

	start_moving();
	at = device(BYTES);
	s = stream(CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < count; i++)
		CHECK_EQ(cuMemsetD8Async(at, 1, BYTES, s), 0);
	if (count % 2 != 0) {
		CHECK_EQ(cuLaunchHostFunc(s, stay, (void *)&stays), 0);
		while (stays == 0)
			sched_yield();
	}
	exit(check_failures == 0 ? 9 : 1);
}

TEST(exit_with_work_left)
{
	for (int i = 0; i < 40; i++) {
		if (CHECK_CHILD(9)) {
			alarm(check_limit(60));
			exit_with_work(i);
		}
	}
}

CHECK_MAIN()
