/*
 * cupti_find.c - the places where libcupti may be.
 *
 * The dynamic loader identifies a library by its soname.  The first libcupti.so.12 that is loaded
 * serves all later requests for that name, also those of PyTorch, even if it is too old for them.
 * So a loaded libcupti, or one next to a loaded CUDA library, comes first.
 *
 * The loader's own path is the user's choice.  In other places hotpin loads only a library that no
 * other user can change.
 */
#define _GNU_SOURCE
#include "base/cupti_find.h"
#include "base/parse.h"
#include "base/trust.h"

#include <dlfcn.h>
#include <fnmatch.h>
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

/*
 * Installations with a CUDA library in a folder PREFIX/`of`, and libcupti in a folder PREFIX/`in`.
 */
static const struct layout {
	const char *of, *in;
} layouts[] = {
	{ "", "" },
	{ "/nvidia/*/lib", "/nvidia/cuda_cupti/lib" }, /* wheels */
	{ "/torch/lib", "/nvidia/cuda_cupti/lib" },
	{ "/torch/lib", "/nvidia/cu13/lib" },
	{ "/lib64", "/extras/CUPTI/lib64" },
	{ "/targets/*/lib", "/extras/CUPTI/lib64" },
};

static const char *const in_toolkit[] = {
	"/extras/CUPTI/lib64",
	"/lib64",
	"/targets/x86_64-linux/lib",
};

/* CUDA libraries that libcupti may be near.  A version of CUDA may follow ".so." in the name. */
static const char *const relatives[] = {
	"libcudart.so.", "libtorch_cuda.so", "libcublas.so.", "libnvrtc.so.", "libcudart-",
};

#define FOLDERS_MOST 16

/* Static because the stack is the program's; trace_start() runs once in a process. */
static struct search {
	int major_most; /* of the driver; 0: unknown */
	int major;      /* of a CUDA library that is loaded; 0: unknown */
	size_t count;
	struct {
		char path[HP_CUPTI_PATH_MAX];
		int major; /* of the CUDA library there; 0: unknown */
	} folders[FOLDERS_MOST];
	char path[HP_CUPTI_PATH_MAX];    /* that is tried */
	char refused[HP_CUPTI_PATH_MAX]; /* that other users can change; "": none */
} search;

static int major_of(const char *version)
{
	uint64_t major;

	return hp_parse_digits(version, &major, &version) && major < 1000 ? (int)major : 0;
}

/* Runs under the loader's lock, so it only records what it finds. */
static int note_folder(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *path = info->dlpi_name;
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;

	(void)size, (void)arg;
	if (slash == NULL || path[0] != '/' || (size_t)(slash - path) >= HP_CUPTI_PATH_MAX)
		return 0;
	for (size_t i = 0; i < HP_LEN(relatives) && search.count < FOLDERS_MOST; i++) {
		if (strncmp(slash + 1, relatives[i], strlen(relatives[i])) != 0)
			continue;
		const char *version = strstr(slash, ".so.");
		int major = version != NULL ? major_of(version + 4) : 0;

		memcpy(search.folders[search.count].path, path, (size_t)(slash - path));
		search.folders[search.count].path[slash - path] = '\0';
		search.folders[search.count++].major = major;
		search.major = search.major != 0 ? search.major : major;
		break;
	}
	return 0;
}

static bool fits(const struct soname *soname)
{
	return search.major_most == 0 || soname->major <= search.major_most;
}

