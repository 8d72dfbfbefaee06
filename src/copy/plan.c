/*
 * plan.c - from facts to a route.
 */
#include "copy/plan.h"

enum copy_route copy_plan(const struct copy_facts *facts)
{
	if (facts->place == COPY_ELSEWHERE || facts->place == COPY_PAGEABLE || facts->bytes == 0)
		return COPY_PASS;
	if (facts->captured)
		return COPY_DIRECT;
	if (facts->place == COPY_STRADDLES && facts->linear)
		return COPY_SPLIT;
	if (!facts->asynchronous)
		return COPY_DIRECT;
	if (facts->to_device && facts->linear && facts->bytes <= COPY_BOUNCE_MOST)
		return COPY_BOUNCE;
	return COPY_WAIT;
}
