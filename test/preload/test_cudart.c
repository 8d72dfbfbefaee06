/*
 * test_cudart.c - NVIDIA's own runtime looks up its functions through the library.
 *
 * It then refuses the stand-in driver, because it checks private tables; that check is left alone.
 * Built twice, with the shared and with the static runtime.
 */
#include "device.h"

#include <cuda_runtime_api.h>

TEST(the_runtime_finds_its_functions)
{
	int count = 0;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW); /* the runtime closes it at the end */
	cudaError_t error = cudaGetDeviceCount(&count);

	if (!CHECK(driver != NULL))
		return;
	printf("# %d look-ups, then %d: %s\n", calls_of(driver, "cuGetProcAddress_v2"), error,
	       cudaGetErrorString(error));
	CHECK(calls_of(driver, "cuGetProcAddress_v2") > 400);
	CHECK_EQ(calls_of(driver, "cuInit"), 1);
	/* The stand-in refuses the runtime's request for private tables. */
	CHECK_EQ(error, cudaErrorSymbolNotFound);
	CHECK_EQ(cudaGetDeviceCount(&count), error);
}

/* Counts the wrappers among them, by the library's own count. */
TEST_WITH(most_of_them_are_ours, "HOTPIN_LOG=debug")
{
	char line[256];
	unsigned routed = 0;
	int fd = open(check_path("log"), O_CREAT | O_RDONLY, 0600);

	if (!CHECK(fd >= 0))
		return;
	setenv("HOTPIN_LOG_FILE", check_path("log"), 1);
	pid_t child = fork();
	if (child == 0) {
		execl("/proc/self/exe", "/proc/self/exe", "--child",
		      "the_runtime_finds_its_functions", (char *)NULL);
		_exit(127);
	}
	CHECK_EQ(check_status(child), CHECK_REACHED_ITS_END);
	FILE *log = fdopen(fd, "r");
	while (fgets(line, sizeof(line), log) != NULL) {
		const char *at = strstr(line, "that returned hotpin's: ");

		if (at != NULL)
			routed = (unsigned)atoi(at + strlen("that returned hotpin's: "));
	}
	fclose(log);
	printf("# %u were ours\n", routed);
	CHECK(preloaded() ? routed > 250 : routed == 0);
}

PRELOAD_MAIN()
