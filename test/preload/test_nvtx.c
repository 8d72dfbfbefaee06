/*
 * test_nvtx.c - the ranges of a program that was compiled with NVIDIA's own header.
 */
#include "preload.h"

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <time.h>

static void spend(unsigned ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

static int copy(CUdeviceptr there, void *host, size_t bytes)
{
	return cuMemcpyHtoD(there, host, bytes) != CUDA_SUCCESS;
}

static void *nested_in_a_thread(void *arg)
{
	nvtxRangePushA("thread");
	spend(20);
	nvtxRangePop();
	return arg;
}

static nvtxEventAttributes_t registered(nvtxStringHandle_t name)
{
	return (nvtxEventAttributes_t){ .version = NVTX_VERSION,
					.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					.messageType = NVTX_MESSAGE_TYPE_REGISTERED,
					.message.registered = name };
}

/* In the process that is looked at. */
static int work(void)
{
	static char host[4096];
	CUcontext context;
	CUdeviceptr there;
	pthread_t thread;
	int failed = 0;

	/* Before the driver is there; what is returned is what it is without any tool. */
	failed |= nvtxRangePushA("set up") != NVTX_NO_PUSH_POP_TRACKING;
	failed |= cuInit(0) != CUDA_SUCCESS || cuCtxCreate(&context, NULL, 0, 0) != CUDA_SUCCESS ||
		  cuMemAlloc(&there, sizeof(host)) != CUDA_SUCCESS;
	spend(30);
	failed |= nvtxRangePop() != NVTX_NO_PUSH_POP_TRACKING;
	/* One that nobody pushed. */
	nvtxRangePop();

	nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
	nvtxEventAttributes_t step = registered(nvtxDomainRegisterStringA(domain, "step"));
	for (int i = 0; i < 3; i++) {
		nvtxDomainRangePushEx(domain, &step);
		nvtxRangePushA("inner");
		failed |= copy(there, host, 1000);
		nvtxRangePop();
		nvtxDomainRangePop(domain);
	}
	nvtxRangeId_t id = nvtxRangeStartW(L"gr\u00fc\u00dfe \"\u20ac\"");
	failed |= copy(there, host, 64);
	pthread_create(&thread, NULL, nested_in_a_thread, NULL);
	pthread_join(thread, NULL);
	nvtxRangeEnd(id);
	failed |= copy(there, host, 7);
	nvtxMarkA("a mark is no range");
	for (int i = 0; i < 200; i++) {
		char name[32];

		snprintf(name, sizeof(name), "many %d", i);
		nvtxRangePushA(name);
		nvtxRangePop();
	}
	/* One that is open at the end. */
	nvtxRangePushA("last");
	return failed;
}

static char json[1 << 20];

static int profile(const char *profile_option)
{
	char path[] = "/tmp/hotpin-nvtx-XXXXXX", self[4096] = "", command[16384];
	int fd = mkstemp(path);

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -1;
	snprintf(command, sizeof(command),
		 "NVTX_INJECTION64_PATH=%s LD_PRELOAD=%s LD_LIBRARY_PATH=%s HOTPIN_PROFILE=%s "
		 "HOTPIN_CUPTI=off HOTPIN_OUT=%s '%s' work 2>/dev/null",
		 getenv("PRELOAD_SO"), getenv("PRELOAD_SO"), getenv("PRELOAD_PATH"), profile_option,
		 path, self);
	close(fd);
	int status = system(command);
	FILE *file = fopen(path, "r");
	size_t length = file != NULL ? fread(json, 1, sizeof(json) - 1, file) : 0;

	json[length] = '\0';
	if (file != NULL)
		fclose(file);
	unlink(path);
	return status;
}

/* The number behind "name": after the stage called so; -1: none. */
static long of_stage(const char *stage, const char *name)
{
	char key[128];

	snprintf(key, sizeof(key), "\"name\": \"%s\"", stage);
	const char *found = strstr(json, key);
	snprintf(key, sizeof(key), "\"%s\": ", name);
	found = found != NULL ? strstr(found, key) : NULL;
	return found != NULL ? atol(found + strlen(key)) : -1;
}

TEST(ranges_are_stages)
{
	CHECK_EQ(profile("summary"), 0);
	CHECK_EQ(of_stage("set up", "entered"), 1);
	CHECK(of_stage("set up", "wall_ns") > 30000000);
	CHECK_EQ(of_stage("step", "entered"), 3);
	CHECK(strstr(json, "\"domain\": \"solver\"") != NULL);
	/* The first "bytes" after the name is that of h2d. */
	CHECK_EQ(of_stage("step", "bytes"), 3000);
	CHECK_EQ(of_stage("inner", "entered"), -1);
	CHECK_EQ(of_stage("gr\xc3\xbc\xc3\x9f"
			  "e \\\"\xe2\x82\xac\\\"",
			  "bytes"),
		 64);
	/* It began last: the time is its own. */
	CHECK(of_stage("thread", "wall_ns") > 20000000);
	CHECK(of_stage("gr\xc3\xbc\xc3\x9f"
		       "e \\\"\xe2\x82\xac\\\"",
		       "wall_ns") < 20000000);
	CHECK_EQ(of_stage("a mark is no range", "entered"), -1);
	CHECK_EQ(of_stage("(others)", "entered"), 201 - (63 - 4));
}

TEST(ranges_are_on_the_timeline)
{
	CHECK_EQ(profile("trace"), 0);
	CHECK(strstr(json, "\"kind\": \"stages\"") != NULL);
	CHECK(strstr(json, "\n\t\t\t[5,") != NULL);
	CHECK(strstr(json, "\t\"step\",") != NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "work") == 0)
		return work();
	return check_main(1, argv);
}
