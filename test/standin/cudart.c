/*
 * cudart.c - the way to the driver, the current device, and the last error.
 *
 * As NVIDIA's runtime does: dlopen("libcuda.so.1"), dlsym("cuGetProcAddress_v2"), then every
 * function by base name, version and flavour.
 */
#include "cudart.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct driver driver;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded, initialised;
static cudaError_t failure;
static unsigned epoch; /* moves on with cudaDeviceReset(), under lock */
static __thread int device;
static __thread cudaError_t last_error;

static bool look_up(const char *base, int version, cuuint64_t flags, void **pfn)
{
	return driver.cuGetProcAddress_v2(base, pfn, version, flags, NULL) == CUDA_SUCCESS &&
	       *pfn != NULL;
}

static bool look_up_all(void)
{
	void *nothing = NULL;
	bool all = true;

	/* NVIDIA's first look-up is this one; its answer is "not found". */
	driver.cuGetProcAddress_v2("", &nothing, 0, 0, NULL);
#define FUNC(symbol, base, version) \
	all = look_up(#base, version, 0, (void **)&driver.symbol) && all;
#define FUNC_DS(symbol, base, version)                                    \
	all = look_up(#base, version, 0, (void **)&driver.symbol) && all; \
	all = look_up(#base, 7000, 2, (void **)&driver.symbol##_ptds) && all;
#define FUNC_SZ(symbol, base, version, pt)                                \
	all = look_up(#base, version, 0, (void **)&driver.symbol) && all; \
	all = look_up(#base, pt, 2, (void **)&driver.symbol##_ptsz) && all;
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

cudaError_t runtime_load(void)
{
	pthread_mutex_lock(&lock);
	if (!loaded)
		failure = load();
	loaded = true;
	if (failure == cudaSuccess && !initialised) {
		CUresult rc = driver.cuInit(0);

		if (rc != CUDA_SUCCESS) {
			pthread_mutex_unlock(&lock);
			return runtime_result(rc);
		}
		initialised = true;
	}
	pthread_mutex_unlock(&lock);
	return failure;
}

/* The primary context, unless the program has made one of its own current. */
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

int runtime_unmodelled(void);

int runtime_unmodelled(void)
{
	return runtime_leave(cudaErrorNotSupported);
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
#define ERROR(code, text)         \
	{                         \
		code, #code, text \
	}
	ERROR(cudaSuccess, "no error"),
	ERROR(cudaErrorInvalidValue, "invalid argument"),
	ERROR(cudaErrorMemoryAllocation, "out of memory"),
	ERROR(cudaErrorInitializationError, "initialization error"),
	ERROR(cudaErrorCudartUnloading, "driver shutting down"),
	ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
	ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
	ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
	ERROR(cudaErrorInsufficientDriver,
	      "CUDA driver version is insufficient for CUDA runtime version"),
	ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
	ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
	ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
	ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
	ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
	ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
	ERROR(cudaErrorNotReady, "device not ready"),
	ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
	ERROR(cudaErrorContextIsDestroyed, "context is destroyed"),
	ERROR(cudaErrorHostMemoryAlreadyRegistered,
	      "part or all of the requested memory range is already mapped"),
	ERROR(cudaErrorHostMemoryNotRegistered,
	      "pointer does not correspond to a registered memory region"),
	ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
	ERROR(cudaErrorNotPermitted, "operation not permitted"),
	ERROR(cudaErrorNotSupported, "operation not supported"),
	ERROR(cudaErrorStreamCaptureUnsupported,
	      "operation not permitted when stream is capturing"),
	ERROR(cudaErrorStreamCaptureInvalidated,
	      "operation failed due to a previous error during capture"),
	ERROR(cudaErrorStreamCaptureImplicit,
	      "operation would make the legacy stream depend on a capturing blocking stream"),
	ERROR(cudaErrorUnknown, "unknown error"),
#undef ERROR
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

/* From CUDA 12 on this makes the device's primary context at once. */
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

cudaError_t cudaInitDevice(int ordinal, unsigned device_flags, unsigned flags)
{
	(void)device_flags;
	(void)flags;
	return cudaSetDevice(ordinal);
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
	(void)flags;
	return runtime_leave(runtime_load());
}

cudaError_t cudaDeviceSynchronize(void)
{
	cudaError_t error = runtime_enter();

	if (error == cudaSuccess)
		error = runtime_result(driver.cuCtxSynchronize_v2(NULL));
	return runtime_leave(error);
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

cudaError_t cudaDeviceGetPCIBusId(char *ret, int room, int ordinal)
{
	cudaError_t error = runtime_load();

	if (error == cudaSuccess)
		error = runtime_result(driver.cuDeviceGetPCIBusId(ret, room, ordinal));
	return runtime_leave(error);
}

cudaError_t cudaDeviceCanAccessPeer(int *ret, int ordinal, int peer)
{
	cudaError_t error = runtime_load();

	if (error == cudaSuccess)
		error = runtime_result(driver.cuDeviceCanAccessPeer(ret, ordinal, peer));
	return runtime_leave(error);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	cudaError_t error = runtime_enter();

	if (error == cudaSuccess)
		error = runtime_result(driver.cuCtxGetStreamPriorityRange(least, greatest));
	return runtime_leave(error);
}

static int asked(CUdevice_attribute attribute, int ordinal)
{
	int value = 0;

	driver.cuDeviceGetAttribute(&value, attribute, ordinal);
	return value;
}

/* The fields that programs print or decide by; the others are 0. */
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
	p->sharedMemPerMultiprocessor = (size_t)ASK(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	p->sharedMemPerBlockOptin = (size_t)ASK(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	p->regsPerBlock = ASK(MAX_REGISTERS_PER_BLOCK);
	p->regsPerMultiprocessor = ASK(MAX_REGISTERS_PER_MULTIPROCESSOR);
	p->warpSize = ASK(WARP_SIZE);
	p->memPitch = (size_t)ASK(MAX_PITCH);
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
	p->textureAlignment = (size_t)ASK(TEXTURE_ALIGNMENT);
	p->multiProcessorCount = ASK(MULTIPROCESSOR_COUNT);
	p->canMapHostMemory = ASK(CAN_MAP_HOST_MEMORY);
	p->concurrentKernels = ASK(CONCURRENT_KERNELS);
	p->ECCEnabled = ASK(ECC_ENABLED);
	p->pciBusID = ASK(PCI_BUS_ID);
	p->asyncEngineCount = ASK(ASYNC_ENGINE_COUNT);
	p->unifiedAddressing = ASK(UNIFIED_ADDRESSING);
	p->memoryBusWidth = ASK(GLOBAL_MEMORY_BUS_WIDTH);
	p->l2CacheSize = ASK(L2_CACHE_SIZE);
	p->maxThreadsPerMultiProcessor = ASK(MAX_THREADS_PER_MULTIPROCESSOR);
	p->streamPrioritiesSupported = ASK(STREAM_PRIORITIES_SUPPORTED);
	p->managedMemory = ASK(MANAGED_MEMORY);
	p->pageableMemoryAccess = ASK(PAGEABLE_MEMORY_ACCESS);
	p->concurrentManagedAccess = ASK(CONCURRENT_MANAGED_ACCESS);
	p->canUseHostPointerForRegisteredMem = ASK(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
	p->cooperativeLaunch = ASK(COOPERATIVE_LAUNCH);
	p->hostRegisterSupported = ASK(HOST_REGISTER_SUPPORTED);
	p->memoryPoolsSupported = ASK(MEMORY_POOLS_SUPPORTED);
#undef ASK
	return cudaSuccess;
}
