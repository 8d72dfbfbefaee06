/*
 * copies.c - every kind of copy between host and device, by size: one table.
 *
 *	copies malloc|pinned SIZE...
 *
 * `WHAT_WAY_HOW_SIZE`: WHAT is a buffer that is copied repeatedly (hot), one that was never copied
 * before (first), a static array (static), a destination with untouched pages (fresh, d2h only), or
 * rows of 8 KiB in an array of twice that pitch (rows, sync only, 1 to 256 MiB).  WAY is h2d or
 * d2h.  HOW is synchronous, or asynchronous until the stream is complete.  Memory that the program
 * pins has only one kind: its figures for hot stand for all others.
 *
 * Every byte of every copy is checked.  A kernel checks uploads on the device, which was wiped
 * before.  The CPU checks downloads, of which no two in a row carry the same bytes.  A run over all
 * sizes takes about 20 s, independently of the figures: each size has a fixed count.
 */
#include "bench.h"
#include "kernels.h"
#include "ptx.h"

#include <sys/mman.h>

#define STATIC_BYTES ((size_t)1 << 30)
#define ROWS_FROM    ((size_t)1 << 20)
#define ROWS_TO      ((size_t)256 << 20)
#define ROW          ((size_t)8192)
#define MOST         400

enum what { HOT, FIRST, STATIC, FRESH, ROWS };
static const char *const names[] = { "hot", "first", "static", "fresh", "rows" };

/* Large enough for twice the largest rows. */
static char array[STATIC_BYTES] __attribute__((aligned(64)));

static struct {
	__typeof__(cuMemcpyHtoD_v2) *put;
	__typeof__(cuMemcpyDtoH_v2) *get;
	__typeof__(cuMemcpyHtoDAsync_v2) *put_async;
	__typeof__(cuMemcpyDtoHAsync_v2) *get_async;
	__typeof__(cuMemcpy2DUnaligned_v2) *rows;
	__typeof__(cuMemsetD8Async) *wipe;
	__typeof__(cuStreamSynchronize) *wait;
	CUstream stream;
	CUdeviceptr device[2],
		sum; /* two sources with different bytes; the first is also the target */
	struct kernels kernels;
} cu;

/* Random words; the second source begins one word later. */
static uint64_t *master;

/* The parts of the current measurement. */
static struct {
	const char *kind;
	char *hot;
	size_t bytes, several, many;
	uint64_t inner[2]; /* weights of both sources without their first and last words */
} now;

static CUDA_MEMCPY2D rows_of(int up, void *host, CUdeviceptr device)
{
	CUDA_MEMCPY2D box = { .WidthInBytes = ROW, .Height = now.bytes / ROW };

	box.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	box.dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	box.srcHost = box.dstHost = host;
	box.srcDevice = box.dstDevice = device;
	box.srcPitch = up ? 2 * ROW : ROW;
	box.dstPitch = up ? ROW : 2 * ROW;
	return box;
}

static double once(enum what what, int up, int async, void *host, CUdeviceptr device)
{
	CUDA_MEMCPY2D box = rows_of(up, host, device);
	double begin = bench_now();

	if (what == ROWS)
		CU_OK(cu.rows(&box));
	else if (up)
		CU_OK(async ? cu.put_async(device, host, now.bytes, cu.stream)
			    : cu.put(device, host, now.bytes));
	else
		CU_OK(async ? cu.get_async(host, device, now.bytes, cu.stream)
			    : cu.get(host, device, now.bytes));
	if (async)
		CU_OK(cu.wait(cu.stream));
	return bench_now() - begin;
}

/* Returns the weight of the bytes in host memory. */
static uint64_t weight_of(enum what what, const char *host)
{
	uint64_t sum = 0;

	if (what != ROWS)
		return ptx_weight((const uint64_t *)host, 0, now.bytes / 8);
	for (size_t row = 0; row < now.bytes / ROW; row++)
		sum += ptx_weight((const uint64_t *)(host + row * 2 * ROW), row * (ROW / 8),
				  ROW / 8);
	return sum;
}

static uint64_t weight_on_device(void)
{
	uint64_t sum = 0;

	CU_OK(cu.wipe(cu.sum, 0, sizeof(sum), cu.stream));
	kernels_weigh(&cu.kernels, cu.stream, cu.device[0], now.bytes / 8, cu.sum);
	CU_OK(cu.wait(cu.stream));
	CU_OK(cu.get(&sum, cu.sum, sizeof(sum)));
	return sum;
}

