/*
 * graph.c - memcpy nodes that a program builds itself.
 *
 * A node made of pageable memory keeps pageable memory's promises at every launch, whatever
 * happens to the memory later; one made of a promoted block does not.  So what a node names is
 * unpinned before the driver looks at it (shim/copy.c does the same for captured copies).
 */
#include "shim/copy.h"

static void give_up_side(CUmemorytype type, const void *host, CUdeviceptr device)
{
	if (type == CU_MEMORYTYPE_HOST)
		shim_unpin(host, 1);
	else if (type == CU_MEMORYTYPE_UNIFIED)
		shim_unpin((const void *)device, 1);
}

/* A box lies in one block, and a block is unpinned whole: the address of the side is enough. */
static void give_up_box(const CUDA_MEMCPY3D *box)
{
	if (box == NULL)
		return;
	give_up_side(box->srcMemoryType, box->srcHost, box->srcDevice);
	give_up_side(box->dstMemoryType, box->dstHost, box->dstDevice);
}

static void give_up_node(const CUgraphNodeParams *node)
{
	if (node != NULL && node->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		give_up_box(&node->memcpy.copyParams);
}

HP_EXPORT CUresult cuGraphAddMemcpyNode(CUgraphNode *ret, CUgraph graph,
					const CUgraphNode *dependencies, size_t count,
					const CUDA_MEMCPY3D *box, CUcontext context)
{
	shim_enter(REAL_ROW_cuGraphAddMemcpyNode);
	give_up_box(box);
	return REAL(cuGraphAddMemcpyNode)(ret, graph, dependencies, count, box, context);
}

HP_EXPORT CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *box)
{
	shim_enter(REAL_ROW_cuGraphMemcpyNodeSetParams);
	give_up_box(box);
	return REAL(cuGraphMemcpyNodeSetParams)(node, box);
}

HP_EXPORT CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
						  const CUDA_MEMCPY3D *box, CUcontext context)
{
	shim_enter(REAL_ROW_cuGraphExecMemcpyNodeSetParams);
	give_up_box(box);
	return REAL(cuGraphExecMemcpyNodeSetParams)(exec, node, box, context);
}

HP_EXPORT CUresult cuGraphAddNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
				  size_t count, CUgraphNodeParams *node)
{
	shim_enter(REAL_ROW_cuGraphAddNode);
	give_up_node(node);
	return REAL(cuGraphAddNode)(ret, graph, dependencies, count, node);
}

HP_EXPORT CUresult cuGraphAddNode_v2(CUgraphNode *ret, CUgraph graph,
				     const CUgraphNode *dependencies, const CUgraphEdgeData *data,
				     size_t count, CUgraphNodeParams *node)
{
	shim_enter(REAL_ROW_cuGraphAddNode_v2);
	give_up_node(node);
	return REAL(cuGraphAddNode_v2)(ret, graph, dependencies, data, count, node);
}

HP_EXPORT CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	shim_enter(REAL_ROW_cuGraphNodeSetParams);
	give_up_node(params);
	return REAL(cuGraphNodeSetParams)(node, params);
}

HP_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    CUgraphNodeParams *params)
{
	shim_enter(REAL_ROW_cuGraphExecNodeSetParams);
	give_up_node(params);
	return REAL(cuGraphExecNodeSetParams)(exec, node, params);
}
