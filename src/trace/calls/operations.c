/*
 * operations.c - appends under a short lock, and passes on spans in halves.
 */
#include "trace/calls/operations.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/lock.h"
#include "trace/calls/nvtx_ranges.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/*
 * 2 MiB for each half, of which only the filled part is touched.  The room bridges times when the
 * reader is late.
 */
#define HALF_ROOM     131072u
#define CROWD         (HALF_ROOM / 8)

/*
 * The sampling period of the bookkeeping.  A prime, since a loop of 2, 4 or 16 calls would
 * otherwise always show the same call.
 */
#define SAMPLED_EVERY 17u

static struct operations sums; /* under the lock trace, except: */
static _Atomic uint64_t launches[TRACE_LAUNCHES], append_ns, outside_kernels;

/* HALF_ROOM spans each, under the lock trace; `other` is the drainer's. */
static struct split_span *filling, *other;
static unsigned filled;        /* under the lock trace */
static _Atomic unsigned tick;  /* concurrent threads may lose some ticks */
static _Atomic uint32_t *rung; /* constant after operations_start() */

/* The time of operations_rare() in the calling thread's sample. */
static __thread uint64_t rare_ns __attribute__((tls_model("initial-exec")));

int operations_start(_Atomic uint32_t *bell)
{
	filling = hp_arena_alloc(2 * HALF_ROOM * sizeof(*filling));
	if (filling == NULL)
		return -ENOMEM;
	other = filling + HALF_ROOM;
	rung = bell;
	return 0;
}

void operations_spans(const struct split_span *spans, size_t count)
{
	unsigned before = filled, room = HALF_ROOM - filled;

	if (count > room) {
		sums.spans_lost += count - room;
		count = room;
	}
	memcpy(filling + filled, spans, count * sizeof(*spans));
	filled += (unsigned)count;
	/* The reader waits for the lock then, but rarely. */
	if (before < CROWD && filled >= CROWD)
		hp_ring(rung);
}

/* Adds a span, with the lock. */
static void add_span(enum split_layer layer, uint64_t from_ns, uint64_t to_ns)
{
	struct split_span span = split_span_of(layer, from_ns, to_ns);

	operations_spans(&span, 1);
}

uint64_t operations_sample_begins(void)
{
	unsigned now = atomic_load_explicit(&tick, memory_order_relaxed);

	atomic_store_explicit(&tick, now + 1, memory_order_relaxed);
	/* The middle of each period, since the first call finds cold caches. */
	if (now % SAMPLED_EVERY != SAMPLED_EVERY / 2)
		return 0;
	rare_ns = 0;
	return hp_now_ns();
}

void operations_sample_ends(uint64_t from_ns)
{
	if (from_ns != 0)
		atomic_fetch_add_explicit(&append_ns,
					  SAMPLED_EVERY * (hp_now_ns() - from_ns - rare_ns),
					  memory_order_relaxed);
}

void operations_rare(uint64_t from_ns)
{
	uint64_t took = hp_now_ns() - from_ns;

	rare_ns += took;
	atomic_fetch_add_explicit(&append_ns, took, memory_order_relaxed);
}

static bool is_on_the_bus(const struct trace_copy *copy)
{
	return copy->direction == TRACE_H2D || copy->direction == TRACE_D2H;
}

static bool must_show(const struct trace_copy *copy)
{
	return copy->synchronous && copy->bytes > 0 && is_on_the_bus(copy);
}

void operations_add(const struct trace_copy *copy)
{
	uint64_t took = copy->leave_ns - copy->enter_ns;

	trace_sum_add(&sums.copies[copy->direction][copy->memory], copy);
	sizes_add(&sums.sizes[copy->direction][copy->memory], copy->bytes, took);
	sums.deferred += copy->synchronous && copy->deferred;
	sums.must_show += must_show(copy);
	add_span(SPLIT_COPY_CALL, copy->enter_ns, copy->leave_ns);
}

void operations_copy_outside(const struct trace_copy *copy)
{
	if (!is_on_the_bus(copy))
		return;
	hp_lock(HP_LOCK_trace);
	sums.outside_copies++;
	sums.outside_bytes += copy->bytes;
	sums.outside_must_show += must_show(copy);
	hp_unlock(HP_LOCK_trace);
}

void operations_wait(bool is_join, uint64_t enter_ns, uint64_t leave_ns)
{
	hp_lock(HP_LOCK_trace);
	sums.waits += !is_join;
	sums.joins += is_join;
	add_span(SPLIT_WAIT, enter_ns, leave_ns);
	hp_unlock(HP_LOCK_trace);
}

void operations_start_up(uint64_t from_ns, uint64_t to_ns)
{
	hp_lock(HP_LOCK_trace);
	add_span(SPLIT_START_UP, from_ns, to_ns);
	hp_unlock(HP_LOCK_trace);
}

void operations_lose_call(void)
{
	hp_lock(HP_LOCK_trace);
	sums.spans_lost++;
	hp_unlock(HP_LOCK_trace);
}

void operations_launch(enum trace_launch launch)
{
	atomic_fetch_add_explicit(&launches[launch], 1, memory_order_relaxed);
}

void operations_launch_outside(enum trace_launch launch)
{
	if (launch == TRACE_LAUNCH_KERNEL)
		atomic_fetch_add_explicit(&outside_kernels, 1, memory_order_relaxed);
}

static uint64_t launched(enum trace_launch launch)
{
	return atomic_load_explicit(&launches[launch], memory_order_relaxed);
}

void operations_drain(struct split *split)
{
	hp_lock(HP_LOCK_trace);
	struct split_span *spans = filling;
	unsigned count = filled;
	filling = other;
	other = spans;
	filled = 0;
	hp_unlock(HP_LOCK_trace);

	/* The range of each of these spans has already begun. */
	nvtx_ranges_drain(split);
	for (unsigned i = 0; i < count; i++) {
		uint64_t key = spans[i].key;

		split_add(split, (enum split_layer)(key & ((1 << SPLIT_LAYER_BITS) - 1)),
			  key >> SPLIT_LAYER_BITS, spans[i].end);
	}
}

void operations_read(struct operations *ret)
{
	hp_lock(HP_LOCK_trace);
	*ret = sums;
	hp_unlock(HP_LOCK_trace);
	ret->kernels_in_graphs = launched(TRACE_LAUNCH_CAPTURED);
	ret->kernels = launched(TRACE_LAUNCH_KERNEL) + ret->kernels_in_graphs;
	ret->graphs = launched(TRACE_LAUNCH_GRAPH);
	ret->outside_kernels = atomic_load_explicit(&outside_kernels, memory_order_relaxed);
	ret->append_ns = atomic_load_explicit(&append_ns, memory_order_relaxed);
}

uint64_t operations_must_show(void)
{
	return hp_locked(HP_LOCK_trace, sums.must_show + sums.outside_must_show);
}
