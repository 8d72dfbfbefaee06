/*
 * hazards.c - what the hazard tests have in common, and the program around them.
 *
 *	hazards on|off|plain     every test in a process of its own, as test/preload has them
 *	hazards --list           the tests; behind a tab the environment of one with its own process
 *	hazards --run NAME...    these tests in this process, with any library preloaded
 *
 * On a device hazards.py runs it both ways and compares.
 *
 * row  cause                                     tests here; elsewhere, on the stand-in
 *   1  free() of a pinned block                  row01_*; pageable, limits
 *   2  realloc()                                 row02_*; unit heap_move, altered
 *   3  its mapping changes                       row03_*; altered
 *   4  madvise() and its kin                     row04_*; altered
 *   5  mprotect()                                row05_*; altered
 *   6  fork(), clone()                           row06_*; children, process
 *   7  the program registers it                  row07_*; pageable, engine altered
 *   8  the program unregisters or frees it       row08_*; pageable
 *   9  the program asks what it is               row09_*; pageable
 *  10  copies that leave a block                 row10_*; borders
 *  11  asynchronous copies                       row11_*; async
 *  12  stream capture, graphs                    row12_*; capture
 *  13  pages shared with neighbors              row13_*; borders, unit heap
 *  14  stack, data, foreign heaps                row14_*; ownmalloc, early
 *  15  mappings of files and shared memory       row15_*
 *  16  pages that the kernel would rearrange     row16_*
 *  17  placement on NUMA nodes                   row17_*
 *  18  limits of locked and of pinned memory     row18_*; limits, ration
 *  19  huge blocks                               row19_*
 *  20  contexts end                              row20_*; context, engine pin_context
 *  21  several contexts and devices              row21_*; context
 *  22  the runtime's last error                  row22_*
 *  23  exit                                      row23_*; process
 *  24  locks that processes share                row24_*
 *  25  images of a process, checkpoints          row25_*
 *  26  other processes look in                   row26_*
 *  27  I/O of the kernel's on the same pages     row27_*
 *  28  the program's own allocator in a block    row28_*
 *  29  what no hook sees                         row29_*; ownmalloc
 *  30  devices that read pageable memory         row30_*; limits
 */
#include "hazards.h"
#include "ptx.h"
#include "../standin/standin.h"

struct driver cu, native;
CUcontext primary;
CUdeviceptr there;
CUstream stream;
const char *hazard_skip;

static void *driver;
static const char *running;
static CUfunction spins;

/*
 * Finds one function by name and version as a runtime does; by its symbol if a driver returns
 * another function for that version.
 */
static void find_one(void **ret, void **ret_native, const char *symbol, const char *name,
		     int version)
{
	__typeof__(cuGetProcAddress_v2) *ask = FIND(driver, cuGetProcAddress_v2);
	dlsym_fn look = native_dlsym();
	void *asked = NULL;

	*ret_native = look(driver, symbol);
	((__typeof__(cuGetProcAddress_v2) *)look(driver, "cuGetProcAddress_v2"))(
		name, &asked, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL);
	if (asked == NULL || asked != *ret_native ||
	    ask(name, ret, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL) != CUDA_SUCCESS)
		*ret = dlsym(driver, symbol);
}

/* Ends the process: a failure if the stand-in must be there, otherwise a skip. */
static void lacks(const char *what, const char *why)
{
	bool skipped = getenv("PRELOAD_PATH") == NULL;

	printf("# %sthere is no %s%s\n", skipped ? "skipped: " : "", what, why);
	exit(skipped ? CHECK_SKIPPED : 1);
}

void find_driver(void)
{
	if (driver != NULL)
		return;
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (driver == NULL)
		lacks("driver: ", dlerror());
#define FIND_ONE(symbol, name, version) \
	find_one((void **)&cu.symbol, (void **)&native.symbol, #symbol, name, version);
	DRIVER_FUNCTIONS(FIND_ONE)
#undef FIND_ONE
	ptx_find_stand_in(driver);
}

void *stand_in(const char *name)
{
	void *control = driver != NULL ? dlsym(driver, "standin_calls") : NULL;

	return control != NULL ? dlsym(driver, name) : NULL;
}

bool hold_call(const char *name)
{
	void (*hold)(const char *, enum standin_place, int) =
		(void (*)(const char *, enum standin_place, int))stand_in("standin_hold");

	if (hold != NULL)
		hold(name, STANDIN_AT_RETURN, 0);
	return hold != NULL;
}

bool call_is_held(void)
{
	return ((int (*)(void))stand_in("standin_held"))() != 0;
}

void release_call(void)
{
	((void (*)(void))stand_in("standin_release"))();
}

void begin_context(void)
{
	CUmodule module;

	OK(cu.cuMemAlloc_v2(&there, THERE_BYTES));
	OK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cu.cuModuleLoadData(&module, ptx_image));
	OK(cu.cuModuleGetFunction(&spins, module, "test_spin"));
}

void begin(void)
{
	find_driver();
	if (primary == NULL) {
		CUresult result = cu.cuInit(0);

		if (result == CUDA_ERROR_NO_DEVICE)
			lacks("device", "");
		OK(result);
		OK(cu.cuDevicePrimaryCtxRetain(&primary, 0));
		OK(cu.cuCtxSetCurrent(primary));
		begin_context();
	}
	OK(cu.cuCtxSetCurrent(primary));
}

void hazard_see(const char *what, long long value)
{
	printf("# see %s %s = %lld\n", running, what, value);
}

