/*
 * cupti_find.c - the places where libcupti may be.
 *
 * The dynamic loader identifies a library by its soname.  The first libcupti.so.12 that is loaded
 * serves all later requests for that name, also those of PyTorch, even if it is too old for them.
 * So a loaded libcupti, or one next to a loaded CUDA library, comes first.
 */
#define _GNU_SOURCE
#include "base/cupti_find.h"
#include "base/parse.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The newest first.  In CUDA 11 the soname contains the minor version. */
static const struct soname {
	const char *name;
	int major;
} sonames[] = {
	{ "libcupti.so.13", 13 },   { "libcupti.so.12", 12 },   { "libcupti.so.11.8", 11 },
	{ "libcupti.so.11.7", 11 }, { "libcupti.so.11.6", 11 }, { "libcupti.so.11.5", 11 },
	{ "libcupti.so.11.4", 11 }, { "libcupti.so.11.3", 11 }, { "libcupti.so.11.2", 11 },
	{ "libcupti.so.11.1", 11 }, { "libcupti.so.11.0", 11 },
};

/* Folders that may contain libcupti, relative to the folder of a loaded CUDA library. */
static const char *const neighbors[] = {
	".",
	"../../cuda_cupti/lib",        /* from nvidia/cuda_runtime/lib of a wheel */
	"../../nvidia/cuda_cupti/lib", /* from torch/lib */
	"../../nvidia/cu13/lib",
	"../extras/CUPTI/lib64",
	"../../../extras/CUPTI/lib64", /* from targets/x86_64-linux/lib */
};

static const char *const in_toolkit[] = {
	"extras/CUPTI/lib64",
	"lib64",
	"targets/x86_64-linux/lib",
};

/* CUDA libraries that libcupti may be near; a version number follows the name. */
static const char *const relatives[] = {
	"libcudart.so.", "libtorch_cuda.so", "libcublas.so.", "libnvrtc.so.", "libcudart-",
};

#define FOLDERS_MOST 16

struct folders {
	size_t count;
	struct {
		char path[HP_CUPTI_PATH_MAX];
		int major; /* the version of the CUDA library there; 0: unknown */
	} entry[FOLDERS_MOST];
};

/* No atoi(): built with a newer libc it would need that libc's strtol() on other machines, too. */
static int major_of(const char *version)
{
	int major = 0;

	while (*version >= '0' && *version <= '9' && major < 1000)
		major = major * 10 + (*version++ - '0');
	return major;
}

/* Runs under the loader's lock, so it only records what it finds. */
static int note_folder(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct folders *folders = arg;
	const char *path = info->dlpi_name;
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;

	(void)size;
	if (slash == NULL || path[0] != '/' || (size_t)(slash - path) >= HP_CUPTI_PATH_MAX)
		return 0;
	for (size_t i = 0; i < HP_LEN(relatives) && folders->count < FOLDERS_MOST; i++) {
		size_t length = strlen(relatives[i]);

		if (strncmp(slash + 1, relatives[i], length) != 0)
			continue;
		memcpy(folders->entry[folders->count].path, path, (size_t)(slash - path));
		folders->entry[folders->count].path[slash - path] = '\0';
		folders->entry[folders->count].major =
			strncmp(relatives[i], "libcudart.so.", length) == 0
				? major_of(slash + 1 + length)
				: 0;
		folders->count++;
		break;
	}
	return 0;
}

static bool fits(const struct soname *soname, int major_most)
{
	return major_most == 0 || soname->major <= major_most;
}

static void *open_in(const char *folder, const char *below, const struct soname *soname)
{
	char path[HP_CUPTI_PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", folder, below, soname->name) >=
		    sizeof(path) ||
	    access(path, R_OK) != 0)
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_near_relatives(int major_most)
{
	/* Static because the stack is the program's; trace_start() runs once in a process. */
	static struct folders folders;

	folders.count = 0;
	dl_iterate_phdr(note_folder, &folders);
	for (size_t i = 0; i < folders.count; i++) {
		for (size_t j = 0; j < HP_LEN(sonames); j++) {
			int major = folders.entry[i].major;

			if (!fits(&sonames[j], major_most) ||
			    (major != 0 && major != sonames[j].major))
				continue;
			for (size_t k = 0; k < HP_LEN(neighbors); k++) {
				void *handle =
					open_in(folders.entry[i].path, neighbors[k], &sonames[j]);

				if (handle != NULL)
					return handle;
			}
		}
	}
	return NULL;
}

static void *open_in_toolkit(int major_most)
{
	const char *const roots[] = { getenv("CUDA_PATH"), getenv("CUDA_HOME"), "/usr/local/cuda" };

	for (size_t i = 0; i < HP_LEN(roots); i++) {
		if (roots[i] == NULL || roots[i][0] != '/')
			continue;
		for (size_t j = 0; j < HP_LEN(sonames); j++) {
			for (size_t k = 0; fits(&sonames[j], major_most) && k < HP_LEN(in_toolkit);
			     k++) {
				void *handle = open_in(roots[i], in_toolkit[k], &sonames[j]);

				if (handle != NULL)
					return handle;
			}
		}
	}
	return NULL;
}

void *hp_cupti_find(int driver_version, char *ret_why, size_t room)
{
	int major_most = driver_version / 1000;
	void *handle = NULL;

	for (size_t i = 0; i < HP_LEN(sonames) && handle == NULL; i++)
		handle = dlopen(sonames[i].name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (handle == NULL)
		handle = open_near_relatives(major_most);
	for (size_t i = 0; i < HP_LEN(sonames) && handle == NULL; i++)
		if (fits(&sonames[i], major_most))
			handle = dlopen(sonames[i].name, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
		handle = open_in_toolkit(major_most);
	if (handle == NULL)
		snprintf(ret_why, room,
			 "no libcupti found (looked in the loader's path, "
			 "CUDA_PATH and /usr/local/cuda)");
	return handle;
}

bool hp_cupti_is_someone_elses(char *ret_why, size_t room)
{
	static const char *const variables[] = {
		"NSYS_PROFILING_SESSION_ID",
		"CUDA_INJECTION64_PATH",
		"NVTX_INJECTION64_PATH",
	};
	/* Parts of the names that nsys, ncu, compute-sanitizer and cuda-gdb preload. */
	static const char *const parts[] = {
		"nsys",         "nsight",        "ToolsInjection",    "InterceptorInjection",
		"TreeLauncher", "libsanitizer-", "compute-sanitizer",
	};
	const char *preload = getenv("LD_PRELOAD");

	for (size_t i = 0; i < HP_LEN(variables); i++) {
		const char *value = getenv(variables[i]);

		/* Set by `hotpin run`, for the program's stages. */
		bool ours = value != NULL && strstr(value, "/libhotpin.so") != NULL;

		if (value != NULL && value[0] != '\0' && !ours) {
			snprintf(ret_why, room, "CUPTI is left to another tool: %s is set",
				 variables[i]);
			return true;
		}
	}
	for (size_t i = 0; preload != NULL && i < HP_LEN(parts); i++) {
		if (strstr(preload, parts[i]) != NULL) {
			snprintf(ret_why, room,
				 "CUPTI is left to another tool: LD_PRELOAD has '%s'", parts[i]);
			return true;
		}
	}
	return false;
}
