/*
 * pin_stress.c - threads allocate, copy to and from the device, resize and free, within a budget.
 *
 * Every copy's bytes are read back, and the bytes next to them are checked.  The source of an
 * asynchronous copy is overwritten as soon as the call has returned.
 */
#include "pattern.h"
#include "preload.h"
#include "random.h"
#include "sizes.h"
#include "watch.h"

#define __CUDA_API_VERSION_INTERNAL
#include "../standin/standin.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define THREADS 8
#define SLOTS   6
#define BOXES   16
#define LARGEST (3 * MIB)

struct owned {
	char *address;
	size_t bytes;
	unsigned seed;
};

struct worker {
	pthread_t thread;
	uint64_t random;
	CUdeviceptr there; /* LARGEST bytes */
	CUstream stream;
	char *quiet; /* LARGEST bytes that are never pinned */
	unsigned seed;
	_Atomic unsigned long steps;
	struct owned owned[SLOTS];
};

static struct worker workers[THREADS];
static struct owned boxes[BOXES];
static pthread_mutex_t box_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext context;
static _Atomic bool stop;

static uint64_t draw(struct worker *worker)
{
	return random_next(&worker->random);
}

static bool well(void)
{
	return check_failures == 0 && !stop;
}

static size_t pick_size(struct worker *worker)
{
	size_t bytes = (size_t)128 * KIB << draw(worker) % 5;

	bytes += draw(worker) % (bytes / 2);
	return draw(worker) % 4 == 0 ? 256 * KIB - 16 + draw(worker) % 33 : bytes;
}

static void refill(struct worker *worker, struct owned *owned)
{
	owned->seed = ++worker->seed;
	fill(owned->address, owned->bytes, owned->seed);
}

static void get(struct worker *worker, struct owned *owned)
{
	owned->bytes = pick_size(worker);
	switch (draw(worker) % 4) {
	case 0:
		owned->address = calloc(owned->bytes, 1);
		CHECK(owned->address != NULL && owned->address[0] == 0 &&
		      memcmp(owned->address, owned->address + 1, owned->bytes - 1) == 0);
		break;
	case 1:
		owned->address = aligned_alloc(64, owned->bytes);
		break;
	default:
		owned->address = malloc(owned->bytes);
		break;
	}
	if (CHECK(owned->address != NULL))
		refill(worker, owned);
}

static void put(struct owned *owned)
{
	CHECK(holds(owned->address, owned->bytes, owned->seed));
	free(owned->address);
	owned->address = NULL;
}

static void resize(struct worker *worker, struct owned *owned)
{
	size_t bytes = pick_size(worker);
	char *moved = realloc(owned->address, bytes);

	if (!CHECK(moved != NULL))
		return;
	CHECK(holds(moved, bytes < owned->bytes ? bytes : owned->bytes, owned->seed));
	owned->address = moved;
	owned->bytes = bytes;
	refill(worker, owned);
}

/* Chooses all of it, or a part from a multiple of eight bytes on. */
static size_t pick_part(struct worker *worker, const struct owned *owned, size_t *ret_from)
{
	*ret_from = draw(worker) % 2 ? 0 : draw(worker) % owned->bytes & ~(size_t)7;
	return draw(worker) % 2 ? owned->bytes - *ret_from
				: 1 + draw(worker) % (owned->bytes - *ret_from);
}

/* Checks that the device has the block's bytes [from, from + bytes). */
static void check_device(struct worker *worker, size_t from, size_t bytes, unsigned seed)
{
	OK(cuStreamSynchronize(worker->stream));
	OK(cuMemcpyDtoH_v2(worker->quiet, worker->there, bytes));
	CHECK(holds_from(worker->quiet, from, bytes, seed));
}

static void upload(struct worker *worker, struct owned *owned)
{
	size_t from, bytes = pick_part(worker, owned, &from);
	unsigned seed = owned->seed;

	if (draw(worker) % 2) {
		OK(cuMemcpyHtoD_v2(worker->there, owned->address + from, bytes));
	} else {
		OK(cuMemcpyHtoDAsync_v2(worker->there, owned->address + from, bytes,
					worker->stream));
		memset(owned->address + from, 0, bytes);
		refill(worker, owned);
	}
	check_device(worker, from, bytes, seed);
}

