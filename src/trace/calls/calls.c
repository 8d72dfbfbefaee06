/*
 * calls.c - a table of sums and a ring of spans for each thread.  Names tell the classes of
 * functions: the first rule that matches decides.
 */
#include "trace/calls/calls.h"
#include "base/lock.h"
#include "trace/calls/operations.h"
#include "trace/thread_memory.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#define SPANS 256u /* a power of two */

struct sum {
	_Atomic uint64_t count, total_ns, longest_ns; /* written only by the owner */
};

/* The table of one thread. */
struct table {
	_Atomic uint32_t noted; /* spans so far, by the owner */
	_Atomic uint32_t taken; /* of these, under the lock trace */
	_Atomic uint64_t waits; /* calls that may have waited, by the owner */
	struct split_span span[SPANS];
	struct sum sum[]; /* functions */
};

/* Constant after calls_start(). */
static const char *(*name_of)(size_t);
static size_t functions;
static unsigned char kinds[CALLS_FUNCTIONS_MOST];

static struct thread_memory tables;
static __thread struct table *mine __attribute__((tls_model("initial-exec")));

static _Atomic uint32_t threads; /* the number that have had a table; any thread */
static _Atomic bool lost_waits;  /* any thread */

/* A name matches if it begins with `prefix` and contains `part`, if there is one. */
static const struct rule {
	const char *prefix, *part;
	struct call_class class;
} rules[] = {
	{ "cuInit", NULL, { "start_up", CALLS_START_UP | CALLS_WORK } },
	{ "cuCtxCreate", NULL, { "start_up", CALLS_START_UP | CALLS_WORK } },
	{ "cuDevicePrimaryCtxRetain", NULL, { "start_up", CALLS_START_UP | CALLS_WORK } },
	{ "cuGetExportTable", NULL, { "start_up", CALLS_START_UP | CALLS_WORK } },
	{ "cuGetProcAddress", NULL, { "start_up", CALLS_START_UP | CALLS_WORK } },
	{ "cu", "Synchronize", { "synchronize", CALLS_WAITS } },
	{ "cuMemcpy", NULL, { "copy", 0 } },
	{ "cuMemset", NULL, { "memset", CALLS_WORK } },
	{ "cuGraphLaunch", NULL, { "launch", CALLS_LAUNCH | CALLS_WORK } },
	{ "cuLaunch", NULL, { "launch", CALLS_LAUNCH | CALLS_WORK } },
	{ "cuGraph", NULL, { "other", 0 } },
	{ "cuMemFree", NULL, { "free", CALLS_WORK } },
	{ "cuMemRelease", NULL, { "free", CALLS_WORK } },
	{ "cuMemUnmap", NULL, { "free", CALLS_WORK } },
	{ "cuMemAddressFree", NULL, { "free", CALLS_WORK } },
	{ "cuMemHostUnregister", NULL, { "free", CALLS_WORK } },
	{ "cuMemPool", "Destroy", { "free", CALLS_WORK } },
	{ "cuMemPool", "Trim", { "free", CALLS_WORK } },
	{ "cuArrayDestroy", NULL, { "free", CALLS_WORK } },
	{ "cuMipmappedArrayDestroy", NULL, { "free", CALLS_WORK } },
	{ "cuMemAlloc", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemHostAlloc", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemHostRegister", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemCreate", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemAddressReserve", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemMap", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemSetAccess", NULL, { "allocate", CALLS_WORK } },
	{ "cuMemPoolCreate", NULL, { "allocate", CALLS_WORK } },
	{ "cuArrayCreate", NULL, { "allocate", CALLS_WORK } },
	{ "cuArray3DCreate", NULL, { "allocate", CALLS_WORK } },
	{ "cuMipmappedArrayCreate", NULL, { "allocate", CALLS_WORK } },
	{ "cuModule", NULL, { "module", CALLS_START_UP | CALLS_WORK } },
	{ "cuLibrary", NULL, { "module", CALLS_START_UP | CALLS_WORK } },
	{ "cuLink", NULL, { "module", CALLS_START_UP | CALLS_WORK } },
	{ "cuKernel", NULL, { "module", CALLS_START_UP | CALLS_WORK } },
	{ "cuFunc", NULL, { "module", CALLS_START_UP | CALLS_WORK } },
	{ "cuStream", NULL, { "stream", 0 } },
	{ "cuEvent", NULL, { "stream", 0 } },
	{ "", NULL, { "other", 0 } },
};

static bool fits(const struct rule *rule, const char *name)
{
	return strncmp(name, rule->prefix, strlen(rule->prefix)) == 0 &&
	       (rule->part == NULL || strstr(name, rule->part) != NULL);
}

struct call_class call_class_of(const char *name)
{
	const struct rule *rule = rules;

	while (!fits(rule, name))
		rule++;
	return rule->class;
}

void calls_start(const char *(*name)(size_t function), bool (*may_wait)(size_t function),
		 size_t count)
{
	assert(count <= CALLS_FUNCTIONS_MOST);
	for (size_t i = 0; i < count; i++)
		kinds[i] = (unsigned char)(call_class_of(name(i)).kinds |
					   (may_wait == NULL || may_wait(i) ? CALLS_MAY_WAIT : 0));
	functions = count;
	name_of = name;
	tables.bytes = sizeof(*mine) + functions * sizeof(mine->sum[0]);
}

