/*
 * defer.c - what the tests of deferred waiting have in common.
 *
 *	defer on|off|plain, --list, --run NAME...    as hazards.c has them; hazards.py takes it too
 *
 * A synchronous copy to the device natively waits for what was enqueued before it, then for itself.
 * The library may let it return earlier wherever nobody can tell.  Each row is a way to tell.
 *
 * row  who could see that a copy has not waited              tests
 *   1  the host, in memory that the device writes            row01_*
 *   2  host functions and callbacks                          row02_*
 *   3  other streams, of any kind                            row03_*
 *   4  other threads                                         row04_*
 *   5  other contexts and devices                            row05_*
 *   6  queries, waits, times                                 row06_*
 *   7  frees, and memory that is given out again             row07_*
 *   8  other processes and devices: IPC, SYNC_MEMOPS         row08_*
 *   9  errors of work before                                 row09_*
 *  10  arguments that are wrong                              row10_*
 *  11  the source changes at once                            row11_*
 *  13  the source goes at once; fork                         row13_*
 *  16  several handles of the driver, functions unknown      row16_*
 *  21  capture and graphs                                    row21_*
 *  22  contexts and the process end                          row22_*
 *  23  text that kernels print                               row23_*
 *  24  traps and asserts                                     row24_*
 *  25  kernels that wait for others                          row25_*
 *  26  several copies of the same memory                     row26_*
 *  27  more than there is room for                           row27_*
 *
 * On the stand-in nothing runs until something waits for it: what is missing there is missing every
 * time.  On a device the work takes DEFER_WORK_US, 2000 by default: less where the tests run many
 * times.
 */
#include "defer.h"
#include "ptx.h"

#include <sys/mman.h>

struct flavor own;
struct kernels kernels;
CUstream blocking;
struct scene scene;
unsigned deferred;

static CUevent worked;
static _Atomic uint32_t numbers;
static char *hot_block;
static char data_block[UPLOAD_MOST];
#define HOT_BYTES MIB

/*
 * A busy machine may delay the thread that writes the word, so the wait ends only if the word is
 * never written.
 */
#define AWAIT_S   40

void (*awaited)(void);

static bool await_on_stand_in(const volatile uint32_t *at)
{
	time_t end_s = check_now_s() + (time_t)check_limit(AWAIT_S);

	if (awaited != NULL && __atomic_load_n(at, __ATOMIC_RELAXED) == 0)
		awaited();
	for (int i = 0; __atomic_load_n(at, __ATOMIC_RELAXED) == 0; i++) {
		if (check_now_s() > end_s)
			return false;
		check_pause(i);
	}
	return true;
}

