/*
 * truth.cu - measures what a program does by the clock, to check the profile's every figure
 * against.
 *
 *	truth [pageable | pinned | resident | repeats | small]
 *
 * Each part is in an NVTX range, and begins and ends with an idle device.  Kernels last for a given
 * time by the device's own clock.  Copies are timed by events around them, the host by
 * CLOCK_MONOTONIC.  The program prints its figures as JSON, with times in nanoseconds.  The modes
 * `pinned` and `resident` make the changes that bounds assume: the same with pinned buffers, and
 * without transfers.
 *
 * Events around a copy also measure the time for which the host sends it and records the second
 * event: about 9 us on an H200, independently of the size, and 6 us more or less from one tenth of
 * a second to the next.  So copies of 64 KiB are timed in the same ways, at first and in turns with
 * larger ones.  These take longer by the time of their bytes, and by the time for which the small
 * one was in flight, which is between nothing and the time of one of many in a row.  Half of that
 * is added, and stated as the uncertainty (`unsure_ns`).
 *
 * The link's peak is the rate of the fastest of many copies in a row, each between two events:
 * others on the same machine can only slow them down (`fastest`).
 *
 * `small` calls the driver's function directly, as hotpin intercepts it there: the time that the
 * CUDA runtime adds to each call is in neither figure.
 */
#include "stages/try.h"

#include <cuda.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MIB   ((size_t)1 << 20)
#define MS    1000000ull
#define FIELD (64 * MIB)
#define TABLE (5 * MIB)
#define LARGE (2048 * MIB) /* for fast operations: events are some microseconds apart */
/* Smaller copies may be sent to the device in another way. */
#define LEAST 65536
#define MOST  128        /* copies in a row */
#define FAST  (16 * MIB) /* large enough to measure the speed of the link */
#define APART __attribute__((noinline))
#define HERE  __func__, __LINE__

enum { H2D, D2H, D2D, DIRECTIONS };
enum { PAGEABLE, PINNED, MEMORIES };
static const char *const directions[] = { "h2d", "d2h", "d2d" };
static const char *const memories[] = { "pageable", "pinned" };

struct sum {
	unsigned long long count, bytes, busy_ns, call_ns;
};

static struct sum copies[DIRECTIONS][MEMORIES], sizes[DIRECTIONS][MEMORIES][64];
static struct place {
	const char *function;
	int line, direction;
	struct sum sum;
} places[32];
static int place_count;

static struct stage {
	const char *name;
	unsigned long long wall_ns, up_ns, down_ns, kernel_ns, overlap_ns, idle_ns, began_ns,
		launches;
	struct sum copies[2];
} stages[32], *stage;
static int stage_count;

static unsigned long long waits, waits_ns, waiting_ns, launches, memsets, memset_ns;
static struct sum kernels[4]; /* spin_long, spin_short, touch, spin_apart */
/* The time between events around a copy of LEAST bytes that is sent alone, and of one in a row. */
static unsigned long long alone_ns[DIRECTIONS], in_a_row_ns[DIRECTIONS];
static cudaEvent_t before, after, ends[MOST];
static double fastest[2]; /* bytes per second */
static bool resident, all_pinned;

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static __device__ unsigned long long device_ns(void)
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

#define SPIN(name)                                                                    \
	__global__ void name(unsigned long long ns)                                   \
	{                                                                             \
		for (unsigned long long from = device_ns(); device_ns() - from < ns;) \
			;                                                             \
	}

SPIN(spin_long)
SPIN(spin_short)
SPIN(spin_apart)

__global__ void touch(unsigned *data)
{
	data[threadIdx.x] += 1;
}

static void launched(int kernel, unsigned long long ns)
{
	TRY(cudaGetLastError());
	kernels[kernel].count++;
	kernels[kernel].busy_ns += ns;
	launches++;
	if (stage != NULL)
		stage->launches++;
}

#define LAUNCH(kernel, name, stream, ns)       \
	do {                                   \
		name<<<1, 1, 0, stream>>>(ns); \
		launched(kernel, ns);          \
	} while (0)

static void wait_for(cudaStream_t stream)
{
	unsigned long long from = now_ns();

	TRY(cudaStreamSynchronize(stream));
	waits_ns += now_ns() - from;
	waits++;
}

