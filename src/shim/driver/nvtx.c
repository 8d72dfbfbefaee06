/*
 * nvtx.c - the exported functions by which a program's NVTX finds its tool.
 */
#include "trace/calls/nvtx.h"
#include "engine/state.h"
#include "shim/export.h"

HP_EXPORT int InitializeInjectionNvtx(const void *(*get_table)(uint32_t id));
HP_EXPORT int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id));

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id))
{
	return state_active && nvtx_install(get_table);
}

int InitializeInjectionNvtx(const void *(*get_table)(uint32_t id))
{
	return InitializeInjectionNvtx2(get_table);
}
