/*
 * resident.c - the memory of a process, as the kernel counts it.
 *
 *	resident far|sparse|many|dotted|freed device|none WAIT SIZE
 *
 * far: one block of SIZE, with one page touched in every 2 MiB.  sparse: the same, with one page in
 * sixteen.  many: one page in sixteen, in blocks of 256 KiB to 8 MiB.  dotted: one page in every 2
 * MiB of such blocks.  freed: such blocks, all written, and uploaded and downloaded if there is a
 * device; then all are freed and the process idles for WAIT milliseconds.  `WHAT_SIZE` is the
 * memory at that time, `start` the memory before all of it, in bytes.
 */
#include "bench.h"

#include <fcntl.h>
#include <unistd.h>

#define PAGE        4096
#define MOST_BLOCKS 16384
#define MOST_BYTES  ((size_t)9 << 20)

static CUdeviceptr device;
static __typeof__(cuMemcpyHtoD_v2) *to_device;
static __typeof__(cuMemcpyDtoH_v2) *to_host;

struct blocks {
	size_t count, bytes[MOST_BLOCKS];
	char *memory[MOST_BLOCKS];
};

static double resident(void)
{
	char text[128];
	unsigned long pages = 0;
	int file = open("/proc/self/statm", O_RDONLY);
	ssize_t length = file < 0 ? 0 : read(file, text, sizeof(text) - 1);

	if (length > 0) {
		text[length] = '\0';
		sscanf(text, "%*u %lu", &pages);
	}
	close(file);
	if (pages == 0)
		exit(1);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void take(struct blocks *blocks, size_t bytes)
{
	char *memory = malloc(bytes);

	if (memory == NULL || blocks->count == MOST_BLOCKS)
		exit(1);
	blocks->bytes[blocks->count] = bytes;
	blocks->memory[blocks->count++] = memory;
}

/* Allocates blocks of 256 KiB to 8 MiB and some pages; the last one has the rest. */
static void take_many(struct blocks *blocks, size_t total)
{
	uint64_t seed = 1;

	while (total != 0) {
		size_t bytes = ((size_t)256 << 10 << bench_random(&seed) % 6) +
			       bench_random(&seed) % 64 * PAGE;

		bytes = bytes > total ? total : bytes;
		take(blocks, bytes);
		total -= bytes;
	}
}

static void touch(struct blocks *blocks, size_t step)
{
	for (size_t i = 0; i < blocks->count; i++)
		for (size_t at = 0; at < blocks->bytes[i]; at += step)
			blocks->memory[i][at] = (char)i;
}

static void copy(const struct blocks *blocks)
{
	for (size_t i = 0; i < blocks->count; i++) {
		CU_OK(to_device(device, blocks->memory[i], blocks->bytes[i]));
		blocks->memory[i][0] = (char)~i;
		CU_OK(to_host(blocks->memory[i], device, blocks->bytes[i]));
		if (blocks->memory[i][0] != (char)i) {
			fprintf(stderr, "wrong bytes: resident, block %zu\n", i);
			exit(1);
		}
	}
}

static void write_copy_free(struct blocks *blocks, unsigned wait_ms)
{
	for (size_t i = 0; i < blocks->count; i++)
		memset(blocks->memory[i], (int)i, blocks->bytes[i]);
	for (int turn = 0; turn < 2 && to_device != NULL; turn++)
		copy(blocks);
	while (blocks->count != 0)
		free(blocks->memory[--blocks->count]);
	usleep(wait_ms * 1000);
}

int main(int argc, char **argv)
{
	static struct blocks blocks;
	const char *what = argc == 5 ? argv[1] : "";
	int is_freed = strcmp(what, "freed") == 0, is_many = strcmp(what, "many") == 0;
	int is_far = strcmp(what, "far") == 0, is_dotted = strcmp(what, "dotted") == 0;

	if (!is_freed && !is_many && !is_far && !is_dotted && strcmp(what, "sparse") != 0) {
		fprintf(stderr,
			"usage: resident far|sparse|many|dotted|freed device|none WAIT SIZE\n");
		return 2;
	}
	size_t bytes = bench_bytes(argv[4]);
	if (strcmp(argv[2], "device") == 0) {
		bench_start();
		CU_OK(CU(cuMemAlloc_v2)(&device, MOST_BYTES));
		to_device = CU(cuMemcpyHtoD_v2);
		to_host = CU(cuMemcpyDtoH_v2);
	}
	printf("start %.0f\n", resident());
	if (is_freed || is_many || is_dotted)
		take_many(&blocks, bytes);
	else
		take(&blocks, bytes);
	if (is_freed)
		write_copy_free(&blocks, (unsigned)strtoul(argv[3], NULL, 10));
	else
		touch(&blocks, is_far || is_dotted ? (size_t)2 << 20 : 16 * PAGE);
	printf("%s_%s %.0f\n", what, argv[4], resident());
	return 0;
}
