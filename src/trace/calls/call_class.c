/*
 * call_class.c - the first matching row decides.
 */
#include "trace/calls/call_class.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

const char *const call_class_names[CALL_CLASSES] = {
	[CALL_START_UP] = "start_up",
	[CALL_ALLOCATE] = "allocate",
	[CALL_FREE] = "free",
	[CALL_LAUNCH] = "launch",
	[CALL_COPY] = "copy",
	[CALL_MEMSET] = "memset",
	[CALL_SYNCHRONIZE] = "synchronize",
	[CALL_MODULE] = "module",
	[CALL_STREAM] = "stream",
	[CALL_OTHER] = "other",
};

/* A name matches if it begins with `prefix` and contains `part`, if there is one. */
static const struct rule {
	const char *prefix, *part;
	enum call_class class;
} rules[] = {
	{ "cuInit", NULL, CALL_START_UP },
	{ "cuCtxCreate", NULL, CALL_START_UP },
	{ "cuDevicePrimaryCtxRetain", NULL, CALL_START_UP },
	{ "cuGetExportTable", NULL, CALL_START_UP },
	{ "cuGetProcAddress", NULL, CALL_START_UP },
	{ "cu", "Synchronize", CALL_SYNCHRONIZE },
	{ "cuMemcpy", NULL, CALL_COPY },
	{ "cuMemset", NULL, CALL_MEMSET },
	{ "cuGraphLaunch", NULL, CALL_LAUNCH },
	{ "cuLaunch", NULL, CALL_LAUNCH },
	{ "cuGraph", NULL, CALL_OTHER },
	{ "cuMemFree", NULL, CALL_FREE },
	{ "cuMemRelease", NULL, CALL_FREE },
	{ "cuMemUnmap", NULL, CALL_FREE },
	{ "cuMemAddressFree", NULL, CALL_FREE },
	{ "cuMemHostUnregister", NULL, CALL_FREE },
	{ "cuMemPool", "Destroy", CALL_FREE },
	{ "cuMemPool", "Trim", CALL_FREE },
	{ "cuArrayDestroy", NULL, CALL_FREE },
	{ "cuMipmappedArrayDestroy", NULL, CALL_FREE },
	{ "cuMemAlloc", NULL, CALL_ALLOCATE },
	{ "cuMemHostAlloc", NULL, CALL_ALLOCATE },
	{ "cuMemHostRegister", NULL, CALL_ALLOCATE },
	{ "cuMemCreate", NULL, CALL_ALLOCATE },
	{ "cuMemAddressReserve", NULL, CALL_ALLOCATE },
	{ "cuMemMap", NULL, CALL_ALLOCATE },
	{ "cuMemSetAccess", NULL, CALL_ALLOCATE },
	{ "cuMemPoolCreate", NULL, CALL_ALLOCATE },
	{ "cuArrayCreate", NULL, CALL_ALLOCATE },
	{ "cuArray3DCreate", NULL, CALL_ALLOCATE },
	{ "cuMipmappedArrayCreate", NULL, CALL_ALLOCATE },
	{ "cuModule", NULL, CALL_MODULE },
	{ "cuLibrary", NULL, CALL_MODULE },
	{ "cuLink", NULL, CALL_MODULE },
	{ "cuKernel", NULL, CALL_MODULE },
	{ "cuFunc", NULL, CALL_MODULE },
	{ "cuStream", NULL, CALL_STREAM },
	{ "cuEvent", NULL, CALL_STREAM },
};

static bool fits(const struct rule *rule, const char *name)
{
	return strncmp(name, rule->prefix, strlen(rule->prefix)) == 0 &&
	       (rule->part == NULL || strstr(name, rule->part) != NULL);
}

enum call_class call_class_of(const char *name)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (fits(&rules[i], name))
			return rules[i].class;
	return CALL_OTHER;
}