static void begin(const char *name)
{
	wait_for(0);
	stage = &stages[stage_count++];
	stage->name = name;
	nvtxRangePushA(name);
	stage->began_ns = now_ns();
}

static void end(void)
{
	stage->wall_ns = now_ns() - stage->began_ns;
	nvtxRangePop();
	stage = NULL;
}

static void add(struct sum *sum, size_t bytes, unsigned long long busy_ns,
		unsigned long long call_ns)
{
	sum->count++;
	sum->bytes += bytes;
	sum->busy_ns += busy_ns;
	sum->call_ns += call_ns;
}

static void did(int direction, int memory, size_t bytes, unsigned long long busy_ns,
		unsigned long long call_ns, const char *function, int line)
{
	struct place *place = places;
	int bin = 63 - __builtin_clzll(bytes);

	while (place < places + place_count &&
	       (place->line != line || place->direction != direction))
		place++;
	if (place == places + place_count)
		place_count++;
	place->function = function;
	place->line = line;
	place->direction = direction;
	add(&place->sum, bytes, busy_ns, call_ns);
	add(&copies[direction][memory], bytes, busy_ns, call_ns);
	add(&sizes[direction][memory][bin], bytes, busy_ns, call_ns);
	if (stage == NULL || direction == D2D)
		return;
	add(&stage->copies[direction], bytes, busy_ns, call_ns);
	*(direction == H2D ? &stage->up_ns : &stage->down_ns) += busy_ns;
}

static unsigned long long between_events(void)
{
	float ms;

	TRY(cudaEventElapsedTime(&ms, before, after));
	return (unsigned long long)(ms * 1e6);
}

/* Looks at copies of one stream that ended at ends[0] to ends[times - 1]. */
static void look_for_fastest(int direction, size_t bytes, int times)
{
	float ms;

	for (int i = 1; i < times; i++) {
		TRY(cudaEventElapsedTime(&ms, ends[i - 1], ends[i]));
		if (bytes / ms * 1e3 > fastest[direction])
			fastest[direction] = bytes / ms * 1e3;
	}
}

/* Returns how long a copy was in flight, from its event time `ns` and that of LEAST bytes. */
static unsigned long long in_flight(int direction, unsigned long long ns,
				    unsigned long long least_ns)
{
	return (ns > least_ns ? ns - least_ns : 0) + in_a_row_ns[direction] / 2;
}

static int by_number(const void *left, const void *right)
{
	unsigned long long a = *(const unsigned long long *)left,
			   b = *(const unsigned long long *)right;

	return (a > b) - (a < b);
}

/*
 * Of synchronous copies of one size, each on an idle device.  Sometimes the host is delayed between
 * an event and the copy (by 17 us on an H200, with 3 MiB), which the events include.  So the median
 * is taken for all of them.
 */
static unsigned long long median(unsigned long long *ns, int times)
{
	qsort(ns, times, sizeof(*ns), by_number);
	return ns[times / 2];
}

