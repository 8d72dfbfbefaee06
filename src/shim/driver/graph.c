/*
 * graph.c - memcpy and memset nodes that a program adds to a graph.
 *
 * A node made of pageable memory has the semantics of pageable memory at every launch.  A node made
 * of a pinned block does not, and causes an error in its context once the block is unpinned.  So
 * blocks that a node names are unpinned before the driver sees the node, and are not pinned again
 * until the driver has returned.  Captured copies are treated alike (engine/copy.c).  The driver
 * refuses a memset node of pageable memory, as it refuses the memset (memsets.c).
 */
#include "base/protections.h"
#include "engine/visibility.h"
#include "shim/driver/run.h"

static void unpin_side(CUmemorytype type, const void *host, CUdeviceptr device, size_t skip)
{
	if (!hp_keeps(node_unpinned))
		return;
	if (type == CU_MEMORYTYPE_HOST)
		unpin_range((const char *)host + skip, 1);
	else
		unpin_range((const char *)device + skip, 1);
}

/*
 * A box lies in one block, and a block is unpinned whole, so the first byte of the box is enough.
 * Offsets may place that byte away from the side's address.
 */
static void unpin_box(const CUDA_MEMCPY3D *box)
{
	if (box == NULL)
		return;
	if (box->srcMemoryType == CU_MEMORYTYPE_HOST ||
	    box->srcMemoryType == CU_MEMORYTYPE_UNIFIED ||
	    box->dstMemoryType == CU_MEMORYTYPE_HOST || box->dstMemoryType == CU_MEMORYTYPE_UNIFIED)
		visibility_raise(REAL_SEEN_GRAPH);
	unpin_side(box->srcMemoryType, box->srcHost, box->srcDevice,
		   box->srcXInBytes + (box->srcY + box->srcZ * box->srcHeight) * box->srcPitch);
	unpin_side(box->dstMemoryType, box->dstHost, box->dstDevice,
		   box->dstXInBytes + (box->dstY + box->dstZ * box->dstHeight) * box->dstPitch);
}

static void unpin_filled(CUdeviceptr dst)
{
	if (hp_keeps(no_device_memory))
		unpin_range((const void *)dst, 1);
}

static void unpin_node(const CUgraphNodeParams *node)
{
	if (node == NULL)
		return;
	if (node->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		unpin_box(&node->memcpy.copyParams);
	else if (node->type == CU_GRAPH_NODE_TYPE_MEMSET)
		unpin_filled(node->memset.dst);
	else if (node->type == CU_GRAPH_NODE_TYPE_HOST)
		visibility_raise(REAL_SEEN_CALLBACK);
	else if (node->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
		visibility_raise(REAL_SEEN_MEMORY_OPS);
}

#define NODE(name, ...) SHIM_UNPINS(name, GATE_NO_STREAM, __VA_ARGS__)
NODE(cuGraphAddMemcpyNode, unpin_box(box),
     (CUgraphNode * ret, CUgraph graph, const CUgraphNode *dependencies, size_t count,
      const CUDA_MEMCPY3D *box, CUcontext context),
     (ret, graph, dependencies, count, box, context))
NODE(cuGraphMemcpyNodeSetParams, unpin_box(box), (CUgraphNode node, const CUDA_MEMCPY3D *box),
     (node, box))
NODE(cuGraphExecMemcpyNodeSetParams, unpin_box(box),
     (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *box, CUcontext context),
     (exec, node, box, context))
NODE(cuGraphAddNode, unpin_node(node),
     (CUgraphNode * ret, CUgraph graph, const CUgraphNode *dependencies, size_t count,
      CUgraphNodeParams *node),
     (ret, graph, dependencies, count, node))
NODE(cuGraphNodeSetParams, unpin_node(params), (CUgraphNode node, CUgraphNodeParams *params),
     (node, params))
NODE(cuGraphExecNodeSetParams, unpin_node(params),
     (CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params), (exec, node, params))
NODE(cuGraphAddNode_v2, unpin_node(node),
     (CUgraphNode * ret, CUgraph graph, const CUgraphNode *dependencies,
      const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *node),
     (ret, graph, dependencies, data, count, node))
NODE(cuGraphAddMemsetNode, unpin_filled(fill != NULL ? fill->dst : 0),
     (CUgraphNode * ret, CUgraph graph, const CUgraphNode *dependencies, size_t count,
      const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context),
     (ret, graph, dependencies, count, fill, context))
NODE(cuGraphMemsetNodeSetParams, unpin_filled(fill != NULL ? fill->dst : 0),
     (CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *fill), (node, fill))
NODE(cuGraphExecMemsetNodeSetParams, unpin_filled(fill != NULL ? fill->dst : 0),
     (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context),
     (exec, node, fill, context))
#undef NODE
