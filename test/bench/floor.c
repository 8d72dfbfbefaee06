/*
 * floor.c - a minimal client of CUPTI's activity API, to measure the cost that every client has.
 *
 * The driver loads it inside cuInit() if CUDA_INJECTION64_PATH names it.  It enables the same kinds
 * as hotpin's profile, with buffers of the same size and flushed equally often, and discards the
 * records.  The variable FLOOR changes that, with comma-separated words:
 *
 *	kinds=10+1+22+2  kinds by number; 3 instead of 10: kernels one by one
 *	api=1            also calls of the runtime and of the driver
 *	buffer=4M        bytes of a buffer
 *	flush=500        ms between flushes by a thread of ours, 0: none before the end
 *	period=100       cuptiActivityFlushPeriod(), ms
 *	zeroed=0         CUPTI clears each buffer itself
 *	perthread=0      one buffer for all threads
 *	device=, pool=, prealloc=, pinned=      the device's buffers: bytes, largest number,
 *	                 number at the start, in pinned host memory
 *	semaphores=      number in a pool
 *	latency=0        no stamps of when a kernel was queued and submitted
 *	hw=1             the hardware's own event system, if there is one
 *
 * It prints at exit how much it discarded.  Without any record the process fails, because then
 * nothing was measured.
 */
#define _GNU_SOURCE
#include <cupti.h>

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BUFFERS 64

static uint8_t *pool;
static size_t buffer_bytes = 1 << 20;
static _Atomic uint64_t free_buffers = UINT64_MAX, dirty_buffers;
static _Atomic unsigned long long records_bytes, buffers_used, buffers_missed;
static sem_t wake;
static long flush_ms = 500;
static __typeof__(cuptiActivityFlushAll) *flush_all;

__attribute__((visibility("default"))) int InitializeInjection(void);

static int take(_Atomic uint64_t *mask)
{
	uint64_t old = atomic_load(mask);

	while (old != 0)
		if (atomic_compare_exchange_weak(mask, &old, old & (old - 1)))
			return __builtin_ctzll(old);
	return -1;
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *most)
{
	int bit = take(&free_buffers);

	/* If all buffers are in use, several share the last one: nobody reads them. */
	if (bit < 0) {
		bit = BUFFERS - 1;
		atomic_fetch_add(&buffers_missed, 1);
	}
	atomic_fetch_add(&buffers_used, 1);
	*buffer = pool + (size_t)bit * buffer_bytes;
	*size = buffer_bytes;
	*most = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			      size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	atomic_fetch_add(&records_bytes, valid);
	atomic_fetch_or(&dirty_buffers, UINT64_C(1) << (size_t)(buffer - pool) / buffer_bytes);
	sem_post(&wake);
}

/* Clears returned buffers in a thread of its own, and flushes as often as requested. */
static void *keep(void *unused)
{
	struct timespec last, now;
	int bit;

	clock_gettime(CLOCK_MONOTONIC, &last);
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		now.tv_nsec += 20000000;
		now.tv_sec += now.tv_nsec / 1000000000;
		now.tv_nsec %= 1000000000;
		sem_clockwait(&wake, CLOCK_MONOTONIC, &now);
		while ((bit = take(&dirty_buffers)) >= 0) {
			memset(pool + (size_t)bit * buffer_bytes, 0, buffer_bytes);
			atomic_fetch_or(&free_buffers, UINT64_C(1) << bit);
		}
		long ms =
			(now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000;
		if (flush_ms == 0 || ms < flush_ms || atomic_load(&buffers_used) == 0)
			continue;
		last = now;
		flush_all(0);
	}
	return unused;
}

static void at_end(void)
{
	if (atomic_load(&buffers_used) != 0)
		flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	fprintf(stderr, "floor: %llu bytes of records in %llu buffers, %llu missed\n",
		atomic_load(&records_bytes), atomic_load(&buffers_used),
		atomic_load(&buffers_missed));
	if (atomic_load(&records_bytes) == 0)
		_exit(1);
}

static void *find_cupti(void)
{
	static const char *const names[] = {
		"libcupti.so.13",
		"libcupti.so.12",
		"/usr/local/cuda/lib64/libcupti.so",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
	};
	const char *named = getenv("FLOOR_CUPTI");
	void *found = named != NULL ? dlopen(named, RTLD_NOW) : NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && found == NULL; i++)
		found = dlopen(names[i], RTLD_NOW);
	return found;
}

