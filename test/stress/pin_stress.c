/*
 * pin_stress.c - threads allocate, copy to and from the device, resize and free, while another
 * process observes how much is pinned.
 *
 * Every copy's bytes are read back, and the bytes next to them are checked.  The source of an
 * asynchronous copy is overwritten as soon as the call has returned.
 */
#include "pattern.h"
#include "preload.h"
#include "random.h"
#include "sizes.h"

#define __CUDA_API_VERSION_INTERNAL
#include "../standin/pins.h"
#include "../standin/standin.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

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

/* The watcher's observations, in shared memory. */
static struct seen {
	_Atomic bool stop;
	_Atomic uint64_t pin_most, page_most; /* bytes, by the kernel and by the stand-in */
	_Atomic uint64_t looks, too_much;     /* too_much: the first excess */
} * seen;

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

/* Returns the bytes that the kernel holds pinned for the process; 0 if it does not tell. */
static uint64_t pinned_by_kernel(int status)
{
	char text[4096];
	ssize_t length = pread(status, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	const char *line = strstr(text, "\nVmPin:");
	return line != NULL ? strtoull(line + 7, NULL, 10) << 10 : 0;
}

static void note(_Atomic uint64_t *most, uint64_t value, uint64_t limit)
{
	if (value > *most)
		*most = value;
	if (value > limit && seen->too_much == 0)
		seen->too_much = value;
}

/* Runs as a process of its own: watches the one under test until that ends. */
static void watch(pid_t whom, uint64_t limit, uint64_t kernel_limit)
{
	const char *pins = getenv("STANDIN_PINS");
	struct standin_pins *page = MAP_FAILED;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)whom);
	int status = open(path, O_RDONLY), fd = pins != NULL ? open(pins, O_RDONLY) : -1;
	if (fd >= 0)
		page = mmap(NULL, STANDIN_PINS * sizeof(*page), PROT_READ, MAP_SHARED, fd, 0);
	while (!seen->stop && getppid() == whom) {
		for (int i = 0; page != MAP_FAILED && i < STANDIN_PINS; i++)
			if (__atomic_load_n(&page[i].pid, __ATOMIC_ACQUIRE) == whom)
				note(&seen->page_most,
				     __atomic_load_n(&page[i].now, __ATOMIC_ACQUIRE), limit);
		note(&seen->pin_most, pinned_by_kernel(status), kernel_limit);
		seen->looks++;
		check_pause(CHECK_PAUSE_LONG);
	}
	_exit(0);
}

static pid_t start_watcher(uint64_t limit, uint64_t kernel_limit)
{
	pid_t here = getpid();

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();
	if (child == 0)
		watch(here, limit, kernel_limit);
	return child;
}

static unsigned long steps_of_all(void)
{
	unsigned long steps = 0;

	for (int i = 0; i < THREADS; i++)
		steps += workers[i].steps;
	return steps;
}

static bool is_enough(uint64_t budget_used)
{
	const char *text = getenv("STRESS_STEPS");

	if (steps_of_all() < (text != NULL ? strtoul(text, NULL, 10) : 3000) || seen->looks <= 10)
		return false;
	return !preloaded() ||
	       (standin_calls("cuMemHostRegister") > 10 && seen->page_most > budget_used);
}

/* More than `budget_used` must be seen pinned: a budget that is never used would go unnoticed. */
static void run(uint64_t budget, uint64_t budget_used, bool large_pages)
{
	/*
	 * The kernel also counts memory that the program pins, and a partly pinned large page as a
	 * whole.
	 */
	uint64_t own = (large_pages ? UINT64_MAX / 4 : THREADS * LARGEST / 2);

	if (!large_pages)
		CHECK_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
	pid_t watcher = start_watcher(preloaded() ? budget : 0, preloaded() ? budget + own : own);
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	for (int i = 0; i < THREADS; i++) {
		workers[i].random = (uint64_t)i;
		workers[i].seed = (unsigned)i << 24;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	while (!is_enough(budget_used) && well())
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
	seen->stop = true;
	CHECK_EQ(check_status(watcher), 0);
	CHECK_EQ(standin_guard_errors(), 0);
	CHECK_EQ(seen->too_much, 0);
	CHECK(seen->looks > 10);
	CHECK_EQ(seen->page_most > budget_used, preloaded());
	printf("# %lu steps, %d pinned, %d unpinned; at most %llu KiB (kernel: %llu) in %llu looks\n",
	       steps_of_all(), standin_calls("cuMemHostRegister"),
	       standin_calls("cuMemHostUnregister"), (unsigned long long)seen->page_most >> 10,
	       (unsigned long long)seen->pin_most >> 10, (unsigned long long)seen->looks);
}

CASE_WITH(a_budget_that_nearly_nothing_fits_into, ("HOTPIN_PIN_BUDGET=3M", "HOTPIN_RING=8M"),
	  run(3 * MIB, MIB, false))
CASE_WITH(a_small_budget, ("HOTPIN_PIN_BUDGET=16M", "HOTPIN_RING=8M"),
	  run(16 * MIB, 12 * MIB, false))
CASE_WITH(a_small_budget_and_large_pages, ("HOTPIN_PIN_BUDGET=64M", "HOTPIN_RING=8M"),
	  run(64 * MIB, 8 * MIB, true))
CASE_WITH(a_large_budget, ("HOTPIN_PIN_BUDGET=1G", "HOTPIN_RING=8M"),
	  run(1024 * MIB, 8 * MIB, false))

PRELOAD_MAIN()
