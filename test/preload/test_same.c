/*
 * test_same.c - one program in three ways: without the library, with HOTPIN=0, and with the
 * library.
 *
 * With HOTPIN=0 the driver gets the same calls as without the library.  With the library the
 * program gets the same answers and bytes as without it.
 */
#include "promote.h"

#include <cuda_runtime_api.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Prints return codes and sums of bytes, one line for each step. */
static unsigned steps;

static void say(const char *what, long answer)
{
	printf("%u %s %ld\n", ++steps, what, answer);
}
#define SAY(call) say(#call, (long)(call))

static long sum(const char *at, size_t bytes)
{
	unsigned long all = 5381;

	for (size_t i = 0; i < bytes; i++)
		all = all * 33 + (unsigned char)at[i];
	return (long)(all >> 1);
}

static void by_driver(void)
{
	CUstream streams[2];
	CUevent event;
	unsigned flags = 77;
	CUmemorytype type = 77;

	SAY(cuInit(0));
	SAY(cuCtxCreate_v2(&context, 0, 0));
	SAY(cuMemAlloc_v2(&there, 64 * MIB));
	SAY(cuStreamCreate(&streams[0], CU_STREAM_DEFAULT));
	SAY(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
	SAY(cuEventCreate(&event, 0));
	for (unsigned i = 0; i < 60; i++) {
		size_t bytes = (i * 37 % 50 + 1) * 111111 / (i % 7 == 0 ? 100 : 1);
		CUstream stream = streams[i % 2];
		char *block = i % 2 ? malloc(bytes) : calloc(bytes, 1);

		fill(block, bytes, i);
		SAY(cuMemcpyHtoD_v2(there, block, bytes));
		/* The copy may be in flight, and a non-blocking stream does not wait for it. */
		SAY(cuStreamSynchronize(NULL));
		SAY(cuMemcpyHtoDAsync_v2(there + 8 * MIB, block, bytes, stream));
		memset(block, 0, bytes);
		SAY(cuEventRecord(event, stream));
		SAY(cuMemcpyDtoHAsync_v2(block, there + 8 * MIB, bytes, stream));
		say("bytes", sum(block, bytes));
		SAY(cuStreamSynchronize(stream));
		SAY(cuEventQuery(event));
		SAY(cuMemcpyDtoD_v2(there + 16 * MIB, there, bytes));
		SAY(cuMemsetD8Async(there, 7, bytes / 2, stream));
		SAY(cuCtxSynchronize());
		SAY(cuMemcpyDtoH_v2(block, there, bytes));
		say("bytes", sum(block, bytes));
		SAY(cuMemHostGetFlags(&flags, block));
		SAY(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					  (CUdeviceptr)block));
		SAY(cuMemHostUnregister(block));
		if (i % 5 == 0) {
			SAY(cuMemHostRegister_v2(block, bytes, 0));
			SAY(cuMemHostGetFlags(&flags, block));
			SAY(flags);
			SAY(cuMemcpyDtoHAsync_v2(block, there + 16 * MIB, bytes, stream));
			SAY(cuStreamSynchronize(stream));
			say("bytes", sum(block, bytes));
			SAY(cuMemHostUnregister(block));
		}
		if (i % 3 == 0) {
			block = realloc(block, bytes * 2);
			SAY(cuMemcpyHtoD_v2(there, block, bytes));
			SAY(cuCtxSynchronize());
		}
		SAY(cuMemcpyHtoD_v2(there + 64 * MIB - 1, block, bytes));
		SAY(cuMemcpyDtoH_v2(block, 12345, bytes));
		free(block);
	}
	SAY(cuEventDestroy_v2(event));
	SAY(cuStreamDestroy_v2(streams[0]));
	SAY(cuCtxDestroy_v2(context));
	SAY(cuMemcpyHtoD_v2(there, &flags, 4));
}

