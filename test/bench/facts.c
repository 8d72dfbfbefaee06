/*
 * facts.c - times of the driver and of Linux that the design relies on (doc/measurements.md).
 *
 *	facts calls
 *	facts register
 *	facts uploads malloc|pinned SIZE...
 *	facts fork malloc|pinned
 *
 * calls: `context`, the creation of a context; `accepted_64` and `accepted_64K`, the number of
 * asynchronous uploads that the driver accepts behind a kernel; one call of each kind of a list.
 *
 * register: `register_4K` and `register_2M`, 64 MiB of touched pages of that size; `unregister_4K`
 * and `unregister_2M`; `others`, a launch of another thread while one thread unregisters behind a
 * kernel of 50 ms; `meanwhile` and `meanwhile_worst`, launches while another thread registers and
 * unregisters 1 MiB without pause; `staging`, new memory of 32 MiB, touched and registered.
 *
 * uploads, from a block of 16 MiB that is copied as a whole before, so that hotpin pins it:
 * `idle_HOW_SIZE` is the time of one call on an idle device, `done_HOW_SIZE` the time until that
 * copy is complete, `row_HOW_SIZE` the time of one of 64 calls in a row, and `behind_HOW_SIZE` of
 * one behind a kernel of 5 us.  HOW is sync or async; from pinned memory also pageable or pinned,
 * an asynchronous upload from a copy of the source in such memory, or waited, one that waits for
 * its stream.
 *
 * fork: `fork_1G`, `fork_16x64M` and `fork_64M`, with memory of malloc(), registered if pinned,
 * which is copied to the device before; `fork_busy_1G` while a kernel runs.
 */
#include "kernels.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS    60
#define WARM_UP  10
#define IN_A_ROW 64
#define MIB      ((size_t)1 << 20)
#define BLOCK    (16 * MIB)

static struct kernels kernels;
static CUcontext context;
static CUstream stream;
static CUdeviceptr device;

static struct {
	__typeof__(cuMemcpyHtoD_v2) *copy;
	__typeof__(cuMemcpyHtoDAsync_v2) *enqueue;
	__typeof__(cuStreamSynchronize) *wait;
	__typeof__(cuCtxSynchronize) *wait_all;
	__typeof__(cuMemHostRegister_v2) *pin;
	__typeof__(cuMemHostUnregister) *unpin;
} cu;

/* Makes a context, and returns the time of that; finds functions. */
static double begin(size_t bytes)
{
	double before = bench_now(), made;

	bench_start();
	made = bench_now() - before;
	kernels_load(&kernels);
	CU_OK(CU(cuCtxGetCurrent)(&context));
	CU_OK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
	CU_OK(CU(cuMemAlloc_v2)(&device, bytes));
	cu.copy = CU(cuMemcpyHtoD_v2);
	cu.enqueue = CU(cuMemcpyHtoDAsync_v2);
	cu.wait = CU(cuStreamSynchronize);
	cu.wait_all = CU(cuCtxSynchronize);
	cu.pin = CU(cuMemHostRegister_v2);
	cu.unpin = CU(cuMemHostUnregister);
	return made;
}

/* ---- calls ---- */

/* Counts the uploads until one waits for the kernel. */
static void count_accepted(const char *size)
{
	size_t bytes = bench_bytes(size);
	char *memory = malloc(bytes);
	unsigned count = 0;
	double before, took;

	memset(memory, 1, bytes);
	kernels_spin(&kernels, stream, 200000000);
	do {
		before = bench_now();
		CU_OK(cu.enqueue(device, memory, bytes, stream));
		took = bench_now() - before;
		count++;
	} while (took < 10e-3);
	CU_OK(cu.wait(stream));
	free(memory);
	printf("accepted_%s %u\n", size, count - 1);
}

#define EACH(name, call)                                         \
	do {                                                     \
		double seconds[TURNS];                           \
		for (int turn = 0; turn < TURNS; turn++) {       \
			double before = bench_now();             \
			for (int i = 0; i < IN_A_ROW; i++)       \
				(void)(call);                    \
			seconds[turn] = bench_now() - before;    \
			seconds[turn] /= IN_A_ROW;               \
			CU_OK(cu.wait_all());                    \
		}                                                \
		bench_report(name, "", seconds, TURNS, WARM_UP); \
	} while (0)