static void *own_flavor(const char *name, int version)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *found = NULL;

	OK(FIND(driver, cuGetProcAddress_v2)(name, &found, version,
					     CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	return found;
}

void defer_context(void)
{
	CUmodule module;

	OK(cu.cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	OK(cu.cuEventCreate(&worked, CU_EVENT_DISABLE_TIMING));
	OK(cu.cuModuleLoadData(&module, ptx_image));
	OK(cu.cuModuleGetFunction(&kernels.work, module, "test_work"));
	OK(cu.cuModuleGetFunction(&kernels.copy, module, "test_copy"));
	OK(cu.cuModuleGetFunction(&kernels.await, module, "test_await"));
	OK(cu.cuModuleGetFunction(&kernels.trap, module, "test_trap"));
	ptx_await = await_on_stand_in;
	scene = (struct scene){ .writes = WORD(0) };
	/* A kernel is loaded at its first launch, which may wait for all work. */
	work_ns(NULL, WORD(1), 0);
	copy_by_kernel(NULL, WORD(2), WORD(1), 4);
	await(NULL, WORD(1), WORD(3));
	OK(cu.cuCtxSynchronize());
}

void defer_begin(void)
{
	begin();
	if (own.put != NULL)
		return;
	own.put = own_flavor("cuMemcpyHtoD", 7000);
	own.get = own_flavor("cuMemcpyDtoH", 7000);
	own.launch = own_flavor("cuLaunchKernel", 7000);
	own.wait = own_flavor("cuStreamSynchronize", 7000);
	own.query = own_flavor("cuStreamQuery", 7000);
	own.record = own_flavor("cuEventRecord", 7000);
	own.move = own_flavor("cuMemcpyDtoDAsync", 7000);
	defer_context();
	hot_block = hot(HOT_BYTES);
	/* The library creates what larger copies need after some of them have waited. */
	for (int i = 0; i < 10; i++) {
		work_ns(NULL, WORD(1), 200000);
		OK(cu.cuMemcpyHtoD_v2(TARGET, data_block, 128 * KIB));
	}
	OK(cu.cuCtxSynchronize());
}

uint32_t work_ns(CUstream on, CUdeviceptr at, uint64_t ns)
{
	uint32_t number = ++numbers;
	void *arguments[] = { &ns, &at, &number };

	OK(cu.cuLaunchKernel(kernels.work, 1, 1, 1, 1, 1, 1, 0, on, arguments, NULL));
	return number;
}

uint32_t work(CUstream on, CUdeviceptr at)
{
	return work_ns(on, at, work_us() * UINT64_C(1500));
}

void copy_by_kernel(CUstream on, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	void *arguments[] = { &to, &from, &bytes };

	OK(cu.cuLaunchKernel(kernels.copy, 32, 1, 1, 256, 1, 1, 0, on, arguments, NULL));
	goes(on);
}

void await(CUstream on, CUdeviceptr at, CUdeviceptr late)
{
	void *arguments[] = { &at, &late };

	OK(cu.cuLaunchKernel(kernels.await, 1, 1, 1, 1, 1, 1, 0, on, arguments, NULL));
}

uint32_t word_of(CUdeviceptr at)
{
	uint32_t word = 0;

	OK(cu.cuMemcpyDtoH_v2(&word, at, sizeof(word)));
	return word;
}

bool may_defer(void)
{
	const char *how = getenv("HOTPIN_ASYNC");

	return preloaded() && (how == NULL || strcmp(how, "0") != 0);
}

static bool is_over_now(void)
{
	return native.cuStreamQuery(NULL) == CUDA_SUCCESS &&
	       native.cuStreamQuery(blocking) == CUDA_SUCCESS &&
	       native.cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_SUCCESS;
}

bool is_over(void)
{
	/*
	 * A device reports completion a little after the bytes, but much later than earlier work.
	 */
	for (int i = 0; i < 10 && stand_in("standin_calls") == NULL && !is_over_now(); i++)
		usleep(100);
	return is_over_now();
}

void goes(CUstream on)
{
	int (*step)(CUstream, int) = (int (*)(CUstream, int))stand_in("standin_step");

	if (step != NULL)
		step(on, 1000);
}

void time_passes(void)
{
	int (*step)(void) = (int (*)(void))stand_in("standin_step_all");

	if (step == NULL)
		usleep(500);
	else if (native.cuEventQuery(worked) == CUDA_SUCCESS)
		step();
}

void settle(void)
{
	if (stand_in("standin_calls") != NULL)
		time_passes();
	else
		OK(native.cuStreamSynchronize(NULL) ?:
		   native.cuStreamSynchronize(blocking) ?:
		   native.cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

void settle_plain(void)
{
	if (!preloaded() && stand_in("standin_calls") == NULL)
		settle();
}

unsigned work_us(void)
{
	const char *us = getenv("DEFER_WORK_US");

	return us != NULL ? (unsigned)atoi(us) : 2000;
}

static void put(const struct upload *upload, char *source)
{
	OK((upload->per_thread ? own.put : cu.cuMemcpyHtoD_v2)(upload->to, source, upload->bytes));
	/* The copy must not read it any longer. */
	memset(source, 0xee, upload->bytes);
}

static __attribute__((noinline)) void put_from_stack(const struct upload *upload)
{
	char block[256 * KIB];

	fill(block, upload->bytes, upload->seed);
	put(upload, block);
}

enum source { FROM_HEAP, FROM_PROMOTED, FROM_DATA, FROM_STACK, FROM_MAPPING, SOURCES };

static void put_from(const struct upload *upload, enum source source)
{
	char *block;

	if (source == FROM_STACK && upload->bytes > 256 * KIB)
		source = FROM_DATA;
	if (source == FROM_PROMOTED && upload->bytes > HOT_BYTES)
		source = FROM_HEAP;
	switch (source) {
	case FROM_STACK:
		put_from_stack(upload);
		return;
	case FROM_HEAP:
		block = malloc(upload->bytes);
		fill(block, upload->bytes, upload->seed);
		put(upload, block);
		free(block);
		return;
	case FROM_MAPPING:
		block = mmap(NULL, upload->bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		fill(block, upload->bytes, upload->seed);
		put(upload, block);
		munmap(block, upload->bytes);
		return;
	default:
		block = source == FROM_PROMOTED ? hot_block : data_block;
		fill(block, upload->bytes, upload->seed);
		put(upload, block);
	}
}

/* The largest size is not used every time, because it takes long. */
static size_t size_of(unsigned i, unsigned turn)
{
	static const size_t sizes[UPLOADS] = {
		4, 64,          4 * KIB,  64 * KIB, 256 * KIB,    MIB,           128 * KIB,
		4, 4 * KIB + 4, 16 * KIB, 64 * KIB, 64 * KIB + 4, 256 * KIB - 4, 512 * KIB
	};

	return i == 6 && turn % 4 == 0 ? UPLOAD_MOST : sizes[i];
}

void upload(struct upload *ret, CUdeviceptr to, unsigned i, unsigned turn)
{
	unsigned where = (i + i / 7 + turn) % 4, source = (i * 2 + turn / 4) % SOURCES;

	*ret = (struct upload){ .to = to,
				.bytes = size_of(i, turn),
				.seed = i + turn,
				.per_thread = where == 2 || where == 3,
				.behind = where == 0   ? NULL
					  : where == 1 ? blocking
					  : where == 2 ? CU_STREAM_PER_THREAD
						       : NULL };
	ret->number = work_ns(ret->behind, scene.writes,
			      (scene.ms != 0 ? scene.ms * 1000 : work_us()) * UINT64_C(1000));
	if (scene.also != NULL)
		scene.also(ret);
	OK(cu.cuEventRecord(worked, ret->behind));
	put_from(ret, source);
	bool early = native.cuEventQuery(worked) == CUDA_ERROR_NOT_READY;
	deferred += early;
	if (where == 3 || !early || !preloaded())
		settle();
}

void each(unsigned turn, CUdeviceptr (*look)(const struct upload *upload))
{
	defer_begin();
	deferred = 0;
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;

		/* The memory has the bytes of the previous copy: no two are alike. */
		OK(cu.cuMemsetD8_v2(TARGET + size_of(i, turn), 0x11, 4));
		OK(cu.cuCtxSynchronize());
		upload(&one, TARGET, i, turn);
		CUdeviceptr at = look(&one);
		OK(cu.cuCtxSynchronize());
		CHECK(at == 0 || device_holds(at, one.bytes, one.seed));
		CHECK(device_is(TARGET + one.bytes, 4, 0x11));
		if (check_failures != 0)
			printf("# copy %u: %zu bytes, turn %u\n", i, one.bytes, turn);
	}
	scene = (struct scene){ .writes = WORD(0) };
	printf("# deferred: %u\n", deferred);
}

bool device_is(CUdeviceptr from, size_t bytes, unsigned char value)
{
	static char quiet[64 * KIB];

	for (size_t done = 0; done < bytes; done += sizeof(quiet)) {
		size_t now = bytes - done < sizeof(quiet) ? bytes - done : sizeof(quiet);

		OK(cu.cuMemcpyDtoH_v2(quiet, from + done, now));
		for (size_t i = 0; i < now; i++)
			if ((unsigned char)quiet[i] != value) {
				printf("# wrong at byte %zu\n", done + i);
				return false;
			}
	}
	return true;
}

struct thread_call {
	void *(*run)(void *);
	void *arg;
	CUcontext context;
};

static void *run_thread(void *arg)
{
	struct thread_call *call = arg;

	OK(cu.cuCtxSetCurrent(call->context));
	return call->run(call->arg);
}

void in_thread(void *(*run)(void *), void *arg)
{
	struct thread_call call = { .run = run, .arg = arg };
	OK(cu.cuCtxGetCurrent(&call.context));
	check_in_thread(run_thread, &call);
}
