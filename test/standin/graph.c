/*
 * graph.c - graphs and their replay.
 *
 * A launch replays the nodes one after the other on its stream, in the order of their creation.
 * CUDA allows other orders, but this one is always the same.  Copies read pinned memory at replay.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

struct node {
	CUgraphNode handle;
	struct graph *graph;
	struct work work;
	struct nodes deps;
	bool seen;
};

struct graph {
	CUgraph handle;
	struct nodes nodes;
};

struct exec {
	CUgraphExec handle;
	struct work *works;
	size_t count;
};

void nodes_add(struct nodes *to, struct node *node)
{
	struct node **more;

	for (size_t i = 0; i < to->count; i++)
		if (to->at[i] == node)
			return;
	more = realloc(to->at, (to->count + 1) * sizeof(*more));
	if (more == NULL)
		abort();
	to->at = more;
	to->at[to->count++] = node;
}

void nodes_set(struct nodes *to, const struct nodes *from)
{
	to->count = 0;
	for (size_t i = 0; i < from->count; i++)
		nodes_add(to, from->at[i]);
}

static void mark(struct node *node)
{
	if (node->seen)
		return;
	node->seen = true;
	for (size_t i = 0; i < node->deps.count; i++)
		mark(node->deps.at[i]);
}

/* True if every node of `targets` is among `tips` or precedes one of them. */
bool nodes_reach(const struct nodes *tips, const struct nodes *targets)
{
	bool all = true;

	if (targets->count == 0)
		return true;
	for (size_t i = 0; i < targets->at[0]->graph->nodes.count; i++)
		targets->at[0]->graph->nodes.at[i]->seen = false;
	for (size_t i = 0; i < tips->count; i++)
		mark(tips->at[i]);
	for (size_t i = 0; i < targets->count; i++)
		all = all && targets->at[i]->seen;
	return all;
}

struct graph *graph_new(void)
{
	struct graph *graph = calloc(1, sizeof(*graph));

	if (graph == NULL)
		abort();
	graph->handle = handle_new(H_GRAPH, graph);
	return graph;
}

struct graph *graph_get(CUgraph handle)
{
	return handle_get(H_GRAPH, handle);
}

CUgraph graph_handle(struct graph *graph)
{
	return graph->handle;
}

struct node *node_get(CUgraphNode handle)
{
	return handle_get(H_NODE, handle);
}

CUgraphNode node_handle(struct node *node)
{
	return node->handle;
}

void graph_free(struct graph *graph)
{
	for (size_t i = 0; i < graph->nodes.count; i++) {
		struct node *node = graph->nodes.at[i];

		handle_free(node->handle);
		work_release(&node->work);
		free(node->deps.at);
		free(node);
	}
	handle_free(graph->handle);
	free(graph->nodes.at);
	free(graph);
}

struct node *graph_add(struct graph *graph, struct work *work, const struct nodes *deps)
{
	struct node *node = calloc(1, sizeof(*node));

	if (node == NULL) {
		work_release(work);
		return NULL;
	}
	node->graph = graph;
	node->work = *work;
	nodes_set(&node->deps, deps);
	node->handle = handle_new(H_NODE, node);
	nodes_add(&graph->nodes, node);
	return node;
}

CUresult graph_add_node(CUgraphNode *ret, CUgraph handle, const CUgraphNode *deps, size_t ndeps,
			struct work *work)
{
	struct graph *graph = graph_get(handle);
	struct nodes list = { 0 };
	struct node *node = NULL;

	if (ret == NULL || graph == NULL || (deps == NULL && ndeps != 0)) {
		work_release(work);
		return CUDA_ERROR_INVALID_VALUE;
	}
	for (size_t i = 0; i < ndeps; i++) {
		node = node_get(deps[i]);
		if (node == NULL || node->graph != graph) {
			free(list.at);
			work_release(work);
			return CUDA_ERROR_INVALID_VALUE;
		}
		nodes_add(&list, node);
	}
	node = graph_add(graph, work, &list);
	free(list.at);
	if (node == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = node->handle;
	return CUDA_SUCCESS;
}

CUresult graph_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
	struct graph *graph = graph_get(handle);
	size_t n = 0;

	if (graph == NULL || count == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < graph->nodes.count; i++) {
		if (nodes != NULL && n < *count)
			nodes[n] = graph->nodes.at[i]->handle;
		n++;
	}
	*count = n;
	return CUDA_SUCCESS;
}

CUresult graph_destroy(CUgraph handle)
{
	struct graph *graph = graph_get(handle);

	if (graph == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult graph_instantiate(CUgraphExec *ret, CUgraph handle)
{
	struct graph *graph = graph_get(handle);
	struct exec *exec;

	if (ret == NULL || graph == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	exec = calloc(1, sizeof(*exec));
	if (exec == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->works = calloc(graph->nodes.count + 1, sizeof(*exec->works));
	for (size_t i = 0; exec->works != NULL && i < graph->nodes.count; i++)
		if (work_clone(&exec->works[i], &graph->nodes.at[i]->work))
			exec->count++;
	exec->handle = handle_new(H_EXEC, exec);
	*ret = exec->handle;
	return CUDA_SUCCESS;
}

/* Queued operations have their own copies, so a launched exec can be destroyed at any time. */
CUresult graph_exec_destroy(CUgraphExec handle)
{
	struct exec *exec = handle_get(H_EXEC, handle);

	if (exec == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < exec->count; i++)
		work_release(&exec->works[i]);
	handle_free(handle);
	free(exec->works);
	free(exec);
	return CUDA_SUCCESS;
}

/*
 * Clones the nodes of an exec, and reads the pageable sources of all its copies.  Reading lets
 * other threads in, so nothing may be enqueued before the last source is read: a host function of
 * this launch would overwrite a source of this launch at a random time.
 */
static CUresult read_sources(const struct exec *exec, struct work *works, size_t *count)
{
	CUresult rc = CUDA_SUCCESS;

	while (rc == CUDA_SUCCESS && *count < exec->count) {
		struct work *work = &works[*count];

		if (!work_clone(work, &exec->works[*count]))
			return CUDA_ERROR_OUT_OF_MEMORY;
		++*count;
		if (work->kind == W_COPY)
			rc = copy_launch(&work->copy);
	}
	return rc;
}

CUresult graph_launch(CUgraphExec handle, struct stream *s)
{
	const struct exec *exec = handle_get(H_EXEC, handle);
	CUresult rc = stream_may_push(s);
	struct work *works;
	size_t count = 0, pushed = 0;

	if (exec == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	clock_spend(MODEL_OF(launch_ns));
	if (rc != CUDA_SUCCESS)
		return rc;
	works = calloc(exec->count + 1, sizeof(*works));
	if (works == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = read_sources(exec, works, &count);
	while (rc == CUDA_SUCCESS && pushed < count)
		rc = stream_push(s, &works[pushed++], NULL);
	while (pushed < count)
		work_release(&works[pushed++]);
	free(works);
	return rc;
}
