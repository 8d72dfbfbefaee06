/*
 * stream.c - queues that advance only on request.
 *
 * Every operation knows its predecessors: the previous one of its stream, the last ones of the
 * streams that the legacy stream orders it with, and the event that it waits for.  Predecessors are
 * always older, so running operations from old to new never blocks itself.  A waiting call runs
 * only what it must wait for.  Everything else stays queued, which exposes a missing wait.
 */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static struct op *oldest, *newest;
static uint64_t ids = 2; /* 0 to 2 would be mistaken for special handles */
static __thread char thread_mark;

static void op_get(struct op *op)
{
	op->refs++;
}

void op_put(struct op *op)
{
	if (op == NULL || --op->refs > 0)
		return;
	work_release(&op->work);
	free(op->deps);
	free(op);
}

struct stream *stream_new(struct ctx *ctx, unsigned flags, const void *owner)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->ctx = ctx;
	s->flags = flags;
	s->owner = owner;
	s->id = ++ids;
	s->next = ctx->streams;
	ctx->streams = s;
	return s;
}

/* Frees a stream that is empty, or whose context ends. */
void stream_free(struct stream *s)
{
	for (struct stream **at = &s->ctx->streams; *at != NULL; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	handle_free(s->handle);
	capture_forget_stream(s);
	op_put(s->last);
	free(s->tips.at);
	free(s);
}

static void reap(struct stream *s)
{
	if (s->dead && s->head == NULL)
		stream_free(s);
}

CUresult stream_create(CUstream *ret, unsigned flags)
{
	struct stream *s;

	if (ret == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	s = stream_new(ctx_current(), flags, NULL);
	if (s == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->handle = handle_new(H_STREAM, s);
	*ret = s->handle;
	return CUDA_SUCCESS;
}

/* cuda.h, cuStreamDestroy: returns immediately, and queued work continues. */
CUresult stream_destroy(CUstream handle)
{
	struct stream *s = handle_get(H_STREAM, handle);

	if (s == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	capture_break_stream(s);
	handle_free(handle);
	s->handle = NULL;
	s->dead = true;
	reap(s);
	return CUDA_SUCCESS;
}

CUresult stream_get(CUstream handle, bool per_thread, struct stream **ret)
{
	struct ctx *ctx = ctx_current();
	struct stream *s;
	CUresult rc;

	if (handle != NULL && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
		s = handle_get(H_STREAM, handle);
		if (s == NULL)
			return CUDA_ERROR_INVALID_HANDLE;
		if (s->ctx->sticky != CUDA_SUCCESS)
			return s->ctx->sticky;
		*ret = s;
		return CUDA_SUCCESS;
	}
	rc = ctx_check();
	if (rc != CUDA_SUCCESS)
		return rc;
	if (handle == CU_STREAM_LEGACY || (handle == NULL && !per_thread)) {
		*ret = ctx->legacy;
		return CUDA_SUCCESS;
	}
	for (s = ctx->streams; s != NULL; s = s->next)
		if (s->owner == &thread_mark)
			break;
	if (s == NULL)
		s = stream_new(ctx, CU_STREAM_DEFAULT, &thread_mark);
	*ret = s;
	return s != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void depend(struct op *op, struct op *on)
{
	struct op **more;

	if (on == NULL || on->state == OP_DONE)
		return;
	more = realloc(op->deps, (op->ndeps + 1) * sizeof(*more));
	if (more == NULL)
		abort();
	op->deps = more;
	op->deps[op->ndeps++] = on;
	op_get(on);
}

/* CUDA C Programming Guide, implicit synchronization: the legacy stream and blocking streams. */
static void depend_on_others(struct op *op, const struct stream *s)
{
	if (s->flags & CU_STREAM_NON_BLOCKING)
		return;
	if (!s->legacy)
		depend(op, s->ctx->legacy->last);
	for (const struct stream *o = s->ctx->streams; s->legacy && o != NULL; o = o->next)
		if (o != s && !(o->flags & CU_STREAM_NON_BLOCKING))
			depend(op, o->last);
}

static CUresult enqueue(struct stream *s, struct work *work, struct op *after, struct op **ret)
{
	struct op *op = calloc(1, sizeof(*op));

	if (op == NULL) {
		work_release(work);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	op->work = *work;
	op->stream = s;
	op->refs = 2; /* references of the queue and of the stream */
	op->queued_ns = engine.clock_ns;
	depend(op, s->last);
	depend_on_others(op, s);
	depend(op, after);
	op_put(s->last);
	s->last = op;
	*(s->tail != NULL ? &s->tail->next : &s->head) = op;
	s->tail = op;
	s->queued++;
	op->older = newest;
	*(newest != NULL ? &newest->newer : &oldest) = op;
	newest = op;
	if (ret != NULL) {
		op_get(op);
		*ret = op;
	}
	return CUDA_SUCCESS;
}

/* Checks that the stream may be used: not the legacy one during a blocking capture. */
CUresult stream_may_push(struct stream *s)
{
	return s->legacy ? capture_legacy(s->ctx) : CUDA_SUCCESS;
}

CUresult stream_push(struct stream *s, struct work *work, struct op **ret)
{
	CUresult rc;

	if (ret != NULL)
		*ret = NULL;
	if (capture_pushes(s, work, &rc))
		return rc;
	rc = stream_may_push(s);
	if (rc != CUDA_SUCCESS) {
		work_release(work);
		return rc;
	}
	return enqueue(s, work, NULL, ret);
}

CUresult stream_push_last(struct ctx *ctx, struct op **ret)
{
	struct work nop = { .kind = W_NOP };
	CUresult rc;

	if (ctx->watch == NULL)
		ctx->watch = stream_new(ctx, CU_STREAM_NON_BLOCKING, ctx);
	if (ctx->watch == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = enqueue(ctx->watch, &nop, NULL, ret);
	for (struct stream *s = ctx->streams; rc == CUDA_SUCCESS && s != NULL; s = s->next)
		if (s != ctx->watch)
			depend(*ret, s->last);
	return rc;
}

static bool op_ready(struct op *op)
{
	const struct block *block;
	uint32_t now;

	if (op->state != OP_QUEUED)
		return false;
	for (unsigned i = 0; i < op->ndeps; i++)
		if (op->deps[i]->state != OP_DONE)
			return false;
	if (op->work.kind != W_WAIT_VALUE)
		return true;
	block = block_find(op->work.wait.at);
	if (block == NULL)
		return true;
	/* As on a device, the word may change meanwhile: a test writes it without the lock. */
	const uint32_t *word = block_host(block, op->work.wait.at);
	now = __atomic_load_n(word, __ATOMIC_RELAXED);
	switch (op->work.wait.flags & 3) {
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == op->work.wait.value;
	case CU_STREAM_WAIT_VALUE_AND:
		return (now & op->work.wait.value) != 0;
	case CU_STREAM_WAIT_VALUE_NOR:
		return ~(now | op->work.wait.value) != 0;
	default:
		return (int32_t)(now - op->work.wait.value) >= 0;
	}
}

static void unlink_op(struct op *op)
{
	struct stream *s = op->stream;

	s->head = op->next;
	if (s->head == NULL)
		s->tail = NULL;
	s->queued--;
	*(op->older != NULL ? &op->older->newer : &oldest) = op->newer;
	*(op->newer != NULL ? &op->newer->older : &newest) = op->older;
}

/* Runs one operation that is ready; the lock may be released meanwhile. */
static void op_run(struct op *op)
{
	struct stream *s = op->stream;
	uint64_t begin = op->queued_ns, ns = 0;
	int error = errno; /* of the call that happens to run it */

	op->state = OP_RUNNING;
	if (s->end_ns > begin)
		begin = s->end_ns;
	for (unsigned i = 0; i < op->ndeps; i++) {
		if (op->deps[i]->end_ns > begin)
			begin = op->deps[i]->end_ns;
		op_put(op->deps[i]);
	}
	op->ndeps = 0;
	/* After a fault, nothing of the context runs any longer. */
	if (s->ctx->sticky == CUDA_SUCCESS)
		work_run(&op->work, &ns);
	if (op->work.kind == W_KERNEL && op->work.launch.fault != CUDA_SUCCESS)
		s->ctx->sticky = op->work.launch.fault;
	if (op->work.kind == W_COPY && op->work.copy.fault)
		s->ctx->sticky = CUDA_ERROR_LAUNCH_FAILED;
	op->end_ns = begin + ns;
	s->end_ns = op->end_ns;
	op->state = OP_DONE;
	unlink_op(op);
	reap(s);
	op_put(op);
	pthread_cond_broadcast(&engine.moved);
	errno = error;
}

/* Marks an operation and all its predecessors as wanted. */
static void want(struct op *op)
{
	struct op *list = op;

	op->wanted = true;
	op->next_wanted = NULL;
	while (list != NULL) {
		struct op *at = list;

		list = at->next_wanted;
		for (unsigned i = 0; i < at->ndeps; i++) {
			struct op *dep = at->deps[i];

			if (dep->wanted || dep->state == OP_DONE)
				continue;
			dep->wanted = true;
			dep->next_wanted = list;
			list = dep;
		}
	}
}

void op_complete(struct op *target)
{
	op_get(target);
	if (target->state != OP_DONE)
		want(target);
	while (target->state != OP_DONE) {
		struct timespec until;
		struct op *op;

		for (op = oldest; op != NULL; op = op->newer)
			if (op->wanted && op_ready(op))
				break;
		if (op != NULL) {
			op_run(op);
			continue;
		}
		/*
		 * Another thread runs the needed operation, or a value is awaited that no call
		 * announces.
		 */
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 1000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&engine.moved, &engine.lock, &until);
	}
	clock_reach(target->end_ns);
	op_put(target);
}

bool stream_idle(struct stream *s)
{
	return s->head == NULL;
}

void stream_drain(struct stream *s)
{
	if (s->tail != NULL)
		op_complete(s->tail);
	else
		clock_reach(s->end_ns);
}

void stream_settle(struct stream *s)
{
	struct work nop = { .kind = W_NOP };
	struct op *op;

	if (enqueue(s, &nop, NULL, &op) != CUDA_SUCCESS)
		return;
	op_complete(op);
	op_put(op);
}

int stream_step(struct stream *s, int n)
{
	int ran = 0;

	/* A stream is freed when it is destroyed and empty. */
	for (bool last = false; ran < n && !last; ran++) {
		struct op *op = s->head;

		if (op == NULL || !op_ready(op))
			break;
		last = s->dead && op->next == NULL;
		op_run(op);
	}
	return ran;
}

int step_all(void)
{
	int ran = 0;

	for (struct op *op = oldest; op != NULL;) {
		if (!op_ready(op)) {
			op = op->newer;
			continue;
		}
		op_run(op);
		ran++;
		op = oldest;
	}
	return ran;
}

bool op_any(void)
{
	return oldest != NULL;
}

bool op_run_any(uint64_t chance, bool (*may)(const struct op *))
{
	uint64_t ready = 0;

	for (struct op *op = oldest; op != NULL; op = op->newer)
		ready += op_ready(op) && may(op);
	if (ready == 0)
		return false;
	chance %= ready;
	for (struct op *op = oldest; op != NULL; op = op->newer)
		if (op_ready(op) && may(op) && chance-- == 0) {
			op_run(op);
			return true;
		}
	return false;
}

CUresult event_wait(struct stream *s, CUevent handle)
{
	struct event *event = handle_get(H_EVENT, handle);
	struct work nop = { .kind = W_NOP };
	CUresult rc;

	if (event == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (capture_event_wait(s, event, &rc))
		return rc;
	rc = stream_may_push(s);
	return rc != CUDA_SUCCESS ? rc : enqueue(s, &nop, event->op, NULL);
}