/* Downloaded data is there immediately, and nothing next to it has changed. */
static void download(struct worker *worker, struct owned *owned)
{
	size_t from, bytes = pick_part(worker, owned, &from), end = from + bytes;
	size_t after = (end + 7) & ~(size_t)7;
	unsigned seed = ++worker->seed;

	fill(worker->quiet, bytes, seed);
	/*
	 * A synchronous copy of pageable memory may return before another stream could observe it.
	 */
	OK(cuMemcpyHtoD_v2(worker->there, worker->quiet, bytes));
	OK(cuCtxSynchronize());
	if (draw(worker) % 2)
		OK(cuMemcpyDtoH_v2(owned->address + from, worker->there, bytes));
	else
		OK(cuMemcpyDtoHAsync_v2(owned->address + from, worker->there, bytes,
					worker->stream));
	CHECK(holds(owned->address + from, bytes, seed));
	CHECK(holds(owned->address, from, owned->seed));
	if (after < owned->bytes)
		CHECK(holds_from(owned->address + after, after, owned->bytes - after, owned->seed));
	refill(worker, owned);
}

/* The program pins the upper part itself; a copy begins below and extends into it. */
static void copy_across_a_border(struct worker *worker, struct owned *owned)
{
	uintptr_t middle = ((uintptr_t)owned->address + owned->bytes / 2 + PAGE) & -PAGE;
	uintptr_t end = ((uintptr_t)owned->address + owned->bytes) & -PAGE;

	if (end <= middle)
		return;
	OK(cuMemHostRegister_v2((void *)middle, end - middle, 0));
	OK(cuMemcpyHtoD_v2(worker->there, owned->address, owned->bytes));
	check_device(worker, 0, owned->bytes, owned->seed);
	OK(cuMemHostUnregister((void *)middle));
}

/* Exchanges blocks between threads. */
static void swap(struct worker *worker, struct owned *owned)
{
	struct owned *box = &boxes[draw(worker) % BOXES];

	pthread_mutex_lock(&box_lock);
	struct owned other = *box;
	*box = *owned;
	*owned = other;
	pthread_mutex_unlock(&box_lock);
}

static void step(struct worker *worker)
{
	struct owned *owned = &worker->owned[draw(worker) % SLOTS];
	unsigned chance = (unsigned)(draw(worker) % 100);

	worker->steps++;
	if (owned->address == NULL)
		get(worker, owned);
	else if (chance < 40)
		upload(worker, owned);
	else if (chance < 70)
		download(worker, owned);
	else if (chance < 73)
		copy_across_a_border(worker, owned);
	else if (chance < 80)
		swap(worker, owned);
	else if (chance < 88)
		resize(worker, owned);
	else
		put(owned);
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc_v2(&worker->there, LARGEST));
	OK(cuStreamCreate(&worker->stream, CU_STREAM_NON_BLOCKING));
	worker->quiet =
		mmap(NULL, LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (well())
		step(worker);
	return NULL;
}

static unsigned long steps_of_all(void)
{
	unsigned long steps = 0;

	for (int i = 0; i < THREADS; i++)
		steps += workers[i].steps;
	return steps;
}

static bool is_enough(void)
{
	const char *text = getenv("STRESS_STEPS");

	return steps_of_all() >= (text != NULL ? strtoul(text, NULL, 10) : 3000);
}

/*
 * The stand-in ends the process if more than the budget is pinned.  More than `budget_used` must be
 * pinned at some time: a budget that is never used would go unnoticed.
 */
static void run(uint64_t budget_used)
{
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	const struct standin_pins *pins = watch_own();
	for (int i = 0; i < THREADS; i++) {
		workers[i].random = (uint64_t)i;
		workers[i].seed = (unsigned)i << 24;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	while (!(is_enough() && (!preloaded() || pins->most > budget_used)) && well())
		check_pause(CHECK_PAUSE_LONG);
	stop = true;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		for (int slot = 0; slot < SLOTS; slot++)
			if (workers[i].owned[slot].address != NULL)
				put(&workers[i].owned[slot]);
	}
	for (int i = 0; i < BOXES; i++)
		if (boxes[i].address != NULL)
			put(&boxes[i]);
	CHECK_EQ(standin_guard_errors(), 0);
	CHECK_EQ(pins->most > budget_used, preloaded());
	printf("# %lu steps, %d pinned, %d unpinned; at most %llu KiB\n", steps_of_all(),
	       standin_calls("cuMemHostRegister"), standin_calls("cuMemHostUnregister"),
	       (unsigned long long)pins->most >> 10);
}

CASE_WITH(a_budget_that_nearly_nothing_fits_into, ("HOTPIN_PIN_BUDGET=3M", "HOTPIN_RING=8M"),
	  run(MIB))
CASE_WITH(a_small_budget, ("HOTPIN_PIN_BUDGET=16M", "HOTPIN_RING=8M"), run(12 * MIB))
CASE_WITH(a_large_budget, ("HOTPIN_PIN_BUDGET=1G", "HOTPIN_RING=8M"), run(8 * MIB))

PRELOAD_MAIN()
