/*
 * play.c - plays the events that test_scripts.py has read from a script, and prints the profile.
 *
 *	play [OPTION=VALUE]... < EVENTS
 *
 * The mock CUPTI records what the device does; the trace room is told what the program does, as the
 * shim would tell it.  A line of the input is a verb, a name and the numbers of struct event.  The
 * output is the offset of each place of calls, the table and the JSON, with a form feed between
 * them.
 */
#include "stage.h"
#include "base/parse.h"
#include "check.h"
#include "trace/calls/nvtx_ranges.h"
#include "trace/collect/rewritten.h"
#include "trace/places/modules.h"

#include <pthread.h>

#define NEVER     INT64_C(-1)
#define NAMES_MAX (1 << 22)

struct event {
	char verb[16];
	const char *name;
	int64_t from, to; /* after the begin of the run, or NEVER */
	uint64_t bytes, direction, memory, launch, async, deferred, captured, strange, shaped,
		registered, id, site, in, on, block, gain, route, place;
};

static const uint8_t copy_kinds[] = { [TRACE_H2D] = CUPTI_H2D,
				      [TRACE_D2H] = CUPTI_D2H,
				      [TRACE_D2D] = CUPTI_D2D,
				      [TRACE_H2H] = CUPTI_H2H,
				      [TRACE_P2P] = CUPTI_P2P };

static const uint8_t memory_kinds[] = {
	[TRACE_PAGEABLE] = CUPTI_PAGEABLE, [TRACE_PROMOTED] = CUPTI_PINNED,
	[TRACE_STAGED] = CUPTI_PINNED,     [TRACE_PINNED] = CUPTI_PINNED,
	[TRACE_DEVICE] = CUPTI_DEVICE,     [TRACE_UNKNOWN] = CUPTI_MEMORY_UNKNOWN
};

/* Functions of the driver, with CUPTI's number of those whose calls it records. */
static const struct {
	const char *name;
	uint32_t number;
} functions[] = { { "cuInit", 0 },           { "cuMemAlloc_v2", 0 },
		  { "cuCtxGetCurrent", 0 },  { "cuMemcpyHtoD_v2", 276 },
		  { "cuLaunchKernel", 307 }, { "cuStreamSynchronize", 0 } };
#define WAIT (HP_LEN(functions) - 1)

static char host_memory[8 << 20];
static uint64_t range, staging; /* the latest that began */

static const char *function_name(size_t function)
{
	return functions[function].name;
}

static bool may_wait(size_t function)
{
	return strcmp(functions[function].name, "cuCtxGetCurrent") != 0;
}

static size_t function_of(const struct event *event)
{
	for (size_t i = 0; i < HP_LEN(functions); i++)
		if (strcmp(functions[i].name, event->name) == 0)
			return i;
	abort();
}

static uint64_t time_of(int64_t after)
{
	return after == NEVER ? 0 : stage_base + (uint64_t)after;
}

/* Imitates an exported function. */
__attribute__((noinline)) static void exported(const struct event *event)
{
	uint64_t from = time_of(event->from), to = time_of(event->to);

	if (strcmp(event->verb, "holds") == 0)
		trace_program_pinned(host_memory + event->in, event->bytes, event->registered, from,
				     to, __builtin_frame_address(0));
	else if (strcmp(event->verb, "calls") == 0)
		trace_called(function_of(event), from, to, __builtin_frame_address(0));
	else
		trace_copied(
			&(struct trace_copy){ .direction = (enum trace_direction)event->direction,
					      .memory = (enum trace_memory)event->memory,
					      .synchronous = !event->async,
					      .deferred = event->deferred,
					      .in_graph = event->captured,
					      .route = (uint8_t)event->route,
					      .bytes = event->bytes,
					      .enter_ns = from,
					      .leave_ns = to,
					      .linear = !event->shaped,
					      .device = event->on,
					      .host = host_memory + event->in,
					      .allocator = (uint32_t)event->site,
					      .block_bytes = event->block,
					      .gain_ns = event->gain,
					      .frame = __builtin_frame_address(0) });
	__asm__ volatile("");
}

