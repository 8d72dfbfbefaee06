/*
 * test_nvtx.c - the ranges of a program that was compiled with NVIDIA's own NVTX header.  The test
 * clock determines their durations.
 */
#include "clock.h"
#include "preload.h"

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>

/* A toolkit may lack cudaProfiler.h, which is a package of its own. */
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);

static int copy(CUdeviceptr there, void *host, size_t bytes)
{
	return cuMemcpyHtoD(there, host, bytes) != CUDA_SUCCESS;
}

static void *nested_in_a_thread(void *arg)
{
	nvtxRangePushA("thread");
	test_clock_pass(100 * TEST_MS);
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

/* Runs in the profiled process. */
static int work(void)
{
	static char host[4096];
	CUcontext context;
	CUdeviceptr there;
	int failed = 0;

	/* Before the driver is loaded; the results are those without any tool. */
	failed |= nvtxRangePushA("set up") != NVTX_NO_PUSH_POP_TRACKING;
	failed |= cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS ||
		  cuMemAlloc(&there, sizeof(host)) != CUDA_SUCCESS;
	test_clock_pass(30 * TEST_MS);
	failed |= nvtxRangePop() != NVTX_NO_PUSH_POP_TRACKING;
	/* A pop without a push. */
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
	check_in_thread(nested_in_a_thread, NULL);
	nvtxRangeEnd(id);
	failed |= copy(there, host, 7);
	nvtxMarkA("a mark is no range");
	for (int i = 0; i < 200; i++) {
		char name[32];

		snprintf(name, sizeof(name), "many %d", i);
		nvtxRangePushA(name);
		nvtxRangePop();
	}
	/* A range that is open at the end. */
	nvtxRangePushA("last");
	return failed;
}

/* Imitates a library with NVTX 2: its table begins with functions of its own, which do nothing. */
static int nothing(void)
{
	return -1;
}

static void *slots_core[16], *slots_core2[16], **table_core[16], **table_core2[16];

static int get_module(int module, void ****ret_table, unsigned *ret_count)
{
	if (module != NVTX_CB_MODULE_CORE && module != NVTX_CB_MODULE_CORE2)
		return 0;
	void **slots = module == NVTX_CB_MODULE_CORE ? slots_core : slots_core2;
	void ***table = module == NVTX_CB_MODULE_CORE ? table_core : table_core2;
	for (unsigned i = 1; i < 16; i++) {
		slots[i] = (void *)nothing;
		table[i] = &slots[i];
	}
	*ret_table = table;
	*ret_count = 16;
	return 1;
}

static const void *get_table(uint32_t id)
{
	static const struct {
		size_t bytes;
		int (*get_module)(int module, void ****ret_table, unsigned *ret_count);
	} callbacks = { sizeof(callbacks), get_module };

	return id == NVTX_ETID_CALLBACKS ? &callbacks : NULL;
}

/* As that library does at its first call, in addition to the program's own NVTX 3. */
static int work_of_version_2(void)
{
	void *tool = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
	int (*initialize)(const void *(*get)(uint32_t)) =
		(int (*)(const void *(*)(uint32_t)))dlsym(tool, "InitializeInjectionNvtx");
	CUcontext context;

	if (initialize == NULL || initialize(get_table) != 1)
		return 1;
	int (*push)(const char *) = (int (*)(const char *))slots_core[NVTX_CBID_CORE_RangePushA];
	int (*pop)(void) = (int (*)(void))slots_core[NVTX_CBID_CORE_RangePop];
	if ((void *)push == (void *)nothing || (void *)pop == (void *)nothing ||
	    slots_core[NVTX_CBID_CORE_MarkA] != (void *)nothing ||
	    slots_core2[NVTX_CBID_CORE2_DomainRangePushEx] == (void *)nothing)
		return 1;
	if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS)
		return 1;
	push("older");
	test_clock_pass(20 * TEST_MS);
	/* Nested: not counted separately. */
	nvtxRangePushA("newer");
	nvtxRangePop();
	pop();
	nvtxRangePushA("newer, alone");
	nvtxRangePop();
	return 0;
}

/* Opens more ranges than are kept while they are open. */
static int open_many(void)
{
	nvtxRangeId_t ids[300];
	CUcontext context;

	if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS)
		return 1;
	for (int i = 0; i < 300; i++)
		ids[i] = nvtxRangeStartA("open");
	for (int i = 0; i < 300; i++)
		nvtxRangeEnd(ids[i]);
	nvtxRangePushA("later");
	nvtxRangePop();
	return 0;
}

/* A range inside others is captured too, and one that is open in another thread. */
static int capture(void)
{
	static char host[4096];
	CUcontext context;
	CUdeviceptr there = 0;
	int failed = cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS ||
		     cuMemAlloc(&there, sizeof(host)) != CUDA_SUCCESS;

	nvtxRangePushA("epoch");
	failed |= copy(there, host, 1);
	for (int i = 0; i < 2; i++) {
		nvtxRangePushA("step");
		nvtxRangePushA("step");
		failed |= copy(there, host, 10);
		nvtxRangePop();
		failed |= copy(there, host, 100);
		nvtxRangePop();
		failed |= copy(there, host, 1000);
	}
	nvtxRangeId_t id = nvtxRangeStartA("step");
	nvtxRangePop();
	failed |= copy(there, host, 200);
	nvtxRangeEnd(id);
	failed |= copy(there, host, 2000);
	failed |= cuProfilerStart() != CUDA_SUCCESS || copy(there, host, 30) ||
		  cuProfilerStop() != CUDA_SUCCESS || copy(there, host, 2000);
	return failed;
}