static void by_runtime(void)
{
	struct cudaPointerAttributes attributes;
	cudaStream_t stream;
	void *device, *pinned;

	SAY(cudaMalloc(&device, 16 * MIB));
	SAY(cudaStreamCreate(&stream));
	SAY(cudaMallocHost(&pinned, 4 * MIB));
	for (unsigned i = 0; i < 40; i++) {
		size_t bytes = (i * 53 % 64 + 1) * 65537;
		char *block = malloc(bytes);

		fill(block, bytes, i);
		SAY(cudaMemcpy(device, block, bytes, cudaMemcpyHostToDevice));
		SAY(cudaMemcpyAsync(device, block, bytes / 2, cudaMemcpyDefault, stream));
		memset(block, 0, bytes);
		SAY(cudaMemcpy(block, device, bytes, cudaMemcpyDeviceToHost));
		say("bytes", sum(block, bytes));
		SAY(cudaMemcpy2D(device, 1000, block, 2000, 1000, bytes / 2000,
				 cudaMemcpyHostToDevice));
		SAY(cudaMemcpyAsync(block, device, bytes, cudaMemcpyDeviceToHost, stream));
		say("bytes", sum(block, bytes));
		memset(&attributes, 0, sizeof(attributes));
		SAY(cudaPointerGetAttributes(&attributes, block));
		SAY(attributes.type);
		SAY(cudaHostUnregister(block));
		SAY(cudaGetLastError());
		SAY(cudaMemcpy(pinned, device, 4 * MIB, cudaMemcpyDeviceToHost));
		say("bytes", sum(pinned, 4 * MIB));
		free(block);
	}
	SAY(cudaFreeHost(pinned));
	SAY(cudaStreamDestroy(stream));
	SAY(cudaFree(device));
	SAY(cudaDeviceReset());
	SAY(cudaGetLastError());
}

/* The program itself: no test, but run by the tests. */
static int work(const char *by)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	if (strcmp(by, "driver") == 0)
		by_driver();
	else
		by_runtime();
	return check_failures;
}

/* Runs the program, with its output and the driver's log in the test's folder. */
static int run(const char *by, const char *mode)
{
	char out[4096], log[4096], errors[4096];
	int status = -1;

	snprintf(out, sizeof(out), "%s/out.%s", check_folder(), mode);
	snprintf(log, sizeof(log), "%s/log.%s", check_folder(), mode);
	snprintf(errors, sizeof(errors), "%s/errors.%s", check_folder(), mode);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		setenv("STANDIN_LOG", log, 1);
		unsetenv("LD_PRELOAD");
		if (strcmp(mode, "plain") != 0)
			setenv("LD_PRELOAD", getenv("PRELOAD_SO"), 1);
		if (strcmp(mode, "off") == 0)
			setenv("HOTPIN", "0", 1);
		else
			unsetenv("HOTPIN");
		preload_limit_pins();
		if (freopen(out, "w", stdout) == NULL || freopen(errors, "w", stderr) == NULL)
			_exit(126);
		execl("/proc/self/exe", "/proc/self/exe", "work", by, (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(child, &status, 0) == child);
	return status;
}

/* Returns the contents of what.mode in the test's folder. */
static char *read_file(const char *what, const char *mode)
{
	char path[4096];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s.%s", check_folder(), what, mode);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &status) < 0)
		return strdup("no file");
	char *text = calloc(1, (size_t)status.st_size + 1);
	if (read(fd, text, (size_t)status.st_size) != status.st_size)
		text[0] = '\0';
	close(fd);
	unlink(path);
	return text;
}

static void equal(const char *what, const char *mode, const char *expected)
{
	char *got = read_file(what, mode);
	size_t at = 0, line = 0;

	while (got[at] != '\0' && got[at] == expected[at])
		line = got[at++] == '\n' ? at : line;
	if (!CHECK(got[at] == expected[at]))
		printf("# %s.%s: %.*s\n# instead of %.*s\n", what, mode,
		       (int)strcspn(got + line, "\n"), got + line,
		       (int)strcspn(expected + line, "\n"), expected + line);
	free(got);
}

static void three_ways(const char *by)
{
	int plain = run(by, "plain");
	CHECK_EQ(run(by, "off"), plain);
	CHECK_EQ(run(by, "on"), plain);
	char *out = read_file("out", "plain"), *log = read_file("log", "plain");
	char *pinned = read_file("log", "on");

	CHECK(strlen(out) > 10000 && strlen(log) > 10000);
	equal("out", "off", out);
	equal("out", "on", out);
	equal("log", "off", log);
	equal("errors", "plain", "");
	equal("errors", "off", "");
	equal("errors", "on", "");
	/* The housekeeper was active in between. */
	CHECK(strstr(pinned, "cuThreadExchangeStreamCaptureMode") != NULL);
}

CASE(a_program_of_the_driver, three_ways("driver"))
CASE(a_program_of_the_runtime, three_ways("runtime"))

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "work") == 0)
		return work(argv[2]);
	return preload_main(argc, argv);
}
