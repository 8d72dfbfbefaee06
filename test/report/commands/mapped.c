/*
 * mapped.c - uploads from files that it maps, and from other mappings.
 *
 *	mapped FILE OTHER
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (1u << 20)

static void *map(void *at, int fd, int flags)
{
	void *mapped = mmap(at, BYTES, PROT_READ, flags, fd, 0);

	if (mapped == MAP_FAILED)
		exit(1);
	if (fd >= 0)
		close(fd);
	return mapped;
}

static void upload(CUdeviceptr to, const char *from)
{
	if (cuMemcpyHtoD(to, from, BYTES / 2) != CUDA_SUCCESS)
		exit(1);
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUdevice device;
	CUdeviceptr memory;

	if (argc != 3)
		return 1;
	char *file = map(NULL, open(argv[1], O_RDONLY), MAP_PRIVATE);
	int shared = memfd_create("shared", 0);
	if (shared < 0 || ftruncate(shared, BYTES) != 0 || cuInit(0) != CUDA_SUCCESS ||
	    cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
	    cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
	    cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc(&memory, BYTES) != CUDA_SUCCESS)
		return 1;
	for (int i = 0; i < 3; i++)
		upload(memory, file);
	upload(memory, file + BYTES / 2);
	/* What takes its place has another name. */
	map(file, open(argv[2], O_RDONLY), MAP_PRIVATE | MAP_FIXED);
	upload(memory, file);
	munmap(file, BYTES);
	upload(memory, map(file, -1, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED));
	upload(memory, map(NULL, shared, MAP_SHARED));
	return 0;
}
