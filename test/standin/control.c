/*
 * control.c - the interface of standin.h.
 *
 * Tests call it between driver calls, so each function takes the lock itself.
 */
#include "engine.h"
#pragma GCC visibility push(default)
#include "standin.h"
#pragma GCC visibility pop
#include "control.h"

static void enter(void)
{
	pthread_mutex_lock(&engine.lock);
	engine_load();
}

static void leave(void)
{
	pthread_mutex_unlock(&engine.lock);
}

static struct stream *stream_of(CUstream handle)
{
	struct stream *s = NULL;

	if (ctx_check() != CUDA_SUCCESS || stream_get(handle, false, &s) != CUDA_SUCCESS)
		return NULL;
	return s;
}

int standin_step(CUstream handle, int n)
{
	struct stream *s;
	int ran = 0;

	enter();
	s = stream_of(handle);
	if (s != NULL)
		ran = stream_step(s, n);
	leave();
	return ran;
}

int standin_step_all(void)
{
	int ran;

	enter();
	ran = step_all();
	leave();
	return ran;
}

int standin_pending(CUstream handle)
{
	struct stream *s;
	int n;

	enter();
	s = stream_of(handle);
	n = s != NULL ? s->queued : -1;
	leave();
	return n;
}

const char *standin_log_text(void)
{
	const char *text;

	enter();
	text = log_text();
	leave();
	return text;
}

void standin_log_reset(void)
{
	enter();
	log_reset();
	leave();
}

int standin_calls(const char *name)
{
	int n;

	enter();
	n = log_calls(name);
	leave();
	return n;
}

size_t standin_registered_bytes(void)
{
	size_t n;

	enter();
	n = registered_bytes;
	leave();
	return n;
}

int standin_registrations(void)
{
	int n;

	enter();
	n = registrations;
	leave();
	return n;
}

int standin_pinned(const void *ptr)
{
	const struct block *block;
	int how = 0;

	enter();
	block = block_find((uintptr_t)ptr);
	if (block != NULL && block_is_host(block))
		how = block->kind == B_HOST || block->pin >= 0 ? 2 : 1;
	leave();
	return how;
}

int standin_guard_errors(void)
{
	int n;

	enter();
	n = guard_errors;
	leave();
	return n;
}

int standin_orphan_calls(void)
{
	return engine.orphan_calls;
}

uint64_t standin_clock_ns(void)
{
	return engine.clock_ns;
}

void standin_clock_pass(uint64_t ns)
{
	enter();
	clock_spend(ns);
	leave();
}

void *standin_host(CUdeviceptr ptr)
{
	const struct block *block;
	void *host = NULL;

	enter();
	block = block_find(ptr);
	if (block != NULL)
		host = block_host(block, ptr);
	leave();
	return host;
}

int standin_unmodeled(const char *name);

int standin_unmodeled(const char *name)
{
	return call_begin(name, NEED_NOTHING, "") ?: call_end(CUDA_ERROR_NOT_SUPPORTED);
}