static void measure_calls(void)
{
	printf("context %.9g\n", begin(MIB));
	CUevent event;
	CUstreamCaptureStatus status;
	unsigned flags;
	size_t text;
	__typeof__(cuEventRecord) *record = CU(cuEventRecord);
	__typeof__(cuStreamWaitEvent) *wait_event = CU(cuStreamWaitEvent);
	__typeof__(cuEventQuery) *query = CU(cuEventQuery);
	__typeof__(cuStreamGetFlags) *get_flags = CU(cuStreamGetFlags);
	__typeof__(cuCtxGetCurrent) *get_current = CU(cuCtxGetCurrent);
	__typeof__(cuStreamIsCapturing) *is_capturing = CU(cuStreamIsCapturing);
	__typeof__(cuCtxSetLimit) *set_limit = CU(cuCtxSetLimit);

	count_accepted("64");
	count_accepted("64K");
	CU_OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
	CU_OK(CU(cuCtxGetLimit)(&text, CU_LIMIT_PRINTF_FIFO_SIZE));
	CU_OK(set_limit(CU_LIMIT_PRINTF_FIFO_SIZE, text));
	EACH("record", record(event, stream));
	EACH("wait_event", wait_event(stream, event, 0));
	EACH("query", query(event));
	EACH("flags", get_flags(stream, &flags));
	EACH("current", get_current(&context));
	EACH("capturing", is_capturing(stream, &status));
	EACH("printf_size", set_limit(CU_LIMIT_PRINTF_FIFO_SIZE, text));
}

/* ---- register ---- */

static void *pages_of(size_t bytes, int advice)
{
	char *all = mmap(NULL, bytes + 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	char *memory = all + (-(uintptr_t)all & (2 * MIB - 1));

	if (all == MAP_FAILED || madvise(memory, bytes, advice) != 0) {
		perror("facts");
		exit(1);
	}
	memset(memory, 1, bytes);
	return memory;
}

static void measure_registering(const char *name, int advice)
{
	enum { COUNT = 12 };
	double in[COUNT], out[COUNT];

	for (int i = 0; i < COUNT; i++) {
		void *memory = pages_of(64 * MIB, advice);
		double before = bench_now();
		CU_OK(cu.pin(memory, 64 * MIB, 0));
		in[i] = bench_now() - before;
		before = bench_now();
		CU_OK(cu.unpin(memory));
		out[i] = bench_now() - before;
		munmap(memory, 64 * MIB);
	}
	bench_report("register", name, in, COUNT, 2);
	bench_report("unregister", name, out, COUNT, 2);
}

/* Guarded by being a word; set by the main thread at the end. */
static _Atomic int stop;

static void *unregister_once(void *memory)
{
	CU_OK(CU(cuCtxSetCurrent)(context));
	CU_OK(cu.unpin(memory));
	return NULL;
}

static void *register_again(void *memory)
{
	CU_OK(CU(cuCtxSetCurrent)(context));
	while (!stop) {
		CU_OK(cu.pin(memory, MIB, 0));
		CU_OK(cu.unpin(memory));
	}
	return NULL;
}

static double time_of_launch(CUstream on)
{
	double before = bench_now();

	kernels_nothing(&kernels, on);
	return bench_now() - before;
}

static void measure_launches(void)
{
	enum { COUNT = 20000 };
	static double seconds[COUNT];
	void *memory = pages_of(MIB, MADV_NOHUGEPAGE);
	double worst = 0;
	CUstream other;
	pthread_t thread;

	CU_OK(CU(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING));
	CU_OK(cu.pin(memory, MIB, 0));
	kernels_spin(&kernels, stream, 50000000);
	pthread_create(&thread, NULL, unregister_once, memory);
	usleep(5000);
	printf("others %.9g\n", time_of_launch(other));
	pthread_join(thread, NULL);

	pthread_create(&thread, NULL, register_again, memory);
	for (int i = 0; i < COUNT; i++) {
		seconds[i] = time_of_launch(other);
		worst = seconds[i] > worst ? seconds[i] : worst;
	}
	stop = 1;
	pthread_join(thread, NULL);
	bench_report("meanwhile", "", seconds, COUNT, WARM_UP);
	printf("meanwhile_worst %.9g\n", worst);
}

static void measure_register(void)
{
	double seconds[WARM_UP];

	begin(MIB);
	measure_registering("4K", MADV_NOHUGEPAGE);
	measure_registering("2M", MADV_HUGEPAGE);
	measure_launches();
	for (int i = 0; i < WARM_UP; i++) {
		double before = bench_now();
		void *memory = pages_of(32 * MIB, MADV_HUGEPAGE);
		CU_OK(cu.pin(memory, 32 * MIB, 0));
		seconds[i] = bench_now() - before;
		CU_OK(cu.unpin(memory));
		munmap(memory, 32 * MIB);
	}
	bench_report("staging", "", seconds, WARM_UP, 0);
}

/* ---- uploads ---- */

enum how { SYNC, ASYNC, PAGEABLE_COPY, PINNED_COPY, WAITED, HOWS };
static const char *const how_names[HOWS] = { "sync", "async", "pageable", "pinned", "waited" };

static void upload(enum how how, char *source, char *copy, size_t bytes)
{
	if (how == PAGEABLE_COPY || how == PINNED_COPY)
		source = memcpy(copy, source, bytes);
	if (how == SYNC)
		CU_OK(cu.copy(device, source, bytes));
	else
		CU_OK(cu.enqueue(device, source, bytes, stream));
	if (how == WAITED)
		CU_OK(cu.wait(stream));
}

static void measure_upload(enum how how, char *source, const char *size)
{
	static double idle[TURNS], done[TURNS], row[TURNS], behind[TURNS];
	size_t bytes = bench_bytes(size);
	char *copy = bench_allocate(how == PINNED_COPY ? "pinned" : "malloc", bytes), name[64];

	for (int turn = 0; turn < TURNS; turn++) {
		CU_OK(cu.wait_all());
		source[0] = (char)turn;
		double before = bench_now();
		upload(how, source, copy, bytes);
		idle[turn] = bench_now() - before;
		CU_OK(cu.wait_all());
		done[turn] = bench_now() - before;

		before = bench_now();
		for (int i = 0; i < IN_A_ROW; i++)
			upload(how, source, copy, bytes);
		row[turn] = (bench_now() - before) / IN_A_ROW;
		CU_OK(cu.wait_all());

		/* The legacy stream waits for it, as it does for kernels of most programs. */
		kernels_spin(&kernels, how == SYNC ? NULL : stream, 5000);
		before = bench_now();
		upload(how, source, copy, bytes);
		behind[turn] = bench_now() - before;
	}
	bench_free(how == PINNED_COPY ? "pinned" : "malloc", copy);
	const struct {
		const char *state;
		double *seconds;
	} all[] = { { "idle", idle }, { "done", done }, { "row", row }, { "behind", behind } };
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		snprintf(name, sizeof(name), "%s_%s", all[i].state, how_names[how]);
		bench_report(name, size, all[i].seconds, TURNS, WARM_UP);
	}
}

