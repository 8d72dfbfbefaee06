/*
 * plan.c - from facts to a route.
 */
#include "copy/plan.h"

static bool bounces(const struct copy_facts *facts)
{
	if (!facts->to_device || !facts->linear)
		return false;
	if (facts->bytes <= COPY_STAGED_MOST)
		return true;
	return facts->asynchronous && facts->behind_work && facts->bytes < COPY_BLOCKS_FROM;
}

enum copy_route copy_plan(const struct copy_facts *facts)
{
	if (facts->place == COPY_ELSEWHERE || facts->place == COPY_PAGEABLE || facts->bytes == 0)
		return COPY_PASS;
	if (facts->place == COPY_STRADDLES && facts->linear)
		return COPY_SPLIT;
	if (bounces(facts))
		return COPY_BOUNCE;
	return facts->asynchronous ? COPY_WAIT : COPY_DIRECT;
}

bool copy_gains_from_pinning(bool to_device, bool asynchronous, size_t bytes)
{
	return !(to_device && asynchronous && bytes < COPY_BLOCKS_FROM);
}