bool is_pinned(const void *at)
{
	CUmemorytype type = 0;

	return native.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					    (CUdeviceptr)at) == CUDA_SUCCESS &&
	       type == CU_MEMORYTYPE_HOST;
}

void spin(CUstream on, unsigned ms)
{
	uint64_t ns = ms * 1000000u;
	void *arguments[] = { &ns };

	OK(cu.cuLaunchKernel(spins, 1, 1, 1, 1, 1, 1, 0, on, arguments, NULL));
}

bool heat(char *block, size_t bytes)
{
	size_t now = bytes < THERE_BYTES ? bytes : THERE_BYTES;

	for (int i = 0; i < (preloaded() ? 200 : 3) && !is_pinned(block); i++)
		OK(cu.cuMemcpyHtoD_v2(there, block, now));
	/* A copy in flight could otherwise come after a later one on another stream. */
	OK(cu.cuCtxSynchronize());
	return is_pinned(block);
}

char *hot(size_t bytes)
{
	char *block = malloc(bytes);

	fill(block, bytes, 1);
	const char *pin = getenv("HOTPIN_PIN");
	bool pins = preloaded() && (pin == NULL || strcmp(pin, "0") != 0);
	CHECK_EQ(heat(block, bytes), pins);
	return block;
}

char *inner(const char *block)
{
	return (char *)(((uintptr_t)block + PAGE - 1) & -(uintptr_t)PAGE);
}

bool device_holds(CUdeviceptr from, size_t bytes, unsigned seed)
{
	static char quiet[64 * KIB];
	bool right = true;

	OK(cu.cuCtxSynchronize());
	for (size_t done = 0; done < bytes && right; done += sizeof(quiet)) {
		size_t now = bytes - done < sizeof(quiet) ? bytes - done : sizeof(quiet);

		OK(cu.cuMemcpyDtoH_v2(quiet, from + done, now));
		right = holds_from(quiet, done, now, seed);
	}
	return right;
}

void agrees(char *block, size_t bytes)
{
	for (unsigned seed = 2; seed < 12 && check_failures == 0; seed += 2) {
		fill(block, bytes, seed);
		OK(cu.cuMemcpyHtoD_v2(there, block, bytes));
		CHECK(device_holds(there, bytes, seed));
		memset(block, 0, bytes);
		OK(cu.cuMemcpyDtoH_v2(block, there, bytes));
		CHECK(holds(block, bytes, seed));

		fill(block, bytes, seed + 1);
		OK(cu.cuMemcpyHtoDAsync_v2(there, block, bytes, stream));
		memset(block, 0, bytes);
		CHECK(device_holds(there, bytes, seed + 1));
		OK(cu.cuMemcpyDtoHAsync_v2(block, there, bytes, stream));
		CHECK(holds(block, bytes, seed + 1));
	}
}

void changed(char *block)
{
	CHECK(!is_pinned(inner(block)) && !is_pinned(inner(block) + INSIDE - 1));
	agrees(block, BYTES);
	free(block);
	block = hot(BYTES);
	agrees(block, BYTES);
	free(block);
}

/*
 * Returns 0, 1 or 77; prints "row 03 munmap: ok".  In a child, whose parent gives the verdict, that
 * line is a comment.
 */
static int run_one(const struct check_test *test, bool child)
{
	int before = check_failures;

	running = test->name;
	hazard_skip = NULL;
	check_made_one = 0;
	test->run();
	bool failed = check_failures != before ||
		      (hazard_skip == NULL && check_verdict() != CHECK_REACHED_ITS_END);
	printf("%srow %.2s %s: %s%s\n", child ? "# " : "", test->name + 3, test->name + 6,
	       failed        ? "FAILED"
	       : hazard_skip ? "skipped "
			     : "ok",
	       !failed && hazard_skip != NULL ? hazard_skip : "");
	fflush(stdout);
	return failed ? 1 : hazard_skip != NULL ? 77 : 0;
}

static void list(void)
{
	for (const struct check_test *test = check_first; test != NULL; test = test->next) {
		printf("%s", test->name);
		for (struct preload_setting *setting = preload_settings; setting != NULL;
		     setting = setting->next)
			for (int i = 0; strcmp(setting->test, test->name) == 0 &&
					setting->environment[i] != NULL;
			     i++)
				printf("\t%s", setting->environment[i]);
		printf("\n");
	}
}

/* Stops with status 3 after a test that has broken the context: the rest needs a new process. */
static int run_these(int count, char **names)
{
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < count; i++) {
		const struct check_test *test = check_find(names[i]);

		if (test == NULL)
			return 2;
		failed += run_one(test, false) == 1;
		check_failures = 0;
		if (primary != NULL && i + 1 < count && cu.cuCtxSynchronize() != CUDA_SUCCESS)
			return 3;
	}
	return failed != 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		list();
		return 0;
	}
	if (argc >= 3 && strcmp(argv[1], "--run") == 0)
		return run_these(argc - 2, argv + 2);
	bool child = argc == 3 && strcmp(argv[1], "--child") == 0;
	bool here = argc == 3 && strcmp(argv[1], "--no-fork") == 0;
	const struct check_test *test = child || here ? check_find(argv[2]) : NULL;
	if (test != NULL) {
		int status = run_one(test, child);
		return child && status == 0 ? CHECK_REACHED_ITS_END : status;
	}
	return preload_main(argc, argv);
}
