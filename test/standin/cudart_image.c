/*
 * cudart_image.c - registers the images, kernels and device variables that nvcc's start-up code
 * announces.
 *
 * Registration happens in constructors and must not use the driver.  An image is loaded when its
 * first kernel or variable is used.  The functions are declared in crt/host_runtime.h, which only
 * the compiler's C++ code can include.
 */
#include "cudart.h"

#include <pthread.h>
#include <stdlib.h>

struct name {
	const void *host; /* the stub or the shadow variable */
	const char *device;
	size_t bytes;
	void **managed; /* where the program stores the address of a __managed__ variable */
	CUkernel kernel;
	struct image *image;
	struct name *next;
};

struct image {
	const void *data;
	CUlibrary library;
};

/* fatbinary_section.h: the argument of __cudaRegisterFatBinary(). */
struct wrapper {
	int magic, version;
	const void *data;
	void *more;
};

struct configuration {
	dim3 grid, block;
	size_t shared;
	void *stream;
};

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int threads, uint3 *tid, uint3 *bid, dim3 *bdim, dim3 *gdim, int *size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
		       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
			      size_t size, int constant, int global);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(CUkernel *ret, const void *function);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct name *kernels, *variables;
static __thread struct configuration pending[8];
static __thread int npending;

#pragma GCC visibility push(default)

void **__cudaRegisterFatBinary(void *wrapper)
{
	struct image *image = calloc(1, sizeof(*image));

	if (image == NULL)
		abort();
	image->data = ((const struct wrapper *)wrapper)->data;
	return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

static void forget(struct name **list, const struct image *image)
{
	while (*list != NULL) {
		struct name *name = *list;

		if (name->image != image) {
			list = &name->next;
			continue;
		}
		*list = name->next;
		free(name);
	}
}

/* Runs from atexit: the driver may already have ended, which is no error here. */
void __cudaUnregisterFatBinary(void **handle)
{
	struct image *image = (struct image *)handle;

	pthread_mutex_lock(&lock);
	forget(&kernels, image);
	forget(&variables, image);
	pthread_mutex_unlock(&lock);
	if (image->library != NULL)
		driver.cuLibraryUnload(image->library);
	free(image);
}

static void add(struct name **list, void **handle, const void *host, const char *device,
		size_t bytes, void **managed)
{
	struct name *name = calloc(1, sizeof(*name));

	if (name == NULL)
		abort();
	*name = (struct name){ .host = host,
			       .device = device,
			       .bytes = bytes,
			       .managed = managed,
			       .image = (struct image *)handle };
	pthread_mutex_lock(&lock);
	name->next = *list;
	*list = name;
	pthread_mutex_unlock(&lock);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int threads, uint3 *tid, uint3 *bid, dim3 *bdim, dim3 *gdim, int *size)
{
	(void)device, (void)threads, (void)tid, (void)bid, (void)bdim, (void)gdim, (void)size;
	add(&kernels, handle, host, name, 0, NULL);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
		       size_t size, int constant, int global)
{
	(void)device, (void)ext, (void)constant, (void)global;
	add(&variables, handle, host, name, size, NULL);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
			      size_t size, int constant, int global)
{
	(void)device, (void)ext, (void)constant, (void)global;
	add(&variables, handle, host, name, size, host);
}

/* Managed variables get their addresses here; programs call it before main() uses one. */
char __cudaInitModule(void **handle)
{
	for (struct name *v = variables; v != NULL; v = v->next) {
		CUdeviceptr at;

		if (v->image != (struct image *)handle || v->managed == NULL || *v->managed != NULL)
			continue;
		if (runtime_enter() == cudaSuccess &&
		    driver.cuMemAllocManaged(&at, v->bytes, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS)
			*v->managed = (void *)at;
	}
	return 1;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
	if (npending == 8)
		return 1;
	pending[npending++] = (struct configuration){ grid, block, shared, stream };
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	if (npending == 0)
		return cudaErrorMissingConfiguration;
	npending--;
	*grid = pending[npending].grid;
	*block = pending[npending].block;
	*shared = pending[npending].shared;
	*(void **)stream = pending[npending].stream;
	return cudaSuccess;
}

cudaError_t __cudaGetKernel(CUkernel *ret, const void *function)
{
	return runtime_leave(kernel_of(function, ret));
}

#pragma GCC visibility pop

static struct name *find(struct name *list, const void *host)
{
	struct name *name = list;

	while (name != NULL && name->host != host)
		name = name->next;
	return name;
}

static cudaError_t library_of(struct image *image)
{
	if (image->library != NULL)
		return cudaSuccess;
	return runtime_result(driver.cuLibraryLoadData(&image->library, image->data, NULL, NULL, 0,
						       NULL, NULL, 0));
}

cudaError_t kernel_of(const void *function, CUkernel *ret)
{
	cudaError_t error = runtime_enter();
	struct name *name;

	if (error != cudaSuccess)
		return error;
	pthread_mutex_lock(&lock);
	name = find(kernels, function);
	if (name == NULL)
		error = cudaErrorInvalidDeviceFunction;
	else if (name->kernel == NULL)
		error = library_of(name->image);
	if (error == cudaSuccess && name->kernel == NULL)
		error = runtime_result(driver.cuLibraryGetKernel(
			&name->kernel, name->image->library, name->device));
	if (error == cudaSuccess)
		*ret = name->kernel;
	pthread_mutex_unlock(&lock);
	return error;
}

cudaError_t symbol_of(const void *symbol, CUdeviceptr *ret, size_t *ret_bytes)
{
	cudaError_t error = runtime_enter();
	struct name *name;
	size_t bytes;

	if (error != cudaSuccess)
		return error;
	pthread_mutex_lock(&lock);
	name = find(variables, symbol);
	error = name != NULL ? library_of(name->image) : cudaErrorInvalidSymbol;
	if (error == cudaSuccess)
		error = runtime_result(
			driver.cuLibraryGetGlobal(ret, &bytes, name->image->library, name->device));
	if (error == cudaSuccess && ret_bytes != NULL)
		*ret_bytes = name->bytes;
	pthread_mutex_unlock(&lock);
	return error;
}
