/*
 * driver.c - a libcuda.so.1 that is broken in the way that BROKEN names, for `hotpin doctor`.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC visibility push(default)
int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int room, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
#pragma GCC visibility pop

static int is(const char *kind)
{
	const char *broken = getenv("BROKEN");

	return broken != NULL && strcmp(broken, kind) == 0;
}

int cuInit(unsigned flags)
{
	(void)flags;
	if (is("crash"))
		raise(SIGSEGV);
	if (is("exit"))
		_exit(3);
	while (is("hang"))
		pause();
	return is("stub") ? 34 : is("nodevice") ? 100 : 0;
}

int cuDriverGetVersion(int *version)
{
	*version = is("old") ? 11020 : 13000;
	return 0;
}

int cuDeviceGetCount(int *count)
{
	*count = is("none") ? 0 : 1;
	return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return 0;
}

int cuDeviceGetName(char *name, int room, int device)
{
	(void)device;
	strncpy(name, is("mig") ? "made-up device MIG 1g.10gb" : "made-up device", (size_t)room);
	return 0;
}

/* 88: pageable memory access; 99: host registration; 100: by the host's page tables. */
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	(void)device;
	*value = attribute == 99 || (attribute == 88 && (is("hmm") || is("tables"))) ||
		 (attribute == 100 && is("tables"));
	return 0;
}