static char *last_word(enum what what, char *host)
{
	size_t rows = now.bytes / ROW;

	return host + (what == ROWS ? (rows - 1) * 2 * ROW + ROW : now.bytes) - sizeof(uint64_t);
}

static void check(uint64_t weight, size_t source, uint64_t number, enum what what, int up)
{
	uint64_t ends = number * (1 + 2 * (now.bytes / 8 - 1) + 1);

	if (weight == now.inner[source] + ends)
		return;
	fprintf(stderr, "wrong bytes: %s, %s, %zu bytes, number %llx\n", names[what],
		up ? "h2d" : "d2h", now.bytes, (unsigned long long)number);
	exit(1);
}

/* Uploads data that the device does not have: the device is wiped, and the ends get a number. */
static double up_once(enum what what, int async, char *host, uint64_t number)
{
	memcpy(last_word(what, host), &number, sizeof(number));
	memcpy(host, &number, sizeof(number));
	CU_OK(cu.wipe(cu.device[0], (unsigned char)number, now.bytes, cu.stream));
	CU_OK(cu.wait(cu.stream));
	double seconds = once(what, 1, async, host, cu.device[0]);
	CU_OK(cu.wait(NULL));
	check(weight_on_device(), 0, number, what, 1);
	return seconds;
}

static double down_once(enum what what, int async, char *host, uint64_t number)
{
	size_t source = number % 2;
	CUdeviceptr device = cu.device[source];

	CU_OK(cu.put(device, &number, sizeof(number)));
	CU_OK(cu.put(device + now.bytes - sizeof(number), &number, sizeof(number)));
	CU_OK(cu.wait(NULL));
	double seconds = once(what, 0, async, host, device);
	check(weight_of(what, host), source, number, what, 0);
	return seconds;
}

/*
 * In a program, memory of different uses is allocated at different places.  hotpin learns by these
 * places: by the caller of malloc() and by its depth in the stack.
 */
static __attribute__((noinline)) char *allocate_at(int depth, size_t bytes)
{
	char *memory = depth > 0 ? allocate_at(depth - 1, bytes) : bench_allocate(now.kind, bytes);

	__asm__ volatile("" : "+r"(memory)); /* keeps compilers from merging the frames */
	return memory;
}

static char *allocate(enum what what)
{
	int pinned = strcmp(now.kind, "pinned") == 0;

	if (what == HOT && now.hot != NULL)
		return now.hot;
	if (!pinned && (what == STATIC || what == ROWS))
		return array;
	return allocate_at((int)what, what == ROWS ? 2 * now.bytes : now.bytes);
}

#define PAGE          ((size_t)4096)
#define RECYCLED_MOST ((size_t)128 << 10)

/*
 * malloc() takes small blocks from freed memory, if there is any: without hotpin from memory that
 * the driver freed, with it from memory that hotpin freed.  Neither has untouched pages.
 */
static void untouch(char *memory)
{
	uintptr_t from = ((uintptr_t)memory + PAGE - 1) & -PAGE;
	uintptr_t to = ((uintptr_t)memory + now.bytes) & -PAGE;

	if (now.bytes <= RECYCLED_MOST && from < to &&
	    madvise((void *)from, to - from, MADV_DONTNEED) != 0)
		exit(1);
}

/* Returns host memory of a kind, with the first source's bytes if it is to be touched. */
static char *memory_for(enum what what)
{
	char *memory = allocate(what);

	if (what == HOT)
		now.hot = memory;
	if (what == ROWS)
		for (size_t row = 0; row < now.bytes / ROW; row++)
			memcpy(memory + row * 2 * ROW, (char *)master + row * ROW, ROW);
	else if (what != FRESH)
		memcpy(memory, master, now.bytes);
	else
		untouch(memory);
	return memory;
}

static void report(enum what what, int up, int async, const char *size, double *seconds,
		   size_t count)
{
	char label[64];

	snprintf(label, sizeof(label), "%s_%s_%s", names[what], up ? "h2d" : "d2h",
		 async ? "async" : "sync");
	/* Hot memory becomes hot in the first copies. */
	bench_report(label, size, seconds, count, what == FIRST || what == FRESH ? 0 : count / 4);
}

