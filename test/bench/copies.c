/*
 * copies.c - every kind of copy between host and device, by size: one table.
 *
 *	copies malloc|pinned SIZE...
 *
 * `WHAT_WAY_HOW_SIZE`: a buffer that is copied again and again (hot), one that was never copied
 * before (first), a static array, a destination that nobody has touched yet (fresh, d2h only); h2d
 * or d2h; synchronous, or asynchronous until the stream is through.  With pinned all four are
 * pinned memory.  Every copy carries a number that must arrive, and its last bytes are compared.
 */
#include "bench.h"

#define STATIC_BYTES ((size_t)1 << 30)
#define MOST         400

enum what { HOT, FIRST, STATIC, FRESH };
static const char *const names[] = { "hot", "first", "static", "fresh" };

static char array[STATIC_BYTES] __attribute__((aligned(64)));

static struct {
	__typeof__(cuMemcpyHtoD_v2) *put;
	__typeof__(cuMemcpyDtoH_v2) *get;
	__typeof__(cuMemcpyHtoDAsync_v2) *put_async;
	__typeof__(cuMemcpyDtoHAsync_v2) *get_async;
	__typeof__(cuStreamSynchronize) *wait;
	CUstream stream;
	CUdeviceptr device;
} cu;

static double once(int up, int async, void *host, size_t bytes)
{
	double begin = bench_now();

	if (up)
		CU_OK(async ? cu.put_async(cu.device, host, bytes, cu.stream)
			    : cu.put(cu.device, host, bytes));
	else
		CU_OK(async ? cu.get_async(host, cu.device, bytes, cu.stream)
			    : cu.get(host, cu.device, bytes));
	if (async)
		CU_OK(cu.wait(cu.stream));
	return bench_now() - begin;
}

/* As many as take about a tenth of a second at 10 GB/s. */
static size_t count_for(enum what what, size_t bytes)
{
	size_t count = ((size_t)1 << 30) / bytes, most = what == HOT || what == STATIC ? MOST : 24;
	size_t least = bytes > (size_t)256 << 20 ? 2 : 5;

	return count < least ? least : count > most ? most : count;
}

/* The i-th number, at both ends; 8 bytes are the smallest copy. */
static void mark(char *host, size_t bytes, uint64_t number)
{
	memcpy(host + bytes - sizeof(number), &number, sizeof(number));
	memcpy(host, &number, sizeof(number));
}

static void check(const char *host, size_t bytes, uint64_t number, const char *what)
{
	if (memcmp(host, &number, sizeof(number)) != 0 ||
	    memcmp(host + bytes - sizeof(number), &number, sizeof(number)) != 0) {
		fprintf(stderr, "wrong bytes: %s, %zu bytes, number %llu\n", what, bytes,
			(unsigned long long)number);
		exit(1);
	}
}

static void measure(const char *kind, enum what what, int up, int async, const char *size)
{
	static double seconds[MOST];
	static char *buffers[MOST];
	size_t bytes = bench_bytes(size), count = count_for(what, bytes);
	int pinned = strcmp(kind, "pinned") == 0, several = what == FIRST || what == FRESH;
	char label[64], *back = bench_allocate("pinned", 2 * sizeof(uint64_t));

	for (size_t i = 0; i < (several ? count : 1); i++) {
		buffers[i] = what == STATIC && !pinned ? array : bench_allocate(kind, bytes);
		if (what != FRESH)
			bench_fill(buffers[i], bytes, 1 + i);
	}
	for (size_t i = 0; i < count; i++) {
		char *host = buffers[several ? i : 0];
		uint64_t number = 0x0101010101010101u * (1 + i % 250);

		if (up) {
			mark(host, bytes, number);
			seconds[i] = once(1, async, host, bytes);
			CU_OK(cu.wait(cu.stream));
			CU_OK(cu.wait(NULL));
			CU_OK(cu.get(back, cu.device, sizeof(number)));
			CU_OK(cu.get(back + 8, cu.device + bytes - 8, sizeof(number)));
			check(back, 16, number, names[what]);
		} else {
			mark(back, 16, number);
			CU_OK(cu.put(cu.device, back, sizeof(number)));
			CU_OK(cu.put(cu.device + bytes - 8, back, sizeof(number)));
			CU_OK(cu.wait(NULL));
			seconds[i] = once(0, async, host, bytes);
			check(host, bytes, number, names[what]);
		}
	}
	for (size_t i = 0; i < (several ? count : 1); i++)
		if (buffers[i] != array)
			bench_free(kind, buffers[i]);
	bench_free("pinned", back);
	snprintf(label, sizeof(label), "%s_%s_%s", names[what], up ? "h2d" : "d2h",
		 async ? "async" : "sync");
	/* What is hot becomes so in the first copies. */
	bench_report(label, size, seconds, count, several ? 0 : count / 4);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: copies malloc|pinned SIZE...\n");
		return 2;
	}
	bench_start();
	cu.put = CU(cuMemcpyHtoD_v2);
	cu.get = CU(cuMemcpyDtoH_v2);
	cu.put_async = CU(cuMemcpyHtoDAsync_v2);
	cu.get_async = CU(cuMemcpyDtoHAsync_v2);
	cu.wait = CU(cuStreamSynchronize);
	CU_OK(CU(cuStreamCreate)(&cu.stream, CU_STREAM_DEFAULT));
	for (int i = 2; i < argc; i++) {
		size_t bytes = bench_bytes(argv[i]);

		if (bytes < 16 || bytes > STATIC_BYTES)
			return 2;
		CU_OK(CU(cuMemAlloc_v2)(&cu.device, bytes));
		for (int what = HOT; what <= FRESH; what++)
			for (int up = what != FRESH; up >= 0; up--)
				for (int async = 0; async < 2; async++)
					measure(argv[1], (enum what)what, up, async, argv[i]);
		CU_OK(CU(cuMemFree_v2)(cu.device));
	}
	return 0;
}
