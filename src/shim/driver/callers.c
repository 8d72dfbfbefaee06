/*
 * callers.c - lists of file names.
 */
#define _GNU_SOURCE
#include "shim/driver/callers.h"
#include "base/parse.h"

#include <dlfcn.h>
#include <string.h>

/* CUPTI records what these functions do, and on WSL2 the driver looks its own functions up. */
static const char *const nvidias[] = {
	"libcupti.",       "libnvperf", "libcuda.so",    "libnvidia-",
	"libcudadebugger", "libcuda-",  "libcheckpoint",
};

static const char *const other_apis[] = {
	"libnvidia-encode.", "libnvidia-opticalflow.", "libnvidia-ngx.", "libnvidia-rtcore.",
	"libnvoptix.",
};

static const char *file_name_at(const void *address)
{
	Dl_info info;

	if (dladdr(address, &info) == 0 || info.dli_fname == NULL)
		return "";
	const char *slash = strrchr(info.dli_fname, '/');
	return slash != NULL ? slash + 1 : info.dli_fname;
}

static bool starts_with(const char *file, const char *head)
{
	return strncmp(file, head, strlen(head)) == 0;
}

static bool starts_with_any(const char *file, const char *const *heads, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (starts_with(file, heads[i]))
			return true;
	return false;
}

struct caller callers_look(const void *address)
{
	const char *file = file_name_at(address);

	return (struct caller){
		.is_nvidias = starts_with_any(file, nvidias, HP_LEN(nvidias)),
		.has_other_api = starts_with_any(file, other_apis, HP_LEN(other_apis)),
	};
}

bool callers_is_libcuda(const void *address)
{
	return starts_with(file_name_at(address), "libcuda.so");
}