static inline void add_up(struct sum *sum, uint64_t took_ns)
{
	uint64_t count = atomic_load_explicit(&sum->count, memory_order_relaxed);
	uint64_t total_ns = atomic_load_explicit(&sum->total_ns, memory_order_relaxed);

	atomic_store_explicit(&sum->count, count + 1, memory_order_relaxed);
	atomic_store_explicit(&sum->total_ns, total_ns + took_ns, memory_order_relaxed);
	if (took_ns > atomic_load_explicit(&sum->longest_ns, memory_order_relaxed))
		atomic_store_explicit(&sum->longest_ns, took_ns, memory_order_relaxed);
}

static inline uint32_t spans_noted(const struct table *table)
{
	return atomic_load_explicit(&table->noted, memory_order_relaxed);
}

static inline bool is_full(const struct table *table, uint32_t noted)
{
	return noted - atomic_load_explicit(&table->taken, memory_order_acquire) == SPANS;
}

static inline void note_span(struct table *table, uint32_t noted, struct split_span span)
{
	table->span[noted % SPANS] = span;
	atomic_store_explicit(&table->noted, noted + 1, memory_order_release);
}

/* Passes on the noted spans, with the lock. */
static void pass_on(struct table *table)
{
	uint32_t noted = atomic_load_explicit(&table->noted, memory_order_acquire);
	uint32_t taken = atomic_load_explicit(&table->taken, memory_order_relaxed);

	/* A handler's calls were added inside calls_add(), which then sets `noted` back. */
	if (noted - taken > SPANS)
		return;
	while (taken != noted) {
		uint32_t first = taken % SPANS, count = noted - taken;

		if (count > SPANS - first)
			count = SPANS - first;
		operations_spans(&table->span[first], count);
		taken += count;
	}
	atomic_store_explicit(&table->taken, taken, memory_order_release);
}

static inline unsigned add_to(struct table *table, uint32_t noted, size_t function,
			      uint64_t enter_ns, uint64_t leave_ns)
{
	unsigned kind = kinds[function];

	if (kind & CALLS_MAY_WAIT)
		atomic_store_explicit(&table->waits,
				      atomic_load_explicit(&table->waits, memory_order_relaxed) + 1,
				      memory_order_relaxed);
	add_up(&table->sum[function], leave_ns - enter_ns);
	note_span(table, noted,
		  split_span_of(kind & CALLS_START_UP ? SPLIT_START_UP : SPLIT_CALL, enter_ns,
				leave_ns));
	return kind;
}

/* Adds a call of a thread without a table, or with a full one, which is rare. */
__attribute__((noinline)) static unsigned add_locked(size_t function, uint64_t enter_ns,
						     uint64_t leave_ns)
{
	struct table *table = mine != NULL ? mine : thread_memory_take(&tables);

	if (table == NULL) {
		calls_lose_waits();
		operations_lose_call();
		return kinds[function];
	}
	hp_lock(HP_LOCK_trace);
	/* A signal handler may have given this thread a table before; with the lock it does not. */
	if (mine == NULL) {
		mine = table;
		atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
	}
	pass_on(mine);
	unsigned kind = add_to(mine, spans_noted(mine), function, enter_ns, leave_ns);
	hp_unlock(HP_LOCK_trace);
	return kind;
}

unsigned calls_add(size_t function, uint64_t enter_ns, uint64_t leave_ns)
{
	struct table *table = mine;

	if (function >= functions)
		return 0;
	if (table == NULL)
		return add_locked(function, enter_ns, leave_ns);
	uint32_t noted = spans_noted(table);
	if (is_full(table, noted))
		return add_locked(function, enter_ns, leave_ns);
	return add_to(table, noted, function, enter_ns, leave_ns);
}

void calls_gather(void)
{
	hp_lock(HP_LOCK_trace);
	for (struct table *table = thread_memory_next(&tables, NULL); table != NULL;
	     table = thread_memory_next(&tables, table))
		pass_on(table);
	hp_unlock(HP_LOCK_trace);
}

size_t calls_functions(void)
{
	return functions;
}

const char *calls_name(size_t function)
{
	return name_of(function);
}

uint64_t calls_waits(void)
{
	uint64_t waits = 0;

	assert(hp_lock_held(HP_LOCK_trace));
	if (calls_threads() != 1 || atomic_load_explicit(&lost_waits, memory_order_relaxed))
		return CALLS_UNKNOWN;
	for (const struct table *table = thread_memory_next(&tables, NULL); table != NULL;
	     table = thread_memory_next(&tables, table))
		waits += atomic_load_explicit(&table->waits, memory_order_relaxed);
	return waits;
}

void calls_lose_waits(void)
{
	atomic_store_explicit(&lost_waits, true, memory_order_relaxed);
}

uint32_t calls_threads(void)
{
	return atomic_load_explicit(&threads, memory_order_relaxed);
}

void calls_read(size_t function, struct profile_call *ret)
{
	const char *name = name_of(function);

	*ret = (struct profile_call){ .name = name, .class = call_class_of(name).name };
	for (const struct table *table = thread_memory_next(&tables, NULL); table != NULL;
	     table = thread_memory_next(&tables, table)) {
		const struct sum *sum = &table->sum[function];
		int64_t longest_ns =
			(int64_t)atomic_load_explicit(&sum->longest_ns, memory_order_relaxed);

		ret->count += (int64_t)atomic_load_explicit(&sum->count, memory_order_relaxed);
		ret->total_ns +=
			(int64_t)atomic_load_explicit(&sum->total_ns, memory_order_relaxed);
		if (longest_ns > ret->longest_ns)
			ret->longest_ns = longest_ns;
	}
}
