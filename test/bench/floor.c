/*
 * floor.c - a minimal client of CUPTI's activity API, to measure the cost that every client has.
 *
 * The driver loads it inside cuInit() if CUDA_INJECTION64_PATH names it.  It enables the same kinds
 * as hotpin's profile, with buffers of the same size and flushed equally often, and discards the
 * records.
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

#define BUFFERS      64
#define BUFFER_BYTES ((size_t)1 << 20)
#define FLUSH_MS     500

static uint8_t *pool;
static _Atomic uint64_t free_buffers = UINT64_MAX, dirty_buffers;
static _Atomic unsigned long long records_bytes, buffers_used, buffers_missed;
static sem_t wake;
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
	*buffer = pool + (size_t)bit * BUFFER_BYTES;
	*size = BUFFER_BYTES;
	*most = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			      size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	atomic_fetch_add(&records_bytes, valid);
	atomic_fetch_or(&dirty_buffers, UINT64_C(1) << (size_t)(buffer - pool) / BUFFER_BYTES);
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
			memset(pool + (size_t)bit * BUFFER_BYTES, 0, BUFFER_BYTES);
			atomic_fetch_or(&free_buffers, UINT64_C(1) << bit);
		}
		long ms =
			(now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000;
		if (ms < FLUSH_MS || atomic_load(&buffers_used) == 0)
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
	void *found = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && found == NULL; i++)
		found = dlopen(names[i], RTLD_NOW);
	return found;
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

static void enable(void *cupti)
{
	static const CUpti_ActivityKind kinds[] = { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
						    CUPTI_ACTIVITY_KIND_MEMCPY,
						    CUPTI_ACTIVITY_KIND_MEMCPY2,
						    CUPTI_ACTIVITY_KIND_MEMSET };
	uint8_t zeroed = 1;
	size_t size = sizeof(zeroed);

	must("zeroed", CUPTI(cuptiActivitySetAttribute)(
			       CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed));
	must("callbacks", CUPTI(cuptiActivityRegisterCallbacks)(request, complete));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		must("kind", CUPTI(cuptiActivityEnable)(kinds[i]));
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
	pool = mmap(NULL, BUFFERS * BUFFER_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pool == MAP_FAILED)
		_exit(1);
	flush_all = CUPTI(cuptiActivityFlushAll);
	sem_init(&wake, 0, 0);
	enable(cupti);
	if (pthread_create(&thread, NULL, keep, NULL) != 0)
		_exit(1);
	atexit(at_end);
	return 1;
}