#define PLACE(letter)                                                                   \
	__attribute__((noinline)) static void place_##letter(const struct event *event) \
	{                                                                               \
		exported(event);                                                        \
		__asm__ volatile("# " #letter);                                         \
	}
PLACE(A)
PLACE(B)
PLACE(C)
PLACE(D)
#undef PLACE
static void (*const places[])(const struct event *event) = { place_A, place_B, place_C, place_D };

static void act(const struct event *event)
{
	uint64_t from = time_of(event->from), to = time_of(event->to), took = to - from;
	uint8_t host = memory_kinds[event->memory];
	const char *verb = event->verb;

#define IS(word) (strcmp(verb, word) == 0)
	mock_cupti.correlation = (uint32_t)event->id;
	if (IS("copy"))
		mock_copy(event->direction == TRACE_P2P ? CUPTI_MEMCPY2 : CUPTI_MEMCPY,
			  copy_kinds[event->direction],
			  event->direction == TRACE_D2H ? CUPTI_DEVICE : host,
			  event->direction == TRACE_H2D ? CUPTI_DEVICE : host, event->bytes, from,
			  to);
	else if (IS("kernel"))
		mock_kernel(event->name, (uint32_t)event->on, from, to);
	else if (IS("memset"))
		mock_memset(event->bytes, from, to);
	else if (IS("call"))
		mock_call(functions[function_of(event)].number,
			  trace_thread() + 64 * (uint32_t)event->strange, (uint32_t)event->id, from,
			  to);
	else if (IS("reads"))
		mock_read();
	else if (IS("drops"))
		mock_cupti.dropped = event->bytes;
	else if (IS("jumps"))
		mock_cupti.clock_offset += (int64_t)took;
	else if (IS("stops"))
		mock_cupti.silent = true;
	else if (IS("copies") || IS("calls") || IS("holds"))
		places[event->place](event);
	else if (IS("frees"))
		trace_program_unpinned(host_memory + event->in, from, to);
	else if (IS("writes"))
		host_memory[event->in]++;
	else if (IS("waits"))
		trace_called(WAIT, from, to, __builtin_frame_address(0));
	else if (IS("joins"))
		trace_joined(from, to);
	else if (IS("starts"))
		trace_starting(from, to);
	else if (IS("launches"))
		trace_launched((enum trace_launch)event->launch);
	else if (IS("pins") || IS("unpins"))
		trace_pinned((uint32_t)event->site, IS("pins"), event->bytes, took);
	else if (IS("captures") || IS("uncaptures"))
		trace_captures(IS("captures"));
	else if (IS("profiles") || IS("unprofiles"))
		trace_profiler(IS("profiles"));
	else if (IS("enters"))
		range = nvtx_ranges_begin("", event->name, from);
	else if (IS("leaves"))
		nvtx_ranges_end(range, from);
	else if (IS("stages"))
		staging =
			rewritten_begin((enum trace_direction)event->direction, event->bytes, from);
	else if (IS("unstages"))
		rewritten_end(staging, event->bytes, from);
	else if (IS("sleeps"))
		stage_pass(took);
	else
		abort();
#undef IS
}

/* Reads the next event; false at the end. */
static bool next_event(struct event *ret)
{
	static char line[8192], names[NAMES_MAX], *next_name = names; /* CUPTI keeps names */
	uint64_t *number = &ret->bytes;
	char *rest = line;

	if (fgets(line, sizeof(line), stdin) == NULL)
		return false;
	snprintf(ret->verb, sizeof(ret->verb), "%s", strtok_r(rest, " \n", &rest));
	const char *name = strtok_r(rest, " \n", &rest);
	ret->name = next_name;
	next_name += snprintf(next_name, 4096, "%s", name != NULL ? name : "") + 1;
	ret->from = strtoll(rest, &rest, 10);
	ret->to = strtoll(rest, &rest, 10);
	while (number <= &ret->place)
		*number++ = strtoull(rest, &rest, 10);
	return true;
}

static void *play(void *unused)
{
	struct event event;
	pthread_t thread;

	while (next_event(&event) && strcmp(event.verb, "end") != 0) {
		if (strcmp(event.verb, "thread") == 0) {
			pthread_create(&thread, NULL, play, NULL);
			pthread_join(thread, NULL);
		} else {
			act(&event);
		}
	}
	return unused;
}

int main(int argc, char **argv)
{
	char folder[256];

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "CUPTI_THREADS=other") == 0)
			mock_cupti.thread_type = 1;
	check_folder_begin(folder);
	stage_clock(true);
	stage_begin_with(true, (const char *const *)argv + 1,
			 &(struct trace_facts){ .driver_version = 13000,
						.began_ns = stage_base,
						.function_name = function_name,
						.may_wait = may_wait,
						.functions = HP_LEN(functions) });
	play(NULL);
	for (size_t i = 0; i < HP_LEN(places); i++)
		printf("%llu ", (unsigned long long)modules_find((uintptr_t)places[i]).offset);
	stage_end();
	/* What no client of CUPTI may do. */
	if (mock_cupti.null_buffers + mock_cupti.dirty_buffers + mock_cupti.forbidden_calls +
		    mock_cupti.flushed_without_buffer + mock_cupti.calls_enabled !=
	    0)
		abort();
	printf("\f%s\f%s", stage_text, stage_json);
	check_folder_end(folder);
	return 0;
}
