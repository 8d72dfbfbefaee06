/* request.c - finds the host side of a copy between two addresses of any kind. */
#include "engine/request.h"
#include "base/counters.h"
#include "base/options.h"
#include "engine/plan.h"
#include "engine/state.h"
#include "engine/visibility.h"
#include "heap/map.h"

bool request_is_on_device(CUdeviceptr address)
{
	CUmemorytype type = 0;

	hp_count(asked_pointer);
	return REAL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
		       CUDA_SUCCESS &&
	       type == CU_MEMORYTYPE_DEVICE;
}

/* True if the copy is large enough to gain by staging or by returning early. */
static bool is_worth_asking(const struct copy_request *request, bool ours)
{
	bool is_large = request->bytes >= COPY_DIRECTION_LEAST && !ours;
	bool is_small = !request->asynchronous && !request->per_thread &&
			request->bytes <= COPY_DEFER_MOST && hp_options->async &&
			visibility_now == 0;

	return trace_active() || (state_active && (is_small || is_large));
}

enum trace_direction request_direction(bool from_device, bool to_device)
{
	static const enum trace_direction directions[2][2] = { { TRACE_H2H, TRACE_H2D },
							       { TRACE_D2H, TRACE_D2D } };

	return directions[from_device][to_device];
}

void request_between(struct copy_request *request, CUdeviceptr dst, CUdeviceptr src)
{
	const void *from = (const void *)src, *to = (const void *)dst;
	bool from_ours = range_find(from) != NULL, to_ours = range_find(to) != NULL;

	if (is_worth_asking(request, from_ours || to_ours))
		request->direction = request_direction(!from_ours && request_is_on_device(src),
						       !to_ours && request_is_on_device(dst));
	else
		request->direction = request_direction(!from_ours, !to_ours);
	if (request->direction == TRACE_H2D) {
		request->host = from;
		request->far = dst;
	} else if (request->direction == TRACE_D2H) {
		request->host = to;
		request->far = src;
	}
	if (from_ours && to_ours) {
		request->other = to;
		request->other_extent = request->bytes;
	}
	if (from_ours)
		request->host = from;
	else if (to_ours)
		request->host = to;
}
