/*
 * event.c - events: markers in streams.
 *
 * Recording an event replaces its marker; a wait uses the marker of that moment.
 */
#include "engine.h"

#include <stdlib.h>

static unsigned serials;
static struct event *all;

CUresult event_create(CUevent *ret, unsigned flags)
{
	struct event *event;

	if (ret == NULL || (flags & ~7u) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	/* cuda.h, cuEventCreate: CU_EVENT_INTERPROCESS needs CU_EVENT_DISABLE_TIMING. */
	if ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	event = calloc(1, sizeof(*event));
	if (event == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->ctx = ctx_current();
	event->flags = flags;
	event->serial = ++serials;
	event->handle = handle_new(H_EVENT, event);
	event->next = all;
	all = event;
	*ret = event->handle;
	return CUDA_SUCCESS;
}

static void drop(struct event *event)
{
	struct event **at = &all;

	while (*at != event)
		at = &(*at)->next;
	*at = event->next;
	handle_free(event->handle);
	op_put(event->op);
	free(event->tips.at);
	free(event);
}

CUresult event_destroy(CUevent handle)
{
	struct event *event = handle_get(H_EVENT, handle);

	if (event == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	drop(event);
	return CUDA_SUCCESS;
}

void event_drop_ctx(struct ctx *ctx)
{
	for (struct event *event = all, *next; event != NULL; event = next) {
		next = event->next;
		if (event->ctx == ctx)
			drop(event);
	}
}

CUresult event_record(CUevent handle, struct stream *s)
{
	struct event *event = handle_get(H_EVENT, handle);
	struct work nop = { .kind = W_NOP };
	struct op *op;
	CUresult rc;

	if (event == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->ctx != s->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	if (capture_event_record(event, s))
		return CUDA_SUCCESS;
	rc = stream_push(s, &nop, &op);
	if (rc != CUDA_SUCCESS)
		return rc;
	op_put(event->op);
	event->op = op;
	event->recorded = true;
	event->capture = NULL;
	return CUDA_SUCCESS;
}

CUresult event_record_all(CUevent handle, struct ctx *ctx)
{
	struct event *event = handle_get(H_EVENT, handle);
	struct op *op;
	CUresult rc;

	if (event == NULL || event->ctx != ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	rc = capture_break_ctx(ctx) ?: stream_push_last(ctx, &op);
	if (rc != CUDA_SUCCESS)
		return rc;
	op_put(event->op);
	event->op = op;
	event->recorded = true;
	event->capture = NULL;
	return CUDA_SUCCESS;
}

/*
 * The event of a context completes with the last work that it covers, although nothing waits for
 * it.
 */
static void catch_up(struct op *op)
{
	if (op != NULL && op->state == OP_QUEUED && op->stream == op->stream->ctx->watch)
		stream_step(op->stream, op->stream->queued);
}

/* Observed on an H200: a captured event is reported before another capture. */
static CUresult askable(struct event *event)
{
	if (event->capture == NULL)
		return capture_forbids();
	capture_break(event->capture);
	return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult event_query(CUevent handle)
{
	struct event *event = handle_get(H_EVENT, handle);
	CUresult rc;

	if (event == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	rc = askable(event);
	if (rc != CUDA_SUCCESS)
		return rc;
	catch_up(event->op);
	/* cuda.h, cuEventQuery: an event that was never recorded counts as complete. */
	if (event->op == NULL || event->op->state == OP_DONE)
		return CUDA_SUCCESS;
	return CUDA_ERROR_NOT_READY;
}

CUresult event_sync(CUevent handle)
{
	struct event *event = handle_get(H_EVENT, handle);
	CUresult rc;

	if (event == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	rc = askable(event);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (event->op != NULL)
		op_complete(event->op);
	return ctx_check();
}

CUresult event_elapsed(float *ms, CUevent start, CUevent end)
{
	struct event *a = handle_get(H_EVENT, start), *b = handle_get(H_EVENT, end);

	if (a == NULL || b == NULL || !a->recorded || !b->recorded ||
	    ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_HANDLE;
	if (ms == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (a->op->state != OP_DONE || b->op->state != OP_DONE)
		return CUDA_ERROR_NOT_READY;
	*ms = (float)(((double)b->op->end_ns - (double)a->op->end_ns) / 1e6);
	return CUDA_SUCCESS;
}
