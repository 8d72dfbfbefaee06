/*
 * For programs that sleep by the test clock: resident memory, threads, and blocks that fill the
 * memory.
 */
#ifndef HP_TEST_PRELOAD_RESIDENT_H
#define HP_TEST_PRELOAD_RESIDENT_H

#include "clock.h"
#include "memory.h"
#include "promote.h"

#include <dirent.h>

/* A step of time: shorter than any wait of the library without work. */
#define STEP_NS (20 * TEST_MS)

/* Sleeps until no more than `most` is resident, for at most `seconds`. */
static inline bool shrinks_to(size_t most, double seconds)
{
	uint64_t end_ns = test_clock_ns() + (uint64_t)(seconds * TEST_S);
	size_t now;

	while ((now = memory_resident()) > most && test_clock_ns() < end_ns)
		test_clock_step(STEP_NS);
	printf("# %zu MiB of %zu resident\n", now / MIB, most / MIB);
	return now <= most;
}

/* Sleeps while no other thread of the program runs. */
static inline void rest(double seconds)
{
	uint64_t end_ns = test_clock_ns() + (uint64_t)(seconds * TEST_S);

	while (test_clock_ns() < end_ns)
		test_clock_step(STEP_NS);
}

#define BLOCKS 8
static char *blocks[BLOCKS];

static inline void allocate(bool pinned)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(24 * MIB + i * MIB);
		memset(blocks[i], 1, 24 * MIB + i * MIB);
		if (pinned)
			CHECK_EQ(heat(blocks[i], 24 * MIB + i * MIB), preloaded());
	}
}

static inline void free_all(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

/* The stand-in's device memory is memory of this process: makes all of it resident. */
static inline size_t base_line(void)
{
	char *block = malloc(8 * MIB);

	begin();
	OK(cuMemsetD8_v2(there, 1, 64 * MIB));
	for (int i = 0; i < 10; i++)
		OK(cuMemcpyHtoD_v2(there, block, 8 * MIB));
	free(block);
	rest(2);
	return memory_resident();
}

/* Returns a number from /proc/self/task/<id>/<file>; 0 if there is none. */
static inline unsigned long field_of(const char *task, const char *file, const char *name, int base)
{
	char path[64], line[256];
	unsigned long value = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", task, file);
	FILE *status = fopen(path, "r");
	while (status != NULL && fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoul(line + strlen(name), NULL, base);
	if (status != NULL)
		fclose(status);
	return value;
}

/* The stand-in pins pages by io_uring, for which the kernel creates threads. */
static inline bool is_kernel_worker(const char *task)
{
	char path[64], name[32] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	close(fd);
	return strncmp(name, "iou-", 4) == 0;
}

/* Calls `look` for every other thread; returns their number. */
static inline int each_other(void (*look)(const char *task))
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
		if (atoi(entry->d_name) == 0 || atoi(entry->d_name) == gettid() ||
		    is_kernel_worker(entry->d_name))
			continue;
		count++;
		look(entry->d_name);
	}
	closedir(tasks);
	return count;
}

static inline void nothing(const char *task)
{
	(void)task;
}

#endif