static void measure(enum what what, int up, int async, const char *size)
{
	static double seconds[MOST];
	static uint64_t number;
	int several = what == FIRST || what == FRESH, pinned = strcmp(now.kind, "pinned") == 0;
	size_t count = several ? now.several : now.many;
	char *host = several ? NULL : memory_for(what);

	for (size_t i = 0; i < count; i++) {
		if (several)
			host = memory_for(what);
		number = number * 6364136223846793005u + 2 * number + 1442695040888963407u;
		seconds[i] = up ? up_once(what, async, host, number)
				: down_once(what, async, host, number);
	}
	/*
	 * Memory of malloc() is not freed: it would be allocated again when a first copy is
	 * measured.
	 */
	if (pinned && what == ROWS)
		bench_free(now.kind, host);
	report(what, up, async, size, seconds, count);
	for (int other = FIRST; what == HOT && pinned && other <= FRESH; other++)
		if (other != FRESH || !up)
			report((enum what)other, up, async, size, seconds, count);
}

/* About ten seconds in all at 10 GB/s. */
static void set_counts(size_t bytes)
{
	static const struct {
		size_t bytes, several, many;
	} counts[] = {
		{ (size_t)1 << 30, 1, 3 }, { 256 << 20, 3, 5 }, { 64 << 20, 5, 8 },
		{ 16 << 20, 8, 16 },       { 1 << 20, 16, 40 }, { 64 << 10, 24, 200 },
		{ 0, 24, MOST },
	};
	size_t i = 0;

	while (bytes < counts[i].bytes)
		i++;
	now.several = counts[i].several;
	now.many = counts[i].many;
}

static void make_sources(void)
{
	size_t words = now.bytes / 8;

	for (size_t i = 0; i < 2; i++) {
		CU_OK(CU(cuMemAlloc_v2)(&cu.device[i], now.bytes));
		CU_OK(cu.put(cu.device[i], master + i, now.bytes));
		now.inner[i] = ptx_weight(master + i + 1, 1, words - 2);
	}
	CU_OK(cu.wait(NULL));
}

static void measure_size(const char *size)
{
	int pinned = strcmp(now.kind, "pinned") == 0;

	now.bytes = bench_bytes(size);
	if (now.bytes < 64 || now.bytes % 64 != 0 || now.bytes > STATIC_BYTES)
		exit(2);
	set_counts(now.bytes);
	make_sources();
	/* Downloads come first, because uploads wipe the first source. */
	for (int up = 0; up < 2; up++)
		for (int what = HOT; what <= ROWS; what++) {
			if ((what == FRESH && up) || (pinned && what != HOT && what != ROWS) ||
			    (what == ROWS && (now.bytes < ROWS_FROM || now.bytes > ROWS_TO)))
				continue;
			for (int async = 0; async < (what == ROWS ? 1 : 2); async++)
				measure((enum what)what, up, async, size);
		}
	if (pinned)
		bench_free(now.kind, now.hot);
	now.hot = NULL;
	for (size_t i = 0; i < 2; i++)
		CU_OK(CU(cuMemFree_v2)(cu.device[i]));
}

int main(int argc, char **argv)
{
	size_t most = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: copies malloc|pinned SIZE...\n");
		return 2;
	}
	bench_start();
	now.kind = argv[1];
	kernels_load(&cu.kernels);
	cu.put = CU(cuMemcpyHtoD_v2);
	cu.get = CU(cuMemcpyDtoH_v2);
	cu.put_async = CU(cuMemcpyHtoDAsync_v2);
	cu.get_async = CU(cuMemcpyDtoHAsync_v2);
	cu.rows = CU(cuMemcpy2DUnaligned_v2);
	cu.wipe = CU(cuMemsetD8Async);
	cu.wait = CU(cuStreamSynchronize);
	CU_OK(CU(cuStreamCreate)(&cu.stream, CU_STREAM_DEFAULT));
	CU_OK(CU(cuMemAlloc_v2)(&cu.sum, sizeof(uint64_t)));
	for (int i = 2; i < argc; i++)
		if (bench_bytes(argv[i]) > most)
			most = bench_bytes(argv[i]);
	/* Not from malloc(), so that it does not affect the measured memory. */
	master = mmap(NULL, most + 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (master == MAP_FAILED)
		return 1;
	bench_fill(master, most + 64, 1);
	for (int i = 2; i < argc; i++)
		measure_size(argv[i]);
	return 0;
}
