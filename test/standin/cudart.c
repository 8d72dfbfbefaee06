/*
 * cudart.c - connects the stand-in runtime with the driver, and holds the current device and the
 * last error.
 *
 * It proceeds as NVIDIA's runtime: dlopen("libcuda.so.1"), dlsym("cuGetProcAddress_v2"), then every
 * function by base name, version and flavor.
 */
#include "cudart.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct driver driver;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded, initialized;
static cudaError_t failure;
static unsigned epoch; /* changed by cudaDeviceReset(), under lock */
static __thread int device;
static __thread cudaError_t last_error;

/* Each function is looked up in the driver by its base name and the version that introduced it. */
static const struct {
	const char *symbol, *asked;
	int version;
} entries[] = {
#define ENTRY(symbol, asked, version, flavor) { #symbol, #asked, version },
#include "entry.def"
};

static bool look_up(const char *symbol, void **pfn)
{
	size_t i = 0;

	while (strcmp(entries[i].symbol, symbol) != 0)
		i++;
	return driver.cuGetProcAddress_v2(entries[i].asked, pfn, entries[i].version, 0, NULL) ==
		       CUDA_SUCCESS &&
	       *pfn != NULL;
}

static bool look_up_all(void)
{
	void *nothing = NULL;
	bool all = true;

	/* NVIDIA's first look-up is this one; its result is "not found". */
	driver.cuGetProcAddress_v2("", &nothing, 0, 0, NULL);
#define FUNC(symbol) all = look_up(#symbol, (void **)&driver.symbol) && all;
#include "cudart.def"
	return all;
}

static cudaError_t load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (library == NULL)
		return cudaErrorInsufficientDriver;
	driver.cuGetProcAddress_v2 =
		(__typeof__(driver.cuGetProcAddress_v2))dlsym(library, "cuGetProcAddress_v2");
	if (driver.cuGetProcAddress_v2 == NULL || !look_up_all())
		return cudaErrorInsufficientDriver;
	return cudaSuccess;
}

static cudaError_t runtime_load(void)
{
	pthread_mutex_lock(&lock);
	if (!loaded)
		failure = load();
	loaded = true;
	if (failure == cudaSuccess && !initialized) {
		CUresult rc = driver.cuInit(0);

		if (rc != CUDA_SUCCESS) {
			pthread_mutex_unlock(&lock);
			return runtime_result(rc);
		}
		initialized = true;
	}
	pthread_mutex_unlock(&lock);
	return failure;
}

/* Makes the primary context current, unless the program has made its own context current. */
cudaError_t runtime_enter(void)
{
	static __thread unsigned seen;
	CUcontext ctx = NULL;
	cudaError_t error = runtime_load();
	CUresult rc;

	if (error != cudaSuccess)
		return error;
	rc = driver.cuCtxGetCurrent(&ctx);
	if (rc != CUDA_SUCCESS)
		return runtime_result(rc);
	if (ctx != NULL && seen == epoch)
		return cudaSuccess;
	rc = driver.cuDevicePrimaryCtxRetain(&ctx, device);
	if (rc == CUDA_SUCCESS)
		rc = driver.cuCtxSetCurrent(ctx);
	if (rc == CUDA_SUCCESS)
		seen = epoch;
	return runtime_result(rc);
}

/* From CUDA 10.1 on the codes of the runtime are those of the driver. */
cudaError_t runtime_result(CUresult rc)
{
	return (cudaError_t)rc;
}

cudaError_t runtime_leave(cudaError_t error)
{
	if (error != cudaSuccess)
		last_error = error;
	return error;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

static const struct {
	cudaError_t code;
	const char *name, *text;
} errors[] = {
#define ERROR(driver_code, code, text) RUNTIME_ERROR(code, text)
#define RUNTIME_ERROR(code, text)      { code, #code, text },
#include "error.def"
};

const char *cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == error)
			return errors[i].name;
	return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == error)
			return errors[i].text;
	return "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int *ret)
{
	if (ret == NULL)
		return runtime_leave(cudaErrorInvalidValue);
	*ret = 0;
	if (runtime_load() != cudaSuccess)
		return cudaSuccess; /* "If no driver is installed then 0 is returned" */
	return runtime_leave(runtime_result(driver.cuDriverGetVersion(ret)));
}

cudaError_t cudaRuntimeGetVersion(int *ret)
{
	if (ret == NULL)
		return runtime_leave(cudaErrorInvalidValue);
	*ret = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *ret)
{
	cudaError_t error = runtime_load();

	if (error == cudaSuccess)
		error = runtime_result(driver.cuDeviceGetCount(ret));
	return runtime_leave(error);
}

