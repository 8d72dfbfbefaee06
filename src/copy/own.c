/*
 * own.c - address space, pages, registration.
 */
#include "copy/own.h"
#include "base/kernel.h"
#include "host/limits.h"
#include "real/relaxed.h"

#include <stdint.h>

/* What else is free must be so many times that. */
#define MEMORY_TIMES 8

bool own_is_room(size_t bytes)
{
	return !limits_ration_space() && limits_available("") / MEMORY_TIMES >= bytes &&
	       limits_cgroup_left("") / MEMORY_TIMES >= bytes;
}

char *own_map(size_t bytes)
{
	const size_t align = HP_HUGE_PAGE_BYTES;
	char *at = hp_map(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_NORESERVE);

	if (at == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)at & (align - 1);
	if (before != 0)
		hp_unmap(at, before);
	hp_unmap(at + before + bytes, align - before);
	hp_advise(at + before, bytes, MADV_HUGEPAGE);
	hp_advise(at + before, bytes, MADV_DONTFORK);
	return at + before;
}

CUresult own_register(char *memory, size_t bytes)
{
	struct relaxed relaxed = relaxed_begin();
	CUresult result = REAL(cuMemHostRegister_v2)(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);

	relaxed_end(&relaxed);
	return result;
}

unsigned long long own_context_id(CUcontext context)
{
	unsigned long long id = 0;

	if (REAL_HAS(cuCtxGetId))
		REAL(cuCtxGetId)(context, &id);
	return id;
}
