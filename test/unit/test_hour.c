/*
 * test_hour.c - the memory of the profile after as many operations as a busy program makes in an
 * hour.
 *
 * Each operation takes the path that the shim and CUPTI's records would take, but without threads:
 * the test drains the records itself.  Two million operations fill every table, and after half of
 * them no table may grow any more.  OPERATIONS=100000000 in the environment runs the whole hour.
 */
#include "trace/calls/host_buffers.h"
#include "trace/calls/operations.h"
#include "trace/calls/nvtx_ranges.h"
#include "trace/collect/aggregate.h"
#include "trace/collect/cupti_buffers.h"
#include "trace/collect/events.h"
#include "trace/places/sites.h"
#include "trace/python/python_places.h"
#include "base/clock.h"
#include "base/lock.h"
#include "check.h"

#define STEP_NS 36000u /* 100 000 000 in an hour */
#define NAMES   5000

static struct aggregate aggregate;
static char names[NAMES][24];

/*
 * The kernel counts these pages one by one.  Its cheaper figures, ru_maxrss and statm, are sums of
 * counters for each CPU, and may be hundreds of KiB behind.
 */
static size_t resident(void)
{
	char text[4096];
	const char *at =
		strstr(check_read("/proc/self/smaps_rollup", text, sizeof(text)), "\nAnonymous:");

	return CHECK(at != NULL) ? strtoul(at + strcspn(at, "0123456789"), NULL, 10) << 10 : 0;
}

static void kernel(uint64_t number, uint64_t at)
{
	const struct cupti_kernel record = {
		.kind = CUPTI_CONCURRENT_KERNEL,
		.name = names[number * 7919 % NAMES],
		.start = at,
		.end = at + 1000 + number % 20000,
		.stream = (uint32_t)(number % 40),
	};

	aggregate_record(&aggregate, &record, at + STEP_NS);
}

static void copy(uint64_t number, uint64_t at)
{
	const struct cupti_memcpy record = {
		.kind = CUPTI_MEMCPY,
		.copy_kind = number % 2 ? CUPTI_H2D : CUPTI_D2H,
		.source_kind = number % 2 ? CUPTI_PAGEABLE : CUPTI_DEVICE,
		.target_kind = number % 2 ? CUPTI_DEVICE : CUPTI_PAGEABLE,
		.bytes = number % 70000,
		.start = at + 1000,
		.end = at + 5000,
	};
	const struct trace_copy call = {
		.direction = number % 2 ? TRACE_H2D : TRACE_D2H,
		.synchronous = true,
		.bytes = record.bytes,
		.enter_ns = at,
		.leave_ns = at + 6000,
		.host = names,
		.allocator = (uint32_t)(number % 3000),
	};

	hp_lock(HP_LOCK_trace);
	operations_add(&call);
	hp_unlock(HP_LOCK_trace);
	struct frames_way way;
	python_places_climb(__builtin_frame_address(0), &way);
	hp_lock(HP_LOCK_trace);
	sites_add(&way, &call);
	uint32_t buffer = host_buffers_add(&call, SITES_NOWHERE);
	nvtx_ranges_copied(&call);
	hp_unlock(HP_LOCK_trace);
	if (buffer == HOST_BUFFERS_UNSEEN)
		host_buffers_copied(&call, SITES_NOWHERE);
	aggregate_record(&aggregate, &record, at + STEP_NS);
	events_add(&(struct event){ .kind = EVENT_COPY_CALL,
				    .track = (uint16_t)events_thread(),
				    .start_ns = at,
				    .duration_ns = 6000 });
}

static void memset_of(uint64_t at)
{
	const struct cupti_memset record = {
		.kind = CUPTI_MEMSET, .bytes = 100, .start = at, .end = at + 2000
	};

	aggregate_record(&aggregate, &record, at + STEP_NS);
}

TEST(an_hour)
{
	const char *wanted = getenv("OPERATIONS");
	uint64_t count = wanted != NULL ? strtoull(wanted, NULL, 10) : SANITIZED ? 400000 : 2000000;
	struct split_sum sum;
	_Atomic uint32_t crowded = 0;
	uint32_t drained = 0;

	for (int i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "kernel_of_number_%d", i);
	size_t before = resident(), halfway = 0;
	uint64_t from = hp_now_ns(), ticket = 0;

	CHECK_EQ(aggregate_init(&aggregate, 0) + operations_start(&crowded) + sites_start() +
			 host_buffers_start() + events_start(EVENTS_MOST),
		 0);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = (i + 1) * STEP_NS;

		if (i % 8 == 7)
			copy(i / 8, at);
		else if (i % 8 == 3)
			memset_of(at);
		else
			kernel(i, at);
		if (i == count / 2)
			halfway = resident();
		if (i % 100000 == 0) {
			char name[16];

			snprintf(name, sizeof(name), "stage %u", (unsigned)(i / 100000 % 100));
			nvtx_ranges_end(ticket, at);
			ticket = nvtx_ranges_begin("", name, at);
		}
		if (crowded != drained || i % 14000 == 0) {
			drained = crowded;
			operations_drain(&aggregate.split);
			nvtx_ranges_drain(&aggregate.split);
		}
	}
	split_finish(&aggregate.split, (count + 2) * STEP_NS, &sum);
	uint64_t took = hp_now_ns() - from;
	size_t grown = resident() - before;

	printf("# %llu operations, %llu ns each, %zu KiB\n", (unsigned long long)count,
	       (unsigned long long)(took / count), grown >> 10);
	/* The full pool of CUPTI's buffers has its room in addition. */
	if (!SANITIZED) {
		CHECK(grown + CUPTI_BUFFERS_LEAST * CUPTI_BUFFERS_BYTES < (size_t)64 << 20);
		CHECK(before + grown < halfway + ((size_t)128 << 10));
	}
	CHECK_EQ(aggregate.records, count);
	CHECK_EQ(aggregate.kernel_runs.count, count / 8 * 6);
	CHECK_EQ(aggregate.outside, 0);
	CHECK_EQ(sum.late_ns, 0);
	CHECK_EQ(sum.wall_ns, (count + 2) * STEP_NS);
	CHECK_EQ(sum.parts.transfer_ns, count / 8 * 4000);
	CHECK_EQ(sum.parts.host_ns + sum.parts.startup_ns + sum.parts.calls_ns +
			 sum.parts.transfer_ns + sum.parts.kernel_ns + sum.parts.overlap_ns,
		 sum.wall_ns);
}

CHECK_MAIN()
