/*
 * capture.c - streams that record instead of running.
 *
 * A capture spreads from its first stream to others by events, and must return to the first one.  A
 * forbidden call invalidates the capture; the error codes 900 to 908 of cuda.h state the reason.
 * Captures that ended stay in the list, because events may still refer to them.
 */
#include "engine.h"

#include <stdlib.h>

struct capture {
	struct graph *graph;
	bool own_graph; /* not cuStreamBeginCaptureToGraph */
	CUstreamCaptureMode mode;
	uint64_t id;
	struct stream *origin;
	const void *thread;
	bool invalid, ended;
	struct capture *next;
};

static struct capture *all;
static uint64_t ids;
static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static __thread char thread_mark;

/*
 * cuda.h, cuThreadExchangeStreamCaptureMode: which captures forbid potentially unsafe calls to this
 * thread.  Such a call also invalidates them.
 */
CUresult capture_forbids(void)
{
	CUresult rc = CUDA_SUCCESS;

	if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return rc;
	for (struct capture *c = all; c != NULL; c = c->next) {
		bool own = c->thread == &thread_mark;

		if (c->ended || c->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
			continue;
		if (!own && (thread_mode != CU_STREAM_CAPTURE_MODE_GLOBAL ||
			     c->mode != CU_STREAM_CAPTURE_MODE_GLOBAL))
			continue;
		capture_break(c);
		rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return rc;
}

CUresult capture_exchange(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = thread_mode;

	if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

void capture_break(struct capture *c)
{
	if (!c->ended)
		c->invalid = true;
}

/* For calls that a captured stream cannot answer, such as waits and queries. */
CUresult capture_break_stream(struct stream *s)
{
	if (s->capture == NULL)
		return CUDA_SUCCESS;
	capture_break(s->capture);
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* cuda.h, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: the legacy stream would depend on the capture. */
CUresult capture_legacy(struct ctx *ctx)
{
	CUresult rc = CUDA_SUCCESS;

	for (struct stream *s = ctx->streams; s != NULL; s = s->next)
		if (s->capture != NULL && !(s->flags & CU_STREAM_NON_BLOCKING)) {
			capture_break(s->capture);
			rc = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		}
	return rc;
}

/* cuda.h, cuCtxRecordEvent: fails during any capture of the context. */
CUresult capture_break_ctx(struct ctx *ctx)
{
	CUresult rc = CUDA_SUCCESS;

	for (struct stream *s = ctx->streams; s != NULL; s = s->next)
		if (s->capture != NULL) {
			capture_break(s->capture);
			rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	return rc;
}

bool capture_pushes(struct stream *s, struct work *work, CUresult *ret)
{
	struct node *node;

	if (s->capture == NULL)
		return false;
	if (s->capture->invalid) {
		work_release(work);
		*ret = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
		return true;
	}
	node = graph_add(s->capture->graph, work, &s->tips);
	if (node == NULL) {
		*ret = CUDA_ERROR_OUT_OF_MEMORY;
		return true;
	}
	s->tips.count = 0;
	nodes_add(&s->tips, node);
	*ret = CUDA_SUCCESS;
	return true;
}

CUresult capture_begin(struct stream *s, CUstreamCaptureMode mode, CUgraph to,
		       const CUgraphNode *deps, size_t ndeps)
{
	struct graph *graph = to != NULL ? graph_get(to) : NULL;
	struct capture *c;

	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED || (to != NULL && graph == NULL))
		return CUDA_ERROR_INVALID_VALUE;
	/* cuda.h, cuStreamBeginCapture: neither on the legacy stream, nor twice. */
	if (s->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (s->capture != NULL)
		return CUDA_ERROR_ILLEGAL_STATE;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->graph = graph != NULL ? graph : graph_new();
	c->own_graph = graph == NULL;
	c->mode = mode;
	c->id = ++ids;
	c->origin = s;
	c->thread = &thread_mark;
	c->next = all;
	all = c;
	s->capture = c;
	s->tips.count = 0;
	for (size_t i = 0; i < ndeps; i++) {
		struct node *node = node_get(deps[i]);

		if (node != NULL)
			nodes_add(&s->tips, node);
	}
	return CUDA_SUCCESS;
}

static void detach(struct capture *c, struct ctx *ctx)
{
	for (struct stream *s = ctx->streams; s != NULL; s = s->next)
		if (s->capture == c) {
			s->capture = NULL;
			s->tips.count = 0;
		}
}

static void end(struct capture *c, struct ctx *ctx)
{
	detach(c, ctx);
	c->ended = true;
	c->origin = NULL;
	if (c->invalid && c->own_graph)
		graph_free(c->graph);
	c->graph = NULL;
}

static bool joined(const struct capture *c, const struct stream *origin)
{
	for (const struct stream *s = origin->ctx->streams; s != NULL; s = s->next)
		if (s != origin && s->capture == c && !nodes_reach(&origin->tips, &s->tips))
			return false;
	return true;
}

CUresult capture_end(struct stream *s, CUgraph *ret)
{
	struct capture *c = s->capture;
	CUresult rc = CUDA_SUCCESS;

	if (ret == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = NULL;
	if (c == NULL)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != &thread_mark)
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (c->origin != s) {
		capture_break(c);
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	if (c->invalid)
		rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!joined(c, s))
		rc = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	c->invalid = rc != CUDA_SUCCESS;
	if (rc == CUDA_SUCCESS)
		*ret = graph_handle(c->graph);
	end(c, s->ctx);
	return rc;
}

/* A stream is destroyed; the capture ends with its first stream. */
void capture_forget_stream(struct stream *s)
{
	struct capture *c = s->capture;

	if (c == NULL || c->origin != s)
		return;
	c->invalid = true;
	end(c, s->ctx);
}

void capture_drop_ctx(struct ctx *ctx)
{
	for (struct stream *s = ctx->streams; s != NULL; s = s->next)
		capture_forget_stream(s);
}

bool capture_event_record(struct event *event, struct stream *s)
{
	event->capture = s->capture;
	if (s->capture == NULL)
		return false;
	nodes_set(&event->tips, &s->tips);
	op_put(event->op);
	event->op = NULL;
	return true;
}

bool capture_event_wait(struct stream *s, struct event *event, CUresult *ret)
{
	struct capture *c = event->capture;

	*ret = CUDA_SUCCESS;
	if (c == NULL && s->capture == NULL)
		return false;
	if (c != NULL && c->ended) {
		*ret = CUDA_ERROR_CAPTURED_EVENT;
	} else if (c == NULL) {
		capture_break(s->capture);
		*ret = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	} else if (s->legacy) {
		capture_break(c);
		*ret = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	} else if (s->capture == NULL) {
		s->capture = c;
		nodes_set(&s->tips, &event->tips);
	} else if (s->capture != c) {
		capture_break(c);
		capture_break(s->capture);
		*ret = CUDA_ERROR_STREAM_CAPTURE_MERGE;
	} else {
		for (size_t i = 0; i < event->tips.count; i++)
			nodes_add(&s->tips, event->tips.at[i]);
	}
	return true;
}

CUresult capture_info(struct stream *s, CUstreamCaptureStatus *status, cuuint64_t *id,
		      CUgraph *graph, const CUgraphNode **deps, size_t *ndeps)
{
	static __thread CUgraphNode tips[256];
	struct capture *c = s->capture;

	if (status == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	/* cuda.h, cuStreamIsCapturing: querying the legacy stream does not invalidate. */
	for (struct stream *o = s->ctx->streams; s->legacy && o != NULL; o = o->next)
		if (o->capture != NULL && !(o->flags & CU_STREAM_NON_BLOCKING))
			return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	if (c == NULL)
		return CUDA_SUCCESS;
	*status =
		c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (c->invalid)
		return CUDA_SUCCESS;
	if (id != NULL)
		*id = c->id;
	if (graph != NULL)
		*graph = graph_handle(c->graph);
	for (size_t i = 0; i < s->tips.count && i < 256; i++)
		tips[i] = node_handle(s->tips.at[i]);
	if (deps != NULL)
		*deps = tips;
	if (ndeps != NULL)
		*ndeps = s->tips.count;
	return CUDA_SUCCESS;
}