/* Returns the value after `name=` in FLOOR; `otherwise` if there is none. */
static const char *setting(const char *name, const char *otherwise)
{
	const char *at = getenv("FLOOR");
	size_t length = strlen(name);

	while (at != NULL && *at != '\0') {
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return at + length + 1;
		at = strchr(at, ',');
		at = at != NULL ? at + 1 : NULL;
	}
	return otherwise;
}

static size_t number(const char *text)
{
	char *end;
	size_t value = strtoull(text, &end, 10);

	return value << (*end == 'K' ? 10 : *end == 'M' ? 20 : 0);
}

static void must(const char *what, CUptiResult result)
{
	if (result == CUPTI_SUCCESS)
		return;
	fprintf(stderr, "floor: %s: error %d\n", what, result);
	_exit(1);
}

static void *find(void *cupti, const char *name)
{
	void *found = dlsym(cupti, name);

	if (found == NULL) {
		fprintf(stderr, "floor: this libcupti has no %s\n", name);
		_exit(1);
	}
	return found;
}

#define CUPTI(name) ((__typeof__(name) *)find(cupti, #name))

static void set_attributes(void *cupti)
{
	static const struct {
		const char *name;
		CUpti_ActivityAttribute attribute;
		size_t size;
	} words[] = {
		{ "device", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, sizeof(size_t) },
		{ "pool", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, sizeof(size_t) },
		{ "prealloc", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE,
		  sizeof(size_t) },
		{ "pinned", CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, sizeof(uint8_t) },
		{ "semaphores", CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE, sizeof(size_t) },
		{ "perthread", CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, sizeof(uint8_t) },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *text = setting(words[i].name, NULL);
		size_t value = text != NULL ? number(text) : 0, size = words[i].size;

		if (text != NULL)
			must(words[i].name,
			     CUPTI(cuptiActivitySetAttribute)(words[i].attribute, &size, &value));
	}
	uint8_t zeroed = (uint8_t)number(setting("zeroed", "1"));
	size_t size = sizeof(zeroed);
	must("zeroed", CUPTI(cuptiActivitySetAttribute)(
			       CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed));
}

static void enable(void *cupti)
{
	const char *kinds = setting("kinds", "10+1+22+2");

	while (*kinds >= '0' && *kinds <= '9') {
		char *end;

		must("kind",
		     CUPTI(cuptiActivityEnable)((CUpti_ActivityKind)strtoul(kinds, &end, 10)));
		kinds = *end == '+' ? end + 1 : end;
	}
	if (number(setting("api", "0")) == 0)
		return;
	must("runtime", CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_RUNTIME));
	must("driver", CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_DRIVER));
}

/* The name that the driver looks up. */
int InitializeInjection(void)
{
	void *cupti = find_cupti();
	pthread_t thread;

	if (cupti == NULL) {
		fprintf(stderr, "floor: no libcupti\n");
		_exit(1);
	}
	buffer_bytes = number(setting("buffer", "1M"));
	flush_ms = (long)number(setting("flush", "500"));
	pool = mmap(NULL, BUFFERS * buffer_bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pool == MAP_FAILED)
		_exit(1);
	flush_all = CUPTI(cuptiActivityFlushAll);
	sem_init(&wake, 0, 0);
	if (number(setting("hw", "0")) != 0)
		must("hw", CUPTI(cuptiActivityEnableHWTrace)(1));
	set_attributes(cupti);
	must("callbacks", CUPTI(cuptiActivityRegisterCallbacks)(request, complete));
	enable(cupti);
	if (setting("latency", NULL) != NULL)
		must("latency", CUPTI(cuptiActivityEnableLatencyTimestamps)(
					(uint8_t)number(setting("latency", "0"))));
	if (setting("period", NULL) != NULL)
		must("period",
		     CUPTI(cuptiActivityFlushPeriod)((uint32_t)number(setting("period", "0"))));
	if (pthread_create(&thread, NULL, keep, NULL) != 0)
		_exit(1);
	atexit(at_end);
	return 1;
}