APART static void upload(void *to, const void *from, size_t bytes, int memory, int times)
{
	unsigned long long took[MOST], ns[MOST], least_took[MOST];
	bool by_turns = memory == PINNED && bytes > LEAST && times > 1;
	int line = 0, least_line = 0;

	for (int i = 0; i < times; i++) {
		unsigned long long least = 0;

		if (by_turns) {
			TRY(cudaEventRecord(before));
			unsigned long long at = now_ns();
			least_line = __LINE__ + 1;
			TRY(cudaMemcpy(to, from, LEAST, cudaMemcpyHostToDevice));
			least_took[i] = now_ns() - at;
			TRY(cudaEventRecord(after));
			wait_for(0);
			least = between_events();
		}
		TRY(cudaEventRecord(before));
		unsigned long long at = now_ns();
		line = __LINE__ + 1;
		TRY(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
		took[i] = now_ns() - at;
		TRY(cudaEventRecord(after));
		wait_for(0);
		ns[i] = between_events();
		ns[i] -= ns[i] > least ? least : ns[i];
	}
	unsigned long long one = in_flight(H2D, median(ns, times), by_turns ? 0 : alone_ns[H2D]);
	for (int i = 0; i < times; i++) {
		did(H2D, memory, bytes, one, took[i], __func__, line);
		if (by_turns)
			did(H2D, memory, LEAST, in_a_row_ns[H2D] / 2, least_took[i], __func__,
			    least_line);
	}
}

APART static void download(void *to, const void *from, size_t bytes, int memory, int times)
{
	unsigned long long took[MOST], ns[MOST];
	int line = 0;

	for (int i = 0; i < times; i++) {
		TRY(cudaEventRecord(before));
		unsigned long long at = now_ns();
		line = __LINE__ + 1;
		TRY(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
		took[i] = now_ns() - at;
		TRY(cudaEventRecord(after));
		wait_for(0);
		ns[i] = between_events();
	}
	unsigned long long one = in_flight(D2H, median(ns, times), alone_ns[D2H]);
	for (int i = 0; i < times; i++)
		did(D2H, memory, bytes, one, took[i], __func__, line);
}

/* Asynchronous and pinned, `times` in a row; each gets the same share of their time. */
APART static void stream_copies(int direction, void *to, const void *from, size_t bytes, int times,
				cudaStream_t stream)
{
	cudaMemcpyKind kind = direction == H2D ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
	unsigned long long took[MOST];
	int line = 0;

	TRY(cudaEventRecord(before, stream));
	for (int i = 0; i < times; i++) {
		unsigned long long at = now_ns();
		line = __LINE__ + 1;
		TRY(cudaMemcpyAsync(to, from, bytes, kind, stream));
		took[i] = now_ns() - at;
		if (bytes >= FAST)
			TRY(cudaEventRecord(ends[i], stream));
	}
	TRY(cudaEventRecord(after, stream));
	wait_for(stream);
	if (bytes >= FAST)
		look_for_fastest(direction, bytes, times);
	unsigned long long ns =
		in_flight(direction, between_events() / times, in_a_row_ns[direction]);
	for (int i = 0; i < times; i++)
		did(direction, PINNED, bytes, ns, took[i], __func__, line);
}

APART static char *make_field(size_t bytes)
{
	char *made = NULL;

	if (all_pinned)
		TRY(cudaMallocHost((void **)&made, bytes));
	else
		made = (char *)malloc(bytes);
	if (made != NULL)
		for (size_t i = 0; i < bytes; i += 8)
			memcpy(made + i, &i, 8);
	return made;
}

APART static char *make_result(size_t bytes)
{
	char *made = NULL;

	if (all_pinned)
		TRY(cudaMallocHost((void **)&made, bytes));
	else
		made = (char *)malloc(bytes);
	if (made != NULL)
		memset(made, 1, bytes);
	return made;
}

/* Comes first, because the sums of pinned copies are still empty.  The first turn is warm-up. */
static void time_the_least(char *device, char *pinned, cudaStream_t stream)
{
	for (int direction = H2D; direction <= D2H; direction++) {
		struct sum *all = &copies[direction][PINNED],
			   *least = &sizes[direction][PINNED][16];
		bool up = direction == H2D;
		char *to = up ? device : pinned, *from = up ? pinned : device;
		unsigned long long alone = 0, in_a_row = 0;

		for (int turn = 0; turn < 2; turn++) {
			least->busy_ns = 0;
			(up ? upload : download)(to, from, LEAST, PINNED, 64);
			alone = least->busy_ns / 64;
			least->busy_ns = 0;
			stream_copies(direction, to, from, LEAST, 64, stream);
			in_a_row = least->busy_ns / 64;
		}
		alone_ns[direction] = alone;
		in_a_row_ns[direction] = in_a_row;
		all->busy_ns = least->busy_ns = least->count * in_a_row / 2;
	}
}

static void gaps(void)
{
	begin("gaps");
	for (int i = 0; i < 10; i++) {
		unsigned long long from = now_ns();

		while (now_ns() - from < 10 * MS)
			;
		usleep(10000);
	}
	end();
}

static void long_and_short(void)
{
	begin("kernels");
	for (int i = 0; i < 10; i++)
		LAUNCH(0, spin_long, 0, 10 * MS);
	wait_for(0);
	for (int i = 0; i < 100; i++)
		LAUNCH(1, spin_short, 0, MS / 2);
	wait_for(0);
	stage->kernel_ns = 150 * MS;
	end();
}

static void exposed(char *device, char *field, char *result)
{
	int memory = all_pinned ? PINNED : PAGEABLE;

	begin("exposed");
	for (int i = 0; i < 20 && !resident; i++) {
		upload(device, field, FIELD, memory, 1);
		download(result, device, FIELD, memory, 1);
	}
	end();
}

static void in_order(char *device, char *pinned, cudaStream_t stream)
{
	begin("pinned");
	if (!resident) {
		stream_copies(H2D, device, pinned, FIELD, 40, stream);
		stream_copies(D2H, pinned, device, FIELD, 40, stream);
	}
	end();
}

/* One kernel of 100 ms, with copies during a good part of it. */
static void overlapped(char *device, char *pinned, cudaStream_t stream, cudaStream_t other)
{
	begin("overlap");
	LAUNCH(3, spin_apart, other, 100 * MS);
	if (!resident) {
		stream_copies(H2D, device, pinned, FIELD, 25, stream);
		stream_copies(D2H, pinned, device, FIELD, 25, stream);
	}
	wait_for(other);
	stage->overlap_ns = stage->up_ns + stage->down_ns;
	stage->kernel_ns = 100 * MS - stage->overlap_ns;
	stage->up_ns = stage->down_ns = 0;
	end();
}

/* Concurrent kernels of two streams count once. */
static void side_by_side(cudaStream_t stream, cudaStream_t other)
{
	begin("side by side");
	for (int i = 0; i < 5; i++) {
		LAUNCH(3, spin_apart, stream, 20 * MS);
		LAUNCH(3, spin_apart, other, 20 * MS);
		wait_for(stream);
		wait_for(other);
	}
	stage->kernel_ns = 100 * MS;
	end();
}

/* The copy's call waits for the kernel that was launched directly before it. */
APART static void behind_kernels(char *device, char *result)
{
	int memory = all_pinned ? PINNED : PAGEABLE;

	begin("waiting");
	for (int i = 0; i < 10; i++) {
		LAUNCH(0, spin_long, 0, 10 * MS);
		if (resident) {
			wait_for(0);
			continue;
		}
		TRY(cudaEventRecord(before));
		unsigned long long at = now_ns();
		int line = __LINE__ + 1;
		TRY(cudaMemcpy(result, device, FIELD, cudaMemcpyDeviceToHost));
		unsigned long long took = now_ns() - at;
		TRY(cudaEventRecord(after));
		wait_for(0);
		waiting_ns += 10 * MS;
		did(D2H, memory, FIELD, between_events(), took, __func__, line);
	}
	stage->kernel_ns = 100 * MS;
	end();
}

static void of_many_sizes(char *device, char *field, char *pinned, cudaStream_t stream)
{
	static const struct {
		size_t bytes;
		int times;
	} rows[] = { { 1000, 100 }, { 65536, 50 }, { MIB, 20 }, { TABLE, 9 }, { 3 * MIB + 5, 15 } };

	begin("sizes");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !resident; i++) {
		upload(device, field, rows[i].bytes, all_pinned ? PINNED : PAGEABLE, rows[i].times);
		stream_copies(D2H, pinned, device, rows[i].bytes, rows[i].times, stream);
	}
	end();
}

static void on_the_device(void)
{
	char *one, *two;

	TRY(cudaMalloc((void **)&one, LARGE));
	TRY(cudaMalloc((void **)&two, LARGE));
	begin("device");
	TRY(cudaEventRecord(before));
	for (int i = 0; i < 10; i++) {
		TRY(cudaMemset(one, i, LARGE));
		memsets++;
	}
	TRY(cudaEventRecord(after));
	wait_for(0);
	memset_ns = between_events();
	TRY(cudaEventRecord(before));
	for (int i = 0; i < 10; i++)
		TRY(cudaMemcpy(two, one, LARGE, cudaMemcpyDeviceToDevice));
	TRY(cudaEventRecord(after));
	wait_for(0);
	for (int i = 0; i < 10; i++)
		did(D2D, PAGEABLE, LARGE, between_events() / 10, 0, HERE);
	end();
}

static void CUDART_CB sleep_on(void *unused)
{
	usleep(20000);
	(void)unused;
}

/* The device is idle, but the host waits for it. */
static void idle(cudaStream_t stream)
{
	begin("idle");
	for (int i = 0; i < 5; i++) {
		unsigned long long from = now_ns();

		TRY(cudaLaunchHostFunc(stream, sleep_on, NULL));
		wait_for(stream);
		stage->idle_ns += now_ns() - from;
	}
	end();
}

/* Four of five uploads bring unchanged bytes; three times a download is uploaded again. */
static int repeats(char *device, char *field, char *result)
{
	for (int i = 0; i < 5; i++)
		upload(device, field, FIELD, PAGEABLE, 1);
	for (int i = 0; i < 3; i++) {
		/* The device produces new bytes each time. */
		TRY(cudaMemset(device + i, 100 + i, 1));
		memsets++;
		download(result, device, FIELD, PAGEABLE, 1);
		upload(device, result, FIELD, PAGEABLE, 1);
	}
	/* New bytes: neither case. */
	for (int i = 0; i < 6; i++) {
		memset(field, i, 4096);
		upload(device, field, FIELD, PAGEABLE, 1);
	}
	printf("{\"duplicates\": [4, %zu], \"ping_pong\": [3, %zu]}\n", 4 * FIELD, 3 * FIELD);
	return 0;
}

/* Finds the function as a program that links the driver would; the first dlsym() is hotpin's. */
static void *of_driver(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *found = NULL;

	if (driver != NULL)
		found = dlsym(driver, name);
	if (found == NULL) {
		fprintf(stderr, "truth: %s: %s\n", name, dlerror());
		exit(1);
	}
	return found;
}

static void try_driver(CUresult result)
{
	if (result != CUDA_SUCCESS) {
		fprintf(stderr, "truth: error %d of the driver\n", (int)result);
		exit(1);
	}
}

/* A wait of a synchronous copy behind a kernel that is unnecessary. */
static int small(char *device)
{
	auto up = (CUresult(*)(CUdeviceptr, const void *, size_t))of_driver("cuMemcpyHtoD_v2");
	auto down = (CUresult(*)(void *, CUdeviceptr, size_t))of_driver("cuMemcpyDtoH_v2");
	static char host[16384];
	unsigned long long calls_ns = 0, bytes = 0, began = now_ns();
	int count = 0;

	for (int i = 0; i < 20; i++) {
		LAUNCH(0, spin_long, 0, 2 * MS);
		for (int j = 0; j < 10; j++) {
			memset(host, i + j, sizeof(host));
			unsigned long long from = now_ns();
			try_driver(up((CUdeviceptr)device + j * sizeof(host), host, sizeof(host)));
			calls_ns += now_ns() - from;
			bytes += sizeof(host);
			count++;
		}
		/* The host works in the meantime, if it can. */
		for (unsigned long long from = now_ns(); now_ns() - from < 2 * MS;)
			;
	}
	TRY(cudaDeviceSynchronize());
	unsigned long long wall = now_ns() - began;
	unsigned long long at = now_ns();
	try_driver(down(host, (CUdeviceptr)device + 9 * sizeof(host), sizeof(host)));
	calls_ns += now_ns() - at;
	for (size_t i = 0; i < sizeof(host); i++)
		if (host[i] != 19 + 9)
			return fprintf(stderr, "truth: wrong data at %zu\n", i), 1;
	printf("{\"copies\": %d, \"bytes\": %llu, \"calls_ns\": %llu, \"wall_ns\": %llu}\n", count,
	       bytes, calls_ns, wall);
	return 0;
}

static void print_sum(const struct sum *sum)
{
	printf("[%llu, %llu, %llu, %llu]", sum->count, sum->bytes, sum->busy_ns, sum->call_ns);
}

static void print_copies(void)
{
	const char *comma = "";

	printf(" \"copies\": {");
	for (int i = 0; i < DIRECTIONS; i++)
		for (int j = 0; j < MEMORIES; j++) {
			if (copies[i][j].count == 0)
				continue;
			printf("%s\n  \"%s %s\": ", comma, directions[i],
			       i == D2D ? "device" : memories[j]);
			print_sum(&copies[i][j]);
			comma = ",";
		}
	printf("},\n \"sizes\": {");
	comma = "";
	for (int i = 0; i < DIRECTIONS; i++)
		for (int j = 0; j < MEMORIES; j++)
			for (int bin = 0; bin < 64; bin++) {
				if (sizes[i][j][bin].count == 0)
					continue;
				printf("%s\n  \"%s %s %llu\": ", comma, directions[i],
				       i == D2D ? "device" : memories[j], 1ull << bin);
				print_sum(&sizes[i][j][bin]);
				comma = ",";
			}
	printf("},\n \"places\": [");
	for (int i = 0; i < place_count; i++) {
		printf("%s\n  [\"%s\", %d, \"%s\", ", i > 0 ? "," : "", places[i].function,
		       places[i].line, directions[places[i].direction]);
		print_sum(&places[i].sum);
		printf("]");
	}
	printf("],\n");
}

static void print_stages(void)
{
	printf(" \"stages\": [");
	for (int i = 0; i < stage_count; i++) {
		const struct stage *of = &stages[i];

		printf("%s\n  {\"name\": \"%s\", \"wall_ns\": %llu, \"transfer_ns\": %llu, "
		       "\"kernel_ns\": %llu, \"overlap_ns\": %llu, \"idle_ns\": %llu, \"launches\": %llu, "
		       "\"h2d\": ",
		       i > 0 ? "," : "", of->name, of->wall_ns, of->up_ns + of->down_ns,
		       of->kernel_ns, of->overlap_ns, of->idle_ns, of->launches);
		print_sum(&of->copies[H2D]);
		printf(", \"d2h\": ");
		print_sum(&of->copies[D2H]);
		printf("}");
	}
	printf("],\n");
}

static unsigned long long start_ns; /* of CUDA */

static void print_all(unsigned long long wall_ns)
{
	static const char *const names[] = { "spin_long", "spin_short", "touch", "spin_apart" };
	const char *comma = "";

	printf("{");
	print_copies();
	print_stages();
	printf(" \"kernels\": {");
	for (int i = 0; i < 4; i++) {
		if (kernels[i].count == 0)
			continue;
		printf("%s\"%s\": [%llu, %llu]", comma, names[i], kernels[i].count,
		       kernels[i].busy_ns);
		comma = ", ";
	}
	printf("},\n \"launches\": %llu, \"memsets\": [%llu, %llu, %llu], \"waits\": [%llu, %llu], "
	       "\"waiting_ns\": %llu, \"unsure_ns\": {\"h2d\": %llu, \"d2h\": %llu}, "
	       "\"alone_ns\": {\"h2d\": %llu, \"d2h\": %llu}, "
	       "\"fastest\": {\"h2d\": %.0f, \"d2h\": %.0f}, \"start_ns\": %llu, \"wall_ns\": %llu}\n",
	       launches, memsets, memsets * (unsigned long long)LARGE, memset_ns, waits, waits_ns,
	       waiting_ns, in_a_row_ns[H2D] / 2, in_a_row_ns[D2H] / 2, alone_ns[H2D], alone_ns[D2H],
	       fastest[H2D], fastest[D2H], start_ns, wall_ns);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "pageable", *began = getenv("TRUTH_BEGAN_NS");
	char *device, *pinned, *field, *result;
	cudaStream_t stream, other;

	resident = strcmp(mode, "resident") == 0;
	all_pinned = strcmp(mode, "pinned") == 0;
	/* The runtime starts CUDA in the first call that needs it. */
	unsigned long long starts = now_ns();
	TRY(cudaFree(0));
	start_ns = now_ns() - starts;
	TRY(cudaMalloc((void **)&device, FIELD));
	if (strcmp(mode, "small") == 0)
		return small(device);
	TRY(cudaEventCreate(&before));
	TRY(cudaEventCreate(&after));
	for (int i = 0; i < MOST; i++)
		TRY(cudaEventCreate(&ends[i]));
	field = make_field(FIELD);
	result = make_result(FIELD);
	if (strcmp(mode, "repeats") == 0)
		return repeats(device, field, result);
	TRY(cudaMallocHost((void **)&pinned, FIELD));
	TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	TRY(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	/* Modules are loaded at their first launch. */
	touch<<<1, 32>>>((unsigned *)device);
	launched(2, 0);
	LAUNCH(0, spin_long, 0, 0);
	LAUNCH(1, spin_short, 0, 0);
	LAUNCH(3, spin_apart, 0, 0);

	if (!resident)
		time_the_least(device, pinned, stream);
	gaps();
	long_and_short();
	exposed(device, field, result);
	in_order(device, pinned, stream);
	overlapped(device, pinned, stream, other);
	side_by_side(stream, other);
	behind_kernels(device, result);
	of_many_sizes(device, field, pinned, stream);
	on_the_device();
	idle(stream);
	wait_for(0);
	print_all(began != NULL ? now_ns() - strtoull(began, NULL, 10) : 0);
	return 0;
}
