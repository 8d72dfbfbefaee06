/*
 * link.c - another preloaded library in front of the driver, which limits allocations and counts
 * uploads.
 *
 * Built with EXPORTS, it defines the functions.  Built with HOOKS, it defines dlsym(), and answers
 * look-ups of the functions with its own.  With both, its dlsym() has the versions of libc's, and
 * its functions are bound by the loader.  So has its dlopen(), which looks up the next one.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(EXPORTS)
#define FUNCTION __attribute__((visibility("default")))
#else
#define FUNCTION __attribute__((visibility("hidden")))
#endif

#pragma GCC visibility push(default)
extern int link_uploads;
extern size_t link_most;
void *dlsym(void *restrict handle, const char *restrict name);
#pragma GCC visibility pop

int link_uploads;
size_t link_most = (size_t)64 << 20; /* the largest allocation */

/* Where dlsym() is this library's, libc's is found by its version, as other such libraries do. */
static void *find(void *handle, const char *name)
{
#if defined(HOOKS)
	void *(*next)(void *, const char *) =
		(void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");

	if (next == NULL)
		next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	return next(handle, name);
#else
	void *volatile found = dlsym(handle, name);

	return found;
#endif
}

#define DRIVER(name) ((__typeof__(name) *)find(dlopen("libcuda.so.1", RTLD_LAZY), #name))

FUNCTION CUresult cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
	return bytes > link_most ? CUDA_ERROR_OUT_OF_MEMORY : DRIVER(cuMemAlloc_v2)
	(ret, bytes);
}

/* hotpin may carry out a synchronous upload by either of these. */
FUNCTION CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	link_uploads++;
	return DRIVER(cuMemcpyHtoD_v2)
	(to, from, bytes);
}

FUNCTION CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
				       CUstream stream)
{
	link_uploads++;
	return DRIVER(cuMemcpyHtoDAsync_v2)
	(to, from, bytes, stream);
}

static void *own(const char *name)
{
	return strncmp(name, "cuMemAlloc", 10) == 0 && strcmp(name + 10, "Async") != 0
		       ? (void *)cuMemAlloc_v2
	       : strcmp(name, "cuMemcpyHtoD") == 0 || strcmp(name, "cuMemcpyHtoD_v2") == 0
		       ? (void *)cuMemcpyHtoD_v2
	       : strcmp(name, "cuMemcpyHtoDAsync") == 0 || strcmp(name, "cuMemcpyHtoDAsync_v2") == 0
		       ? (void *)cuMemcpyHtoDAsync_v2
		       : NULL;
}

FUNCTION CUresult cuGetProcAddress_v2(const char *name, void **ret, int version, cuuint64_t flags,
				      CUdriverProcAddressQueryResult *status)
{
	CUresult result = DRIVER(cuGetProcAddress_v2)
	(name, ret, version, flags, status);

	if (result == CUDA_SUCCESS && own(name) != NULL)
		*ret = own(name);
	return result;
}

#if defined(HOOKS) && defined(EXPORTS)
#pragma GCC visibility push(default)
void *dlsym_2_34(void *handle, const char *name);
void *dlsym_2_2_5(void *handle, const char *name) __attribute__((alias("dlsym_2_34")));
void *dlopen_2_34(const char *path, int flags);
void *dlopen_2_2_5(const char *path, int flags) __attribute__((alias("dlopen_2_34")));
#pragma GCC visibility pop
__asm__(".symver dlsym_2_2_5, dlsym@@GLIBC_2.2.5\n.symver dlsym_2_34, dlsym@GLIBC_2.34");
__asm__(".symver dlopen_2_2_5, dlopen@@GLIBC_2.2.5\n.symver dlopen_2_34, dlopen@GLIBC_2.34");

/* By the dlsym() that the loader has bound, the first one. */
void *dlopen_2_34(const char *path, int flags)
{
	void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");

	return next(path, flags);
}
#define dlsym dlsym_2_34
#endif

#if defined(HOOKS)
void *dlsym(void *restrict handle, const char *restrict name)
{
	void *mine = handle == RTLD_NEXT                        ? NULL
		     : strcmp(name, "cuGetProcAddress_v2") == 0 ? (void *)cuGetProcAddress_v2
								: own(name);

	return mine != NULL ? mine : find(handle, name);
}
#endif

/* Shows that the call came here. */
__attribute__((visibility("default"))) void _exit(int status)
{
	for (;;)
		syscall(SYS_exit_group, status == 70 ? 71 : status);
}