/* Opens a library in PREFIX/`in` if no other user can change what is there. */
static void *open_in(const char *prefix, int length, const char *in, const struct soname *soname)
{
	if ((size_t)snprintf(search.path, sizeof(search.path), "%.*s%s/%s", length, prefix, in,
			     soname->name) >= sizeof(search.path) ||
	    access(search.path, R_OK) != 0)
		return NULL;
	int error = hp_trust_library(search.path, (size_t)length);
	if (error < 0 && search.refused[0] == '\0')
		memcpy(search.refused, search.path, sizeof(search.refused));
	return error == 0 ? dlopen(search.path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* Returns the length of the prefix of a folder that ends like `of`, or -1. */
static int prefix_of(const char *folder, const char *of)
{
	const char *tail = folder + strlen(folder);

	for (const char *at = of; *at != '\0'; at++)
		while (*at == '/' && tail > folder && *--tail != '/')
			;
	return fnmatch(of, tail, FNM_PATHNAME) == 0 ? (int)(tail - folder) : -1;
}

static void *open_near(const char *folder, const struct soname *soname)
{
	void *handle = NULL;

	for (size_t i = 0; i < HP_LEN(layouts) && handle == NULL; i++) {
		int length = prefix_of(folder, layouts[i].of);

		if (length >= 0)
			handle = open_in(folder, length, layouts[i].in, soname);
	}
	return handle;
}

static void *open_near_relatives(void)
{
	void *handle = NULL;

	dl_iterate_phdr(note_folder, NULL);
	for (size_t i = 0; i < search.count; i++) {
		int major = search.folders[i].major;

		major = major != 0 ? major : search.major;
		for (size_t j = 0; j < HP_LEN(sonames) && handle == NULL; j++)
			if (fits(&sonames[j]) && (major == 0 || major == sonames[j].major))
				handle = open_near(search.folders[i].path, &sonames[j]);
	}
	return handle;
}

static void *open_in_toolkit(void)
{
	const char *const roots[] = { getenv("CUDA_PATH"), getenv("CUDA_HOME"), "/usr/local/cuda" };
	void *handle = NULL;

	for (size_t i = 0; i < HP_LEN(roots); i++) {
		if (roots[i] == NULL || roots[i][0] != '/')
			continue;
		for (size_t j = 0; j < HP_LEN(sonames); j++)
			for (size_t k = 0;
			     fits(&sonames[j]) && k < HP_LEN(in_toolkit) && handle == NULL; k++)
				handle = open_in(roots[i], (int)strlen(roots[i]), in_toolkit[k],
						 &sonames[j]);
	}
	return handle;
}

void *hp_cupti_find(int driver_version, char *ret_why, size_t room)
{
	void *handle = NULL;

	search.count = 0;
	search.refused[0] = '\0';
	search.major_most = driver_version / 1000;
	for (size_t i = 0; i < HP_LEN(sonames) && handle == NULL; i++)
		handle = dlopen(sonames[i].name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (handle == NULL)
		handle = open_near_relatives();
	for (size_t i = 0; i < HP_LEN(sonames) && handle == NULL; i++)
		if (fits(&sonames[i]))
			handle = dlopen(sonames[i].name, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
		handle = open_in_toolkit();
	if (handle == NULL && search.refused[0] != '\0')
		snprintf(ret_why, room,
			 "%s is not loaded, because other users can change it or its folders",
			 search.refused);
	else if (handle == NULL)
		snprintf(ret_why, room,
			 "no libcupti found (looked in the loader's path, "
			 "CUDA_PATH and /usr/local/cuda)");
	return handle;
}

/* True for the path of hotpin's library, also with a version behind its name. */
static bool is_hotpin(const char *path, size_t length)
{
	static const char ours[] = "/libhotpin.so";
	const char *name = memrchr(path, '/', length);

	return name != NULL && strncmp(name, ours, sizeof(ours) - 1) == 0;
}

/* True if a path of the list, other than that of hotpin, has the part. */
static bool preloads(const char *list, const char *part)
{
	for (const char *at = strstr(list, part); at != NULL; at = strstr(at + 1, part))
		if (!is_hotpin(at, strcspn(at, ": ")))
			return true;
	return false;
}

bool hp_cupti_is_someone_elses(char *ret_why, size_t room)
{
	static const char *const variables[] = {
		"NSYS_PROFILING_SESSION_ID",
		"CUDA_INJECTION64_PATH",
		"NVTX_INJECTION64_PATH",
	};
	/* Parts of the paths that nsys, ncu, compute-sanitizer and cuda-gdb preload. */
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
		if (preloads(preload, parts[i])) {
			snprintf(ret_why, room,
				 "CUPTI is left to another tool: LD_PRELOAD has '%s'", parts[i]);
			return true;
		}
	}
	return false;
}
