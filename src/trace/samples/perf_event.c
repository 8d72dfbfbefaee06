/*
 * perf_event.c - perf_event_open(2) without `inherit`: an inherited event with a ring needs a CPU.
 */
#define _GNU_SOURCE
#include "trace/samples/perf_event.h"
#include "base/clock.h"
#include "base/kernel.h"
#include "base/procfile.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdatomic.h>

/* A page with head and tail precedes the records. */
#define PAGE_BYTES   4096u
#define MAPPED_BYTES (PAGE_BYTES + PERF_EVENT_DATA_BYTES)

int perf_event_start(pid_t tid, struct perf_ring *ret)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_freq = PERF_EVENT_HZ,
		.freq = 1,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.use_clockid = 1,
		.clockid = hp_clock_id(),
		.sample_max_stack = PERF_RING_CHAIN_MOST,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_callchain_kernel = 1,
	};
	int error = 0;

	int fd = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		error = -errno;
	} else {
		struct perf_event_mmap_page *page =
			(void *)syscall(SYS_mmap, NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE,
					MAP_SHARED, (long)fd, 0L);

		/* EPERM: the limit of perf_event_mlock_kb and RLIMIT_MEMLOCK. */
		if (page == MAP_FAILED)
			error = errno == EPERM ? -ENOBUFS : -errno;
		else
			*ret = (struct perf_ring){
				.head = (_Atomic uint64_t *)&page->data_head,
				.tail = (_Atomic uint64_t *)&page->data_tail,
				.data = (uint8_t *)page + PAGE_BYTES,
				.bytes = PERF_EVENT_DATA_BYTES,
			};
		close(fd);
	}
	return error;
}

void perf_event_stop(const struct perf_ring *ring)
{
	hp_unmap(ring->data - PAGE_BYTES, MAPPED_BYTES);
}

/* Returns the number in a file of the kernel, or `otherwise` if there is no number. */
static long read_number(const char *path, long otherwise)
{
	char text[32];

	if (!hp_procfile_read(text, sizeof(text), (const char *const[]){ path, NULL }))
		return otherwise;
	bool negative = text[0] == '-';
	uint64_t number = hp_procfile_number(text + negative);
	if (number > INT_MAX)
		return otherwise;
	return negative ? -(long)number : (long)number;
}

size_t perf_event_most(void)
{
	long kib = read_number("/proc/sys/kernel/perf_event_mlock_kb", 516);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (size_t)(kib * (cpus > 0 ? cpus : 1)) / (MAPPED_BYTES >> 10);
}

int perf_event_paranoid(void)
{
	return (int)read_number("/proc/sys/kernel/perf_event_paranoid", INT_MIN);
}
