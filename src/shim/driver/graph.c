/*
 * graph.c - memcpy nodes that a program builds itself.
 *
 * A node made of pageable memory keeps pageable memory's promises at every launch, whatever
 * happens to the memory later; one made of a promoted block does not, and ends its context once the
 * block is unpinned.  So what a node names is unpinned before the driver looks at it
 * (engine/choosing.c does the same for captured copies), and nobody pins it again until the driver
 * has.
 */
#include "base/cancel.h"
#include "base/protections.h"
#include "engine/state.h"
#include "engine/unpin.h"
#include "engine/visibility.h"
#include "pin/pin.h"
#include "shim/driver/enter.h"

static void give_up_side(CUmemorytype type, const void *host, CUdeviceptr device, size_t skip)
{
	if (!hp_keeps(node_unpinned))
		return;
	if (type == CU_MEMORYTYPE_HOST)
		unpin_range((const char *)host + skip, 1);
	else
		unpin_range((const char *)device + skip, 1);
}

/*
 * A box lies in one block, and a block is unpinned whole: its first byte is enough, which is not
 * always where the side begins.
 */
static void give_up_box(const CUDA_MEMCPY3D *box)
{
	if (box == NULL)
		return;
	if (box->srcMemoryType == CU_MEMORYTYPE_HOST ||
	    box->srcMemoryType == CU_MEMORYTYPE_UNIFIED ||
	    box->dstMemoryType == CU_MEMORYTYPE_HOST || box->dstMemoryType == CU_MEMORYTYPE_UNIFIED)
		visibility_raise(REAL_SEEN_GRAPH);
	give_up_side(box->srcMemoryType, box->srcHost, box->srcDevice,
		     box->srcXInBytes + (box->srcY + box->srcZ * box->srcHeight) * box->srcPitch);
	give_up_side(box->dstMemoryType, box->dstHost, box->dstDevice,
		     box->dstXInBytes + (box->dstY + box->dstZ * box->dstHeight) * box->dstPitch);
}

#if CUDA_VERSION >= 12020
static void give_up_node(const CUgraphNodeParams *node)
{
	if (node == NULL)
		return;
	if (node->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		give_up_box(&node->memcpy.copyParams);
	else if (node->type == CU_GRAPH_NODE_TYPE_HOST)
		visibility_raise(REAL_SEEN_CALLBACK);
	else if (node->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
		visibility_raise(REAL_SEEN_MEMORY_OPS);
}
#endif

/* Makes a node of what the parameters name: `call`, while nothing is pinned. */
#define MADE_OF(kind, parameters, call)                            \
	bool held = state_active() && hp_keeps(node_pins_nothing); \
	if (held) {                                                \
		hp_uncancellable_begin();                          \
		pin_hold();                                        \
	}                                                          \
	give_up_##kind(parameters);                                \
	CUresult result = call;                                    \
	if (held) {                                                \
		pin_release();                                     \
		hp_uncancellable_end();                            \
	}                                                          \
	return result

HP_EXPORT CUresult cuGraphAddMemcpyNode(CUgraphNode *ret, CUgraph graph,
					const CUgraphNode *dependencies, size_t count,
					const CUDA_MEMCPY3D *box, CUcontext context)
{
	SHIM_ENTER(REAL_ROW_cuGraphAddMemcpyNode);
	MADE_OF(box, box,
		REAL(cuGraphAddMemcpyNode)(ret, graph, dependencies, count, box, context));
}

HP_EXPORT CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *box)
{
	SHIM_ENTER(REAL_ROW_cuGraphMemcpyNodeSetParams);
	MADE_OF(box, box, REAL(cuGraphMemcpyNodeSetParams)(node, box));
}

HP_EXPORT CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
						  const CUDA_MEMCPY3D *box, CUcontext context)
{
	SHIM_ENTER(REAL_ROW_cuGraphExecMemcpyNodeSetParams);
	MADE_OF(box, box, REAL(cuGraphExecMemcpyNodeSetParams)(exec, node, box, context));
}

#if CUDA_VERSION >= 12020
HP_EXPORT CUresult cuGraphAddNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
				  size_t count, CUgraphNodeParams *node)
{
	SHIM_ENTER(REAL_ROW_cuGraphAddNode);
	MADE_OF(node, node, REAL(cuGraphAddNode)(ret, graph, dependencies, count, node));
}

#if CUDA_VERSION >= 12030
HP_EXPORT CUresult cuGraphAddNode_v2(CUgraphNode *ret, CUgraph graph,
				     const CUgraphNode *dependencies, const CUgraphEdgeData *data,
				     size_t count, CUgraphNodeParams *node)
{
	SHIM_ENTER(REAL_ROW_cuGraphAddNode_v2);
	MADE_OF(node, node, REAL(cuGraphAddNode_v2)(ret, graph, dependencies, data, count, node));
}
#endif

HP_EXPORT CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	SHIM_ENTER(REAL_ROW_cuGraphNodeSetParams);
	MADE_OF(node, params, REAL(cuGraphNodeSetParams)(node, params));
}

HP_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    CUgraphNodeParams *params)
{
	SHIM_ENTER(REAL_ROW_cuGraphExecNodeSetParams);
	MADE_OF(node, params, REAL(cuGraphExecNodeSetParams)(exec, node, params));
}
#endif
#undef MADE_OF