static void measure_uploads(const char *kind, int count, char **sizes)
{
	int pinned = strcmp(kind, "pinned") == 0;

	begin(BLOCK);
	char *source = bench_allocate(kind, BLOCK);
	bench_fill(source, BLOCK, 7);
	for (int i = 0; i < WARM_UP; i++)
		CU_OK(cu.copy(device, source, BLOCK));
	for (int i = 0; i < count; i++)
		for (enum how how = SYNC; how < (pinned ? HOWS : PAGEABLE_COPY); how++)
			measure_upload(how, source, sizes[i]);
	bench_free(kind, source);
}

/* ---- fork ---- */

static double time_of_fork(void)
{
	double before = bench_now(), took;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	took = bench_now() - before;
	waitpid(child, NULL, 0);
	return took;
}

static void measure_fork(int pinned, const char *name, size_t blocks, size_t bytes, int busy)
{
	enum { FORKS = 3, COPIES = 4 };
	double seconds[FORKS];
	void *memory[16];

	for (size_t i = 0; i < blocks; i++) {
		memory[i] = malloc(bytes);
		bench_fill(memory[i], bytes, i);
		if (pinned)
			CU_OK(cu.pin(memory[i], bytes, 0));
	}
	for (int turn = 0; turn < FORKS; turn++) {
		/* Under hotpin they are pinned after some copies. */
		for (int copy = 0; copy < COPIES; copy++)
			for (size_t i = 0; i < blocks; i++)
				CU_OK(cu.copy(device, memory[i], bytes));
		if (busy)
			kernels_spin(&kernels, stream, 2000000000);
		seconds[turn] = time_of_fork();
		CU_OK(cu.wait_all());
	}
	for (size_t i = 0; i < blocks; i++) {
		if (pinned)
			CU_OK(cu.unpin(memory[i]));
		free(memory[i]);
	}
	bench_report("fork", name, seconds, FORKS, 0);
}

static void measure_forks(const char *kind)
{
	int pinned = strcmp(kind, "pinned") == 0;

	begin(1024 * MIB);
	measure_fork(pinned, "64M", 1, 64 * MIB, 0);
	measure_fork(pinned, "16x64M", 16, 64 * MIB, 0);
	measure_fork(pinned, "1G", 1, 1024 * MIB, 0);
	measure_fork(pinned, "busy_1G", 1, 1024 * MIB, 1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 2 && strcmp(what, "calls") == 0)
		measure_calls();
	else if (argc == 2 && strcmp(what, "register") == 0)
		measure_register();
	else if (argc > 3 && strcmp(what, "uploads") == 0)
		measure_uploads(argv[2], argc - 3, argv + 3);
	else if (argc == 3 && strcmp(what, "fork") == 0)
		measure_forks(argv[2]);
	else {
		fprintf(stderr, "usage: facts calls|register|uploads KIND SIZE...|fork KIND\n");
		return 2;
	}
	return 0;
}
