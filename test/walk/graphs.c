/*
 * graphs.c - steps that capture streams and launch graphs repeatedly.
 *
 * While a stream is captured, no call may wait for it, so in between the program only does what
 * cannot race.  A copy in a graph reads and writes host memory of any kind when it runs.
 */
#include "walk.h"

#include <stddef.h>

static void name(struct graph *graph, struct buffer *b, size_t lo, size_t hi, bool write)
{
	if (b->host)
		buffer_define(b, 0, 0, false);
	graph->named[graph->names++] = (struct named){ b, b->generation, lo, hi, write };
}

static void record_kernel(struct graph *graph, const struct target *to, struct buffer *b)
{
	uint64_t words = b->bytes / 8, key = draw(), ns = 1000 * below(20);
	void *arguments[] = { &b->there, &words, &key, &ns };

	if (words > 4096)
		words = 4096;
	SAY(cu[to->flavor].cuLaunchKernel(p.kernel[graph->context][K_XOR], 2, 1, 1, 64, 1, 1, 0,
					  to->handle, arguments, NULL),
	    "xor<<<captured l%d>>>(d%d, %llu)", to->line, b->number, (unsigned long long)words);
	name(graph, b, 0, words * 8, true);
}

static void record_copy(struct graph *graph, const struct target *to, struct buffer *b)
{
	struct buffer *h = some_host();
	size_t bytes;

	/* For memory that is registered later, or no longer, results on a device are unknown. */
	if (h == NULL || h->pin_hi != 0 || h->where == W_MANAGED || !p.records_host)
		return;
	bytes = h->bytes < b->bytes ? h->bytes : b->bytes;
	if (one_in(2)) {
		SAY(cu[to->flavor].cuMemcpyHtoDAsync_v2(b->there, h->at, bytes, to->handle),
		    "cuMemcpyHtoDAsync(d%d, h%d, %zu, captured l%d)", b->number, h->number, bytes,
		    to->line);
		name(graph, h, 0, bytes, false);
		name(graph, b, 0, bytes, true);
	} else {
		SAY(cu[to->flavor].cuMemcpyDtoHAsync_v2(h->at, b->there, bytes, to->handle),
		    "cuMemcpyDtoHAsync(h%d, d%d, %zu, captured l%d)", h->number, b->number, bytes,
		    to->line);
		name(graph, h, 0, bytes, true);
		name(graph, b, 0, bytes, false);
	}
}

static void record_one(struct graph *graph, const struct target *to)
{
	struct buffer *b = some_device(graph->context), *other = some_device(graph->context);
	struct buffer *h = some_host();
	size_t bytes;

	if (b == NULL)
		return;
	switch (below(8)) {
	case 0:
	case 1:
		record_kernel(graph, to, b);
		break;
	case 2:
		SAY(cu[to->flavor].cuMemsetD8Async(b->there, 3, b->bytes, to->handle),
		    "cuMemsetD8Async(d%d, captured l%d)", b->number, to->line);
		name(graph, b, 0, b->bytes, true);
		break;
	case 3:
		if (other == NULL || other == b)
			break;
		bytes = b->bytes < other->bytes ? b->bytes : other->bytes;
		SAY(cu[to->flavor].cuMemcpyDtoDAsync_v2(b->there, other->there, bytes, to->handle),
		    "cuMemcpyDtoDAsync(d%d, d%d, %zu, captured l%d)", b->number, other->number,
		    bytes, to->line);
		name(graph, b, 0, bytes, true);
		name(graph, other, 0, bytes, false);
		break;
	case 4:
		if (h == NULL || p.cells == CELLS || !p.calls_back)
			break;
		bytes = h->bytes < 512 ? h->bytes : 512;
		SAY(cu[to->flavor].cuLaunchHostFunc(to->handle, callback_run,
						    callback_cell(h, 0, bytes)),
		    "cuLaunchHostFunc(h%d, %zu, captured l%d)", h->number, bytes, to->line);
		name(graph, h, 0, bytes, true);
		break;
	default:
		record_copy(graph, to, b);
		break;
	}
}

/* Steps of the program during the capture. */
static void meanwhile(const struct target *to)
{
	switch (below(8)) {
	case 0:
		step_host_new();
		break;
	case 1:
		step_host_write();
		break;
	case 2:
		step_host_read();
		break;
	case 3:
		step_host_free();
		break;
	case 4:
		step_io();
		break;
	case 5: {
		/* The legacy stream would have to wait for work that is only recorded. */
		static char bytes[100];
		CUresult rc;

		if (!p.line[to->line].blocking || !one_in(4))
			break;
		errno = 77;
		rc = cu[0].cuMemcpyHtoD_v2(p.scratch[my_context()].there, bytes, sizeof(bytes));
		told(rc, errno, "cuMemcpyHtoD(scratch, small, 100) during a capture");
		break;
	}
	default:
		break;
	}
}

static bool recordable(struct target *to)
{
	*to = some_target();
	return !p.line[to->line].legacy;
}

static bool is_whole(const struct graph *graph)
{
	for (unsigned i = 0; i < graph->names; i++)
		if (graph->named[i].buffer->generation != graph->named[i].generation ||
		    graph->named[i].buffer->where == W_NOWHERE)
			return false;
	return true;
}