cudaError_t cudaGetDevice(int *ret)
{
	if (ret == NULL)
		return runtime_leave(cudaErrorInvalidValue);
	*ret = device;
	return runtime_leave(runtime_load());
}

/* From CUDA 12 on, this creates the device's primary context immediately. */
cudaError_t cudaSetDevice(int ordinal)
{
	CUcontext ctx = NULL;
	cudaError_t error = runtime_load();

	if (error == cudaSuccess)
		error = runtime_result(driver.cuDevicePrimaryCtxRetain(&ctx, ordinal));
	if (error == cudaSuccess)
		error = runtime_result(driver.cuCtxSetCurrent(ctx));
	if (error == cudaSuccess)
		device = ordinal;
	return runtime_leave(error);
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
	(void)flags;
	return runtime_leave(runtime_load());
}

cudaError_t cudaDeviceReset(void)
{
	cudaError_t error = runtime_load();

	if (error == cudaSuccess)
		error = runtime_result(driver.cuDevicePrimaryCtxReset_v2(device));
	pthread_mutex_lock(&lock);
	epoch++;
	pthread_mutex_unlock(&lock);
	return runtime_leave(error);
}

cudaError_t cudaDeviceGetAttribute(int *ret, enum cudaDeviceAttr attribute, int ordinal)
{
	cudaError_t error = runtime_load();

	if (error == cudaSuccess)
		error = runtime_result(
			driver.cuDeviceGetAttribute(ret, (CUdevice_attribute)attribute, ordinal));
	return runtime_leave(error);
}

static int asked(CUdevice_attribute attribute, int ordinal)
{
	int value = 0;

	driver.cuDeviceGetAttribute(&value, attribute, ordinal);
	return value;
}

/* Sets the fields that programs print or decide by; the others are 0. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int ordinal)
{
	cudaError_t error = runtime_load();

	if (error == cudaSuccess && p == NULL)
		error = cudaErrorInvalidValue;
	if (error != cudaSuccess)
		return runtime_leave(error);
	memset(p, 0, sizeof(*p));
	error = runtime_result(driver.cuDeviceGetName(p->name, sizeof(p->name), ordinal));
	if (error != cudaSuccess)
		return runtime_leave(error);
	driver.cuDeviceGetUuid_v2((CUuuid *)&p->uuid, ordinal);
	driver.cuDeviceTotalMem_v2(&p->totalGlobalMem, ordinal);
#define ASK(attribute) asked(CU_DEVICE_ATTRIBUTE_##attribute, ordinal)
	p->sharedMemPerBlock = (size_t)ASK(MAX_SHARED_MEMORY_PER_BLOCK);
	p->regsPerBlock = ASK(MAX_REGISTERS_PER_BLOCK);
	p->warpSize = ASK(WARP_SIZE);
	p->maxThreadsPerBlock = ASK(MAX_THREADS_PER_BLOCK);
	p->maxThreadsDim[0] = ASK(MAX_BLOCK_DIM_X);
	p->maxThreadsDim[1] = ASK(MAX_BLOCK_DIM_Y);
	p->maxThreadsDim[2] = ASK(MAX_BLOCK_DIM_Z);
	p->maxGridSize[0] = ASK(MAX_GRID_DIM_X);
	p->maxGridSize[1] = ASK(MAX_GRID_DIM_Y);
	p->maxGridSize[2] = ASK(MAX_GRID_DIM_Z);
	p->totalConstMem = (size_t)ASK(TOTAL_CONSTANT_MEMORY);
	p->major = ASK(COMPUTE_CAPABILITY_MAJOR);
	p->minor = ASK(COMPUTE_CAPABILITY_MINOR);
	p->multiProcessorCount = ASK(MULTIPROCESSOR_COUNT);
	p->canMapHostMemory = ASK(CAN_MAP_HOST_MEMORY);
	p->concurrentKernels = ASK(CONCURRENT_KERNELS);
	p->pciBusID = ASK(PCI_BUS_ID);
	p->asyncEngineCount = ASK(ASYNC_ENGINE_COUNT);
	p->unifiedAddressing = ASK(UNIFIED_ADDRESSING);
	p->memoryBusWidth = ASK(GLOBAL_MEMORY_BUS_WIDTH);
	p->l2CacheSize = ASK(L2_CACHE_SIZE);
	p->maxThreadsPerMultiProcessor = ASK(MAX_THREADS_PER_MULTIPROCESSOR);
	p->managedMemory = ASK(MANAGED_MEMORY);
	p->pageableMemoryAccess = ASK(PAGEABLE_MEMORY_ACCESS);
	p->concurrentManagedAccess = ASK(CONCURRENT_MANAGED_ACCESS);
#undef ASK
	return cudaSuccess;
}
