/*
 * replay.c - runs programs that replay.py has written: replay --list, replay NAME
 */
#include "replay.h"

struct replay *replays;
CUcontext c[CONTEXTS];
char *h[HOSTS];
CUdeviceptr d[DEVICES], scratch;
CUstream l[LINES];
CUevent e[EVENTS], spare;
CUgraph recorded;
CUgraphExec g[GRAPHS];

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

static void enter_context(void)
{
	cu[0].cuCtxSetCurrent(p.context[0]);
}

void on(int thread, void (*part)(void))
{
	static bool entered[THREADS] = { true };

	if (!entered[thread])
		on_thread(thread, enter_context);
	entered[thread] = true;
	on_thread(thread, part);
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
