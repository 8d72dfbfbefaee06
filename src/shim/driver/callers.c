/*
 * callers.c - the list of NVIDIA's libraries.
 *
 * A program may name its own library libcuda-plugin.so, so no prefix of a name is enough.
 */
#define _GNU_SOURCE
#include "shim/driver/callers.h"
#include "base/parse.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

/* A library of NVIDIA's, by its name up to ".so". */
struct library {
	const char *name;
	bool needs_driver; /* it needs the driver's own functions */
	bool is_other_api;
};

/*
 * CUPTI records what the functions do that its libraries call.  On WSL2 the driver looks its own
 * functions up.
 */
static const struct library libraries[] = {
	{ "libcuda", true, false },
	{ "libcuda_loader", true, false },
	{ "libcudadebugger", true, false },
	{ "libcupti", true, false },
	{ "libcheckpoint", true, false },
	{ "libpcsamplingutil", true, false },
	{ "libnvperf_host", true, false },
	{ "libnvperf_target", true, false },
	{ "libnvidia-allocator", true, false },
	{ "libnvidia-api", true, false },
	{ "libnvidia-cbl", true, false },
	{ "libnvidia-cfg", true, false },
	{ "libnvidia-compiler", true, false },
	{ "libnvidia-eglcore", true, false },
	{ "libnvidia-encode", true, true },
	{ "libnvidia-fatbinaryloader", true, false },
	{ "libnvidia-fbc", true, false },
	{ "libnvidia-glcore", true, false },
	{ "libnvidia-glsi", true, false },
	{ "libnvidia-glvkspirv", true, false },
	{ "libnvidia-gpucomp", true, false },
	{ "libnvidia-ifr", true, false },
	{ "libnvidia-ml", true, false },
	{ "libnvidia-ngx", true, true },
	{ "libnvidia-nscq", true, false },
	{ "libnvidia-nvvm", true, false },
	{ "libnvidia-nvvm70", true, false },
	{ "libnvidia-opencl", true, false },
	{ "libnvidia-opticalflow", true, true },
	{ "libnvidia-pkcs11", true, false },
	{ "libnvidia-pkcs11-openssl3", true, false },
	{ "libnvidia-present", true, false },
	{ "libnvidia-ptxjitcompiler", true, false },
	{ "libnvidia-rtcore", true, true },
	{ "libnvidia-sandboxutils", true, false },
	{ "libnvidia-tileiras", true, false },
	{ "libnvidia-tls", true, false },
	{ "libnvidia-vksc-core", true, false },
	{ "libnvidia-wayland-client", true, false },
	{ "libnvoptix", false, true },
};

/* True if `file` is NAME.so, perhaps with a version: digits and points. */
static bool is_library(const char *file, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(file, name, length) != 0 || strncmp(file + length, ".so", 3) != 0)
		return false;
	const char *version = file + length + 3;
	return *version == '\0' ||
	       (*version == '.' && version[strspn(version, ".0123456789")] == '\0');
}

/* Returns the SONAME of a loaded file; "" if it has none. */
static const char *soname_of(const struct link_map *file)
{
	uintptr_t texts = 0, name = 0;

	for (const ElfW(Dyn) *entry = file->l_ld; entry != NULL && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_STRTAB)
			texts = entry->d_un.d_ptr;
		else if (entry->d_tag == DT_SONAME)
			name = entry->d_un.d_val;
	/* The loader leaves the addresses of the vDSO as they are in the file. */
	return name != 0 && texts > file->l_addr ? (const char *)texts + name : "";
}

/* Returns the library that `address` is in, by the name of its file or by its SONAME, or NULL. */
static const struct library *library_at(const void *address)
{
	struct link_map *file = NULL;
	Dl_info info;

	if (dladdr1(address, &info, (void **)&file, RTLD_DL_LINKMAP) == 0 || file == NULL)
		return NULL;
	const char *slash = strrchr(info.dli_fname, '/');
	const char *file_name = slash != NULL ? slash + 1 : info.dli_fname;
	const char *soname = soname_of(file);
	for (size_t i = 0; i < HP_LEN(libraries); i++)
		if (is_library(file_name, libraries[i].name) ||
		    is_library(soname, libraries[i].name))
			return &libraries[i];
	return NULL;
}

struct caller callers_look(const void *address)
{
	const struct library *library = library_at(address);

	return (struct caller){
		.is_nvidias = library != NULL && library->needs_driver,
		.has_other_api = library != NULL && library->is_other_api,
	};
}

bool callers_is_libcuda(const void *address)
{
	return library_at(address) == &libraries[0];
}

bool callers_is_libcudas_name(const char *file)
{
	return is_library(file, libraries[0].name);
}
