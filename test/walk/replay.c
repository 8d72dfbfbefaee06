/*
 * replay.c - runs what replay.py has written: replay --list, replay NAME
 */
#include "replay.h"

#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

struct program p;
struct replay *replays;
CUcontext c[CONTEXTS];
char *h[HOSTS];
CUdeviceptr d[DEVICES], scratch;
CUstream l[LINES];
CUevent e[EVENTS], spare;
CUgraph recorded;
CUgraphExec g[GRAPHS];

bool stand_in;

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(3);
}

uint64_t hash_of(const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	uint64_t hash = count;

	while (count-- > 0)
		hash = (hash ^ *at++) * 0x9e3779b97f4a7c15ull;
	return hash;
}

void fill(void *bytes, size_t count, uint64_t key)
{
	unsigned char *at = bytes;

	for (size_t i = 0; i < count; i++)
		at[i] = (unsigned char)(key + i * 37 + i / 251);
}

char *aligned(size_t bytes)
{
	return memalign(PAGE, bytes);
}

char *mapped(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

char *of_data(size_t bytes)
{
	static char room[MIB];
	static size_t used;

	used += bytes;
	return room + used - bytes;
}

static void CUDA_CB change_range(void *data)
{
	struct named_range {
		char *at;
		size_t bytes;
	} *range = data;

	for (size_t i = 0; i < range->bytes; i++)
		range->at[i] = (char)(range->at[i] * 5 + (char)i);
	free(range);
}

void change(CUstream on_stream, char *at, size_t bytes)
{
	struct named_range {
		char *at;
		size_t bytes;
	} *range = malloc(sizeof(*range));

	range->at = at;
	range->bytes = bytes;
	CODE(cu[0].cuLaunchHostFunc(on_stream, change_range, range));
}

void step(CUstream on_stream, int n)
{
	if (standin_step_one != NULL)
		standin_step_one(on_stream, n);
}

/* ---- threads that take turns, each for as long as the program runs ---- */

static struct {
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	void (*part)(void);
} crew[THREADS];

static void *run_crew(void *number)
{
	int me = (int)(intptr_t)number;

	cu[0].cuCtxSetCurrent(p.context[0]);
	pthread_mutex_lock(&crew[me].lock);
	for (;;) {
		while (crew[me].part == NULL)
			pthread_cond_wait(&crew[me].changed, &crew[me].lock);
		crew[me].part();
		crew[me].part = NULL;
		pthread_cond_broadcast(&crew[me].changed);
	}
	return NULL;
}

void on(int thread, void (*part)(void))
{
	if (thread == 0) {
		part();
		return;
	}
	if (!crew[thread].started) {
		pthread_mutex_init(&crew[thread].lock, NULL);
		pthread_cond_init(&crew[thread].changed, NULL);
		crew[thread].started = true;
		if (pthread_create(&crew[thread].thread, NULL, run_crew,
				   (void *)(intptr_t)thread) != 0)
			fail("no thread");
	}
	pthread_mutex_lock(&crew[thread].lock);
	crew[thread].part = part;
	pthread_cond_broadcast(&crew[thread].changed);
	while (crew[thread].part != NULL)
		pthread_cond_wait(&crew[thread].changed, &crew[thread].lock);
	pthread_mutex_unlock(&crew[thread].lock);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		fail("replay --list | NAME");
	for (const struct replay *r = replays; r != NULL; r = r->next) {
		if (strcmp(argv[1], "--list") == 0)
			printf("%s %s\n", r->name, r->options);
		if (strcmp(argv[1], r->name) != 0)
			continue;
		driver_find();
		if (cu[0].cuDevicePrimaryCtxRetain(&p.context[0], 0) != CUDA_SUCCESS ||
		    cu[0].cuCtxSetCurrent(p.context[0]) != CUDA_SUCCESS)
			fail("no context");
		kernels_load(0);
		c[0] = p.context[0];
		spare = p.spare[0].handle;
		scratch = p.scratch[0].there;
		r->run();
		CODE(cu[0].cuCtxSynchronize());
		printf("end\n");
		return 0;
	}
	return strcmp(argv[1], "--list") != 0;
}
