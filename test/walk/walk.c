/*
 * walk.c - runs random programs, given by their seeds.
 *
 *	walk [--steps=N] [--keep=LIST] [--verbose [--point=N]] SEED [COUNT]
 *
 * It prints a line for each program: its seed, the hash of all that it observed, and a letter for
 * each observation, derived from the hash so far.  Two runs diverge where their letters do.
 * --verbose also prints each call; --point=N marks the one of observation N with ">".  The same
 * seeds must print the same with a library preloaded, with other options, on another day.
 *
 * --keep executes only the steps of the list (as 0-3,7).  --seeds=LIST runs only these seeds, in
 * one process.  --eager advances the stand-in's streams after every step: work in flight may
 * complete at any time, so a program whose output changes is wrong.
 */
#include "walk.h"

#include "random.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS_MOST 1024
#define TOLD_MOST  16384 /* letters; later observations are in the hash only */

bool verbose;

static bool eager;
static int steps_wanted;
static bool kept[STEPS_MOST];
static uint64_t stream_of_draws;
static FILE *out;

static char letters[TOLD_MOST + 1];
static unsigned told_things, point = -1u;
static bool pointed;

static const struct {
	const char *name;
	unsigned weight;
	void (*take)(void);
} kinds[] = {
	{ "host_new", 14, step_host_new },
	{ "host_free", 5, step_host_free },
	{ "host_realloc", 3, step_host_realloc },
	{ "host_write", 14, step_host_write },
	{ "host_read", 14, step_host_read },
	{ "host_move", 3, step_host_move },
	{ "host_pages", 2, step_host_pages },
	{ "host_register", 3, step_host_register },
	{ "io", 5, step_io },
	{ "fork", 1, step_fork },
	{ "signal", 2, step_signal },
	{ "device_new", 6, step_device_new },
	{ "device_free", 3, step_device_free },
	{ "copy", 50, step_copy },
	{ "copy_box", 8, step_copy_box },
	{ "heat", 3, step_heat },
	{ "pipeline", 4, step_pipeline },
	{ "across", 3, step_across },
	{ "crowd", 1, step_crowd },
	{ "array", 6, step_array },
	{ "batch", 4, step_batch },
	{ "memset", 5, step_memset },
	{ "kernel", 24, step_kernel },
	{ "spin", 4, step_spin },
	{ "callback", 4, step_callback },
	{ "stream", 4, step_stream },
	{ "stream_wait", 6, step_stream_wait },
	{ "query", 3, step_query },
	{ "event", 10, step_event },
	{ "context", 3, step_context },
	{ "capture", 3, step_capture },
	{ "graph", 4, step_graph },
	{ "ask", 4, step_ask },
	{ "wrong", 4, step_wrong },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

uint64_t draw(void)
{
	return random_next(&stream_of_draws);
}

size_t below(size_t n)
{
	return draw() % n;
}

bool one_in(unsigned n)
{
	return below(n) == 0;
}

/* Each order of magnitude is equally frequent. */
size_t some_size(size_t least, size_t most)
{
	unsigned orders = 0;
	size_t size;

	while (least << orders < most)
		orders++;
	size = least << below(orders + 1);
	if (!one_in(4))
		size += below(size);
	if (one_in(3))
		size = size / PAGE * PAGE;
	return size < least ? least : size > most ? most : size;
}

size_t buffer_size(void)
{
	size_t least = p.hot ? 128 * KIB : 16, most = 64 * KIB;

	if (one_in(4) || p.hot || p.large)
		most = p.large ? 8 * MIB : p.hot ? 1 * MIB : 512 * KIB;
	size_t size = some_size(least, most);
	/* Most of a program's time is spent touching memory. */
	if (p.touched > 24 * MIB && size > 16 * KIB)
		size = 16 * KIB;
	p.touched += size;
	return size;
}

void some_range(const struct buffer *buffer, size_t *lo, size_t *hi)
{
	*lo = 0;
	*hi = buffer->bytes;
	if (one_in(2))
		return;
	*lo = below(buffer->bytes);
	if (one_in(2))
		*lo &= ~(size_t)511;
	*hi = *lo + 1 + below(buffer->bytes - *lo);
	if (one_in(2))
		*hi = buffer->bytes;
}

struct target sync_target(int flavor)
{
	int context = my_context();

	return flavor ? (struct target){ p.own[context][p.thread], NULL, 1, "own" }
		      : (struct target){ p.legacy[context], NULL, 0, "legacy" };
}

struct target some_target(void)
{
	int flavor = (int)below(4) == 0, context = my_context();

	switch (below(8)) {
	case 0:
	case 1:
		return sync_target(flavor);
	case 2:
		return (struct target){ p.legacy[context], CU_STREAM_LEGACY, flavor, "legacy" };
	case 3:
		return (struct target){ p.own[context][p.thread], CU_STREAM_PER_THREAD, flavor,
					"own" };
	default:
		break;
	}
	size_t slot = one_in(2) ? p.favorite_stream : below(STREAMS);
	p.favorite_stream = slot;
	if (p.stream[slot] < 0 || p.line[p.stream[slot]].context != context)
		return sync_target(flavor);
	return (struct target){ p.stream[slot], p.line[p.stream[slot]].handle, flavor,
				p.line[p.stream[slot]].blocking ? "blocking" : "free" };
}

void tell(uint64_t value)
{
	static const char alphabet[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/";

	p.hash = random_mix(p.hash ^ value) + 0x9e3779b97f4a7c15ull;
	pointed = pointed || (told_things == point && point < TOLD_MOST);
	if (told_things < TOLD_MOST)
		letters[told_things++] = alphabet[p.hash % 64];
}

static void say(const char *format, va_list args)
{
	fprintf(out, "%c %d.%d ", pointed ? '>' : ' ', p.step, p.thread);
	pointed = false;
	vfprintf(out, format, args);
}

CUresult told(CUresult rc, int error, const char *format, ...)
{
	va_list args;

	/* The errno of a device's driver is not always the same. */
	tell((uint64_t)rc << 32 ^ (stand_in ? (unsigned)error : 0));
	if (!verbose)
		return rc;
	va_start(args, format);
	say(format, args);
	va_end(args);
	fprintf(out, " = %d, errno %d\n", (int)rc, error);
	return rc;
}

long long told_libc(long long rc, int error, const char *format, ...)
{
	va_list args;

	tell((uint64_t)rc << 8 ^ (unsigned)error);
	if (!verbose)
		return rc;
	va_start(args, format);
	say(format, args);
	va_end(args);
	fprintf(out, " = %lld, errno %d\n", rc, error);
	return rc;
}

void note(const char *format, ...)
{
	va_list args;

	if (!verbose)
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
	fputc('\n', out);
}

void look(const struct buffer *buffer, size_t lo, size_t hi)
{
	uint64_t hash = hash_of(buffer->at + lo, hi - lo);

	tell(hash);
	note("h%d[%zu, %zu) is %016llx", buffer->number, lo, hi, (unsigned long long)hash);
}

/* ---- one program ---- */

static void enter_context(void)
{
	cu[0].cuCtxSetCurrent(p.context[my_context()]);
}

static bool primary_gone = true;

static void begin(void)
{
	static CUcontext retained;

	if (primary_gone && cu[0].cuDevicePrimaryCtxRetain(&retained, 0) != CUDA_SUCCESS)
		fail("no context");
	primary_gone = false;
	p.context[0] = retained;
	enter_context();
	p.legacy[0] = line_new(0, true, false, -1, NULL);
	p.legacy[1] = -1;
	for (int t = 0; t < THREADS; t++)
		p.own[0][t] = line_new(0, false, true, t, NULL);
	for (int i = 0; i < STREAMS; i++)
		p.stream[i] = -1;
	kernels_load(0);
	for (int i = 0; i < HOSTS; i++)
		p.host[i] = (struct buffer){ .host = true, .number = i };
	for (int i = 0; i < DEVICES; i++)
		p.device[i] = (struct buffer){ .number = i };
	for (int i = 0; i < ARRAYS; i++)
		p.array[i] = (struct buffer){ .number = i };
	for (int t = 1; t < THREADS; t++)
		on_thread(t, enter_context);
	p.thread = 0;
}

static void take_step(void)
{
	static void (*const first[])(void) = { step_device_new, step_host_new, step_stream,
					       step_host_new,   step_event,    step_device_new,
					       step_stream,     step_host_new };
	size_t kind;

	/* The first steps create objects to work with. */
	if (p.step < (int)(sizeof(first) / sizeof(*first))) {
		first[p.step]();
		return;
	}
	if (p.hot && p.step % 12 == 8) {
		step_heat();
		return;
	}
	kind = random_row(&stream_of_draws, &kinds[0].weight, sizeof(kinds[0]), KINDS);
	note("%s", kinds[kind].name);
	kinds[kind].take();
}

static void end_all_work(void)
{
	for (int c = 0; c < CONTEXTS; c++)
		if (p.legacy[c] >= 0) {
			cu[0].cuCtxPushCurrent_v2(p.context[c]);
			cu[0].cuCtxSynchronize();
			cu[0].cuCtxPopCurrent_v2(&(CUcontext){ NULL });
		}
}

static void thread_again(int thread)
{
	/* Its stream is destroyed with it, when it is empty. */
	for (int c = 0; c < CONTEXTS; c++)
		if (p.legacy[c] >= 0 && p.lines < LINES) {
			p.line[p.own[c][thread]].alive = false;
			int line = line_new(c, false, true, thread, NULL);

			/* Or the new thread inherits the stream with its contents. */
			p.line[line].clock.at[line] = 1;
			p.own[c][thread] = line;
		}
	/* A driver may never notice the end of a thread that ends with work in flight. */
	if (!stand_in)
		on_thread(thread, end_all_work);
	worker_stop(thread);
	on_thread(thread, enter_context);
}

/* Reads everything once more. */
static void read_all(void)
{
	static unsigned char *room;

	if (room == NULL)
		room = malloc(32 * MIB);
	for (int i = 0; i < HOSTS; i++)
		if (p.host[i].where != W_NOWHERE && p.host[i].defined && buffer_idle(&p.host[i]))
			look(&p.host[i], 0, p.host[i].bytes);
	for (int i = 0; i < DEVICES; i++) {
		struct buffer *device = &p.device[i];

		if (device->where == W_NOWHERE || device->context != my_context() ||
		    !buffer_idle(device))
			continue;
		SAY(cu[0].cuMemcpyDtoH_v2(room, device->there, device->bytes),
		    "cuMemcpyDtoH(room, d%d, %zu)", i, device->bytes);
		tell(hash_of(room, device->bytes));
		note("d%d is %016llx", i, (unsigned long long)hash_of(room, device->bytes));
	}
}

/* The library's cached blocks, pages and pins stay from one program to the next. */
static void end(void)
{
	if (my_context() != 0)
		SAY(cu[0].cuCtxSetCurrent(p.context[0]), "cuCtxSetCurrent(c0)");
	p.threads[0].context = 0;
	read_all();
	for (int i = 0; i < HOSTS; i++)
		if (p.host[i].where != W_NOWHERE)
			host_drop(&p.host[i]);
	for (int i = 0; i < GRAPHS; i++)
		if (p.graph[i].exec != NULL)
			SAY(cu[0].cuGraphExecDestroy(p.graph[i].exec), "cuGraphExecDestroy(g%d)",
			    i);
	for (int i = 0; i < DEVICES; i++)
		if (p.device[i].where != W_NOWHERE)
			device_drop(&p.device[i]);
	for (int i = 0; i < ARRAYS; i++)
		if (p.array[i].where != W_NOWHERE)
			array_drop(&p.array[i]);
	for (int i = 0; i < EVENTS; i++)
		if (p.event[i].handle != NULL)
			SAY(cu[0].cuEventDestroy_v2(p.event[i].handle), "cuEventDestroy(e%d)", i);
	for (int i = 0; i < STREAMS; i++)
		if (p.stream[i] >= 0)
			SAY(cu[0].cuStreamDestroy_v2(p.line[p.stream[i]].handle),
			    "cuStreamDestroy(l%d)", p.stream[i]);
	SAY(cu[0].cuCtxSynchronize(), "cuCtxSynchronize()");
	for (int c = CONTEXTS - 1; c >= 0; c--) {
		if (p.legacy[c] < 0)
			continue;
		cu[0].cuCtxSetCurrent(p.context[c]);
		cu[0].cuMemFree_v2(p.scratch[c].there);
		cu[0].cuEventDestroy_v2(p.spare[c].handle);
	}
	if (p.legacy[1] >= 0)
		SAY(cu[0].cuCtxDestroy_v2(p.context[1]), "cuCtxDestroy(c1)");
	/* Sometimes the primary context ends, with everything that was registered in it. */
	SAY(cu[0].cuCtxSetCurrent(p.context[0]), "cuCtxSetCurrent(c0)");
	if (p.seed % (stand_in ? 32 : 512) == 0) {
		primary_gone = true;
		kernels_forget();
		SAY(cu[0].cuDevicePrimaryCtxRelease_v2(0), "cuDevicePrimaryCtxRelease(0)");
	}
}

/*
 * A device may run any stream's work at any time.  The stand-in does so on request: mostly the
 * newest operation, before all those that it should have waited for.
 */
void progress(void)
{
	uint64_t chance = random_mix(p.seed * 0x100000001b3ull + 0x51ull * ++p.progress);
	int line = chance / 2 % 4 == 0 ? (int)(chance / 8 % (uint64_t)p.lines) : p.last;
	int most = 1 + (int)(chance >> 32) % 3;
	CUstream handle;

	if (standin_steps == NULL)
		return;
	if (eager)
		standin_steps();
	else if (chance % 2 == 0 && line_handle(line, &handle) &&
		 standin_step_one(handle, most) != 0)
		note("the device comes to %d of l%d", most, line);
}

/* The thread of each step; -1: the step is left out. */
static int plan[STEPS_MOST], steps;

static void take_steps(void)
{
	int me = p.thread;

	for (; p.step < steps && (plan[p.step] == me || plan[p.step] < 0); p.step++) {
		if (plan[p.step] < 0)
			continue;
		stream_of_draws = random_mix(p.seed * 0x100000001b3ull + (unsigned)p.step + 1);
		take_step();
		progress();
	}
}

static void make_plan(void)
{
	int thread = 0;

	steps = steps_wanted != 0 ? steps_wanted : 16 + (int)below(one_in(8) ? 200 : 60);
	if (steps > STEPS_MOST)
		steps = STEPS_MOST;
	for (int i = 0; i < steps; i++) {
		if (one_in(5))
			thread = (int)below(THREADS);
		plan[i] = kept[i] ? thread : -1;
	}
}

static void run(uint64_t seed)
{
	memset(&p, 0, sizeof(p));
	p.seed = seed;
	p.hash = seed;
	told_things = 0;
	pointed = false;
	stream_of_draws = random_mix(seed);
	p.step = -1;
	p.large = one_in(24);
	p.hot = !p.large && one_in(8);
	/* A process that used callbacks once stays changed for the rest of its life. */
	p.pins = seed / 50 % 8 >= 3;
	p.records_host = seed / 50 % 8 >= 4;
	p.calls_back = seed / 50 % 8 >= 5;
	make_plan();
	begin();
	p.step = 0;
	while (p.step < steps) {
		int thread = plan[p.step] < 0 ? p.thread : plan[p.step];

		if (thread != p.thread && thread != 0 && one_in(12))
			thread_again(thread);
		on_thread(thread, take_steps);
	}
	stream_of_draws = random_mix(seed + 1);
	p.thread = 0;
	end();
	io_forget();
	if (standin_forget != NULL)
		standin_forget();
	letters[told_things] = '\0';
	fprintf(out, "%llu %016llx %s\n", (unsigned long long)seed, (unsigned long long)p.hash,
		letters);
	fflush(out);
}

/* ---- the command line ---- */

static void keep(const char *list)
{
	memset(kept, 0, sizeof(kept));
	while (*list != '\0') {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;

		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (; from <= to && from < STEPS_MOST; from++)
			kept[from] = true;
		list = *end == ',' ? end + 1 : end;
		if (list == end && *end != '\0')
			fail("a list of steps: %s", list);
	}
}

static void run_seeds(const char *list)
{
	while (*list != '\0') {
		char *end;
		uint64_t seed = strtoull(list, &end, 10);

		if (end == list)
			fail("a list of seeds: %s", list);
		run(seed);
		list = *end == ',' ? end + 1 : end;
	}
}

int main(int argc, char **argv)
{
	const char *seeds = NULL, *mask = NULL;
	static char buffer[1 << 16];
	int at = 1;

	memset(kept, 1, sizeof(kept));
	for (; at < argc && argv[at][0] == '-'; at++) {
		if (strncmp(argv[at], "--steps=", 8) == 0)
			steps_wanted = atoi(argv[at] + 8);
		else if (strncmp(argv[at], "--point=", 8) == 0)
			point = (unsigned)atoi(argv[at] + 8);
		else if (strncmp(argv[at], "--keep=", 7) == 0)
			mask = argv[at] + 7;
		else if (strncmp(argv[at], "--seeds=", 8) == 0)
			seeds = argv[at] + 8;
		else if (strcmp(argv[at], "--verbose") == 0)
			verbose = true;
		else if (strcmp(argv[at], "--eager") == 0)
			eager = true;
		else
			fail("unknown: %s", argv[at]);
	}
	if (mask != NULL)
		keep(mask);
	if (seeds == NULL && at == argc)
		fail("walk [OPTIONS] SEED [COUNT]");
	out = stdout;
	setvbuf(out, buffer, verbose ? _IOLBF : _IOFBF, sizeof(buffer));
	driver_find();
	if (seeds != NULL) {
		run_seeds(seeds);
	} else {
		uint64_t first = strtoull(argv[at], NULL, 10);
		uint64_t count = at + 1 < argc ? strtoull(argv[at + 1], NULL, 10) : 1;

		for (uint64_t i = 0; i < count; i++)
			run(first + i);
	}
	fflush(out);
	for (int t = 1; t < THREADS; t++)
		worker_stop(t);
	return 0;
}