static char json[1 << 20];

static int profile(const char *what, const char *profile_option)
{
	char settings[256];

	snprintf(settings, sizeof(settings), "NVTX_INJECTION64_PATH=$PRELOAD_SO HOTPIN_PROFILE=%s",
		 profile_option);
	return preload_profile(settings, what, json, sizeof(json));
}

/* Returns the number after "name": of the stage with that name; -1: none. */
static long of_stage(const char *stage, const char *name)
{
	char key[128];

	snprintf(key, sizeof(key), "\"name\": \"%s\"", stage);
	const char *found = strstr(json, key);
	return found != NULL ? preload_number(found, name) : -1;
}

TEST(ranges_are_stages)
{
	CHECK_EQ(profile("work", "summary"), 0);
	CHECK_EQ(of_stage("set up", "entered"), 1);
	CHECK(of_stage("set up", "wall_ns") >= 30000000);
	CHECK_EQ(of_stage("step", "entered"), 3);
	CHECK(strstr(json, "\"domain\": \"solver\"") != NULL);
	/* The first "bytes" after the name belongs to h2d. */
	CHECK_EQ(of_stage("step", "bytes"), 3000);
	CHECK_EQ(of_stage("inner", "entered"), -1);
	CHECK_EQ(of_stage("gr\xc3\xbc\xc3\x9f"
			  "e \\\"\xe2\x82\xac\\\"",
			  "bytes"),
		 64);
	/* This range began last, so its time counts for it. */
	CHECK(of_stage("thread", "wall_ns") >= 100000000);
	CHECK(of_stage("gr\xc3\xbc\xc3\x9f"
		       "e \\\"\xe2\x82\xac\\\"",
		       "wall_ns") < of_stage("thread", "wall_ns"));
	CHECK_EQ(of_stage("a mark is no range", "entered"), -1);
	CHECK_EQ(of_stage("(others)", "entered"), 201 - (63 - 4));
}

TEST(ranges_are_on_the_timeline)
{
	CHECK_EQ(profile("work", "trace"), 0);
	CHECK(strstr(json, "\"kind\": \"ranges\"") != NULL);
	CHECK(strstr(json, "\n\t\t\t[5,") != NULL);
	CHECK(strstr(json, "\t\"step\",") != NULL);
}

TEST(ranges_of_version_2_are_stages)
{
	CHECK_EQ(profile("older", "summary"), 0);
	CHECK_EQ(of_stage("older", "entered"), 1);
	CHECK(of_stage("older", "wall_ns") >= 20000000);
	CHECK_EQ(of_stage("newer", "entered"), -1);
	CHECK_EQ(of_stage("newer, alone", "entered"), 1);
}

/* Every range that is left out is reported. */
TEST(ranges_that_found_no_room_are_counted)
{
	CHECK_EQ(profile("many", "summary"), 0);
	CHECK_EQ(of_stage("open", "entered"), 256);
	CHECK_EQ(of_stage("later", "entered"), 1);
	CHECK(strstr(json, "\"ranges_dropped\": 44") != NULL);
	CHECK(strstr(json, "\"44 NVTX ranges are in no sum: too many were open at once\"") != NULL);
	CHECK_EQ(profile("work", "summary"), 0);
	CHECK(strstr(json, "\"ranges_dropped\": 0") != NULL);
	CHECK(strstr(json, "are in no sum") == NULL);
}

static long uploaded(const char *capture_option)
{
	CHECK_EQ(profile("capture", capture_option), 0);
	return preload_number(json, "hotpin_bytes");
}

TEST(ranges_are_captured)
{
	CHECK_EQ(uploaded("summary HOTPIN_CAPTURE=all"), 1 + 2 * 1110 + 200 + 2000 + 30 + 2000);
	CHECK_EQ(uploaded("summary HOTPIN_CAPTURE=nvtx:step"), 2 * 110 + 200);
	CHECK(strstr(json, "range nvtx:step alone, which began 3 times") != NULL);
	CHECK_EQ(of_stage("epoch", "bytes"), 2 * 110);
	CHECK_EQ(uploaded("summary HOTPIN_CAPTURE=nvtx:epoch"), 1 + 2 * 1110);
	CHECK_EQ(uploaded("summary HOTPIN_CAPTURE=profiler-api"), 30);
	CHECK_EQ(of_stage("epoch", "entered"), -1);
	CHECK_EQ(uploaded("summary HOTPIN_CAPTURE=nvtx:ste"), 0);
	CHECK(strstr(json, "nvtx:ste never began") != NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "work") == 0)
		return work();
	if (argc > 1 && strcmp(argv[1], "older") == 0)
		return work_of_version_2();
	if (argc > 1 && strcmp(argv[1], "capture") == 0)
		return capture();
	if (argc > 1 && strcmp(argv[1], "many") == 0)
		return open_many();
	return check_main(1, argv);
}