static void launch(struct graph *graph)
{
	struct target to = some_target();
	unsigned index;

	if (!is_whole(graph))
		return;
	for (unsigned i = 0; i < graph->names; i++) {
		const struct named *n = &graph->named[i];

		/* The launch itself reads pageable sources: observed on an H200. */
		if (n->buffer->host && n->buffer->where != W_PINNED && !n->write &&
		    !host_may(n->buffer, n->lo, n->hi, false))
			return;
		if (!line_may(&to, n->buffer, n->lo, n->hi, n->write))
			return;
	}
	SAY(cu[to.flavor].cuGraphLaunch(graph->exec, to.handle), "cuGraphLaunch(g%d, %s l%d)",
	    (int)(graph - p.graph), to.name, to.line);
	/* Whether a graph without nodes is ordered in its stream is undefined. */
	if (graph->names == 0) {
		line_touch(to.line);
		return;
	}
	index = line_push(to.line);
	for (unsigned i = 0; i < graph->names; i++) {
		const struct named *n = &graph->named[i];

		access_add(n->buffer, to.line, index, n->lo, n->hi, n->write);
	}
}

static void keep(struct graph *graph, struct graph *made, CUgraph recorded)
{
	int slot = (int)(graph - p.graph);
	CUresult rc = SAY(cu[0].cuGraphInstantiateWithFlags(&made->exec, recorded, 0),
			  "g%d = cuGraphInstantiate()", slot);

	SAY(cu[0].cuGraphDestroy(recorded), "cuGraphDestroy()");
	if (rc != CUDA_SUCCESS)
		return;
	if (graph->exec != NULL)
		SAY(cu[0].cuGraphExecDestroy(graph->exec), "cuGraphExecDestroy(g%d)", slot);
	*graph = *made;
	if (one_in(2))
		launch(graph);
}

/* Builds a chain of copies node by node. */
static void build(struct graph *graph)
{
	struct graph made = { .context = my_context() };
	CUgraphNode last = NULL;
	CUgraph chain;

	if (SAY(cu[0].cuGraphCreate(&chain, 0), "cuGraphCreate()") != CUDA_SUCCESS)
		return;
	for (size_t n = 1 + below(3); n > 0; n--) {
		struct buffer *h = some_host(), *d = some_device(made.context);
		CUDA_MEMCPY3D box = { .Height = 1, .Depth = 1 };
		CUgraphNode node;
		bool up = one_in(2);

		if (h == NULL || d == NULL || h->pin_hi != 0 || h->where == W_MANAGED)
			continue;
		box.WidthInBytes = h->bytes < d->bytes ? h->bytes : d->bytes;
		box.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		box.dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
		box.srcHost = box.dstHost = h->at;
		box.srcDevice = box.dstDevice = d->there;
		box.srcPitch = box.dstPitch = box.WidthInBytes;
		box.srcHeight = box.dstHeight = 1;
		if (SAY(cu[0].cuGraphAddMemcpyNode(&node, chain, last == NULL ? NULL : &last,
						   last != NULL, &box, p.context[made.context]),
			"cuGraphAddMemcpyNode(h%d %s d%d, %zu)", h->number, up ? "to" : "from",
			d->number, box.WidthInBytes) != CUDA_SUCCESS)
			continue;
		last = node;
		name(&made, h, 0, box.WidthInBytes, !up);
		name(&made, d, 0, box.WidthInBytes, up);
	}
	keep(graph, &made, chain);
}

void step_capture(void)
{
	size_t slot = below(GRAPHS);
	struct graph *graph = &p.graph[slot], made = { .context = my_context() };
	CUstreamCaptureMode mode = (CUstreamCaptureMode)below(3);
	CUgraph recorded = NULL;
	struct target to;
	unsigned steps = 1 + below(4);

	if (!p.frozen && p.records_host && one_in(4)) {
		build(graph);
		return;
	}
	if (p.frozen || !recordable(&to))
		return;
	if (SAY(cu[to.flavor].cuStreamBeginCapture_v2(to.handle, mode),
		"cuStreamBeginCapture(%s l%d, mode %d)", to.name, to.line,
		(int)mode) != CUDA_SUCCESS)
		return;
	p.frozen = true;
	for (unsigned i = 0; i < steps; i++) {
		record_one(&made, &to);
		if (one_in(2))
			meanwhile(&to);
	}
	CUresult rc = SAY(cu[to.flavor].cuStreamEndCapture(to.handle, &recorded),
			  "cuStreamEndCapture(l%d)", to.line);
	p.frozen = false;
	if (rc != CUDA_SUCCESS || recorded == NULL)
		return;
	keep(graph, &made, recorded);
}

void step_graph(void)
{
	size_t slot = below(GRAPHS);

	while (slot > 0 && p.graph[slot].exec == NULL)
		slot--;
	struct graph *graph = &p.graph[slot];
	if (graph->exec == NULL || graph->context != my_context() || p.frozen)
		return;
	if (!one_in(8)) {
		launch(graph);
		return;
	}
	SAY(cu[0].cuGraphExecDestroy(graph->exec), "cuGraphExecDestroy(g%zu)", slot);
	graph->exec = NULL;
}
