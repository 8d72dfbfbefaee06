/*
 * call_class.c - the first matching row decides.
 */
#include "trace/calls/calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A name matches if it begins with `prefix` and contains `part`, if there is one. */
static const struct rule {
	const char *prefix, *part;
	struct call_class class;
} rules[] = {
	{ "cuInit", NULL, { "start_up", CALLS_START_UP | CALLS_WORK } },
	{ "cuCtxCreate", NULL, { "start_up", CALLS_START_UP | CALLS_WORK } },
	{ "cuDevicePrimaryCtxRetain", NULL, { "start_up", CALLS_START_UP | CALLS_WORK } },
	{ "cuGetExportTable", NULL, { "start_up", CALLS_START_UP | CALLS_WORK } },
	{ "cuGetProcAddress", NULL, { "start_up", CALLS_START_UP | CALLS_WORK } },
	{ "cu", "Synchronize", { "synchronize", CALLS_WAITS } },
	{ "cuMemcpy", NULL, { "copy", 0 } },
	{ "cuMemset", NULL, { "memset", CALLS_WORK } },
	{ "cuGraphLaunch", NULL, { "launch", CALLS_LAUNCH | CALLS_WORK } },
	{ "cuLaunch", NULL, { "launch", CALLS_LAUNCH | CALLS_WORK } },
	{ "cuGraph", NULL, { "other", 0 } },
	{ "cuMemFree", NULL, { "free", CALLS_WORK } },
	{ "cuMemRelease", NULL, { "free", CALLS_WORK } },
	{ "cuMemUnmap", NULL, { "free", CALLS_WORK } },
	{ "cuMemAddressFree", NULL, { "free", CALLS_WORK } },
	{ "cuMemHostUnregister", NULL, { "free", CALLS_WORK } },
	{ "cuMemPool", "Destroy", { "free", CALLS_WORK } },
	{ "cuMemPool", "Trim", { "free", CALLS_WORK } },
	{ "cuArrayDestroy", NULL, { "free", CALLS_WORK } },
	{ "cuMipmappedArrayDestroy", NULL, { "free", CALLS_WORK } },
	{ "cuMemAlloc", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemHostAlloc", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemHostRegister", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemCreate", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemAddressReserve", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemMap", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemSetAccess", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemPoolCreate", NULL, { "allocate", CALLS_WORK } },
	{ "cuArrayCreate", NULL, { "allocate", CALLS_WORK } },
	{ "cuArray3DCreate", NULL, { "allocate", CALLS_WORK } },
	{ "cuMipmappedArrayCreate", NULL, { "allocate", CALLS_WORK } },
	{ "cuModule", NULL, { "module", CALLS_START_UP | CALLS_WORK } },
	{ "cuLibrary", NULL, { "module", CALLS_START_UP | CALLS_WORK } },
	{ "cuLink", NULL, { "module", CALLS_START_UP | CALLS_WORK } },
	{ "cuKernel", NULL, { "module", CALLS_START_UP | CALLS_WORK } },
	{ "cuFunc", NULL, { "module", CALLS_START_UP | CALLS_WORK } },
	{ "cuStream", NULL, { "stream", 0 } },
	{ "cuEvent", NULL, { "stream", 0 } },
	{ "", NULL, { "other", 0 } },
};

static bool fits(const struct rule *rule, const char *name)
{
	return strncmp(name, rule->prefix, strlen(rule->prefix)) == 0 &&
	       (rule->part == NULL || strstr(name, rule->part) != NULL);
}

struct call_class call_class_of(const char *name)
{
	const struct rule *rule = rules;

	while (!fits(rule, name))
		rule++;
	return rule->class;
}
