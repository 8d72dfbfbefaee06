/*
 * python_sampler.c - reads the CPU clock of each thread, so a waiting thread costs only one system
 * call.
 *
 * A seccomp filter may end the process for an unexpected system call, so hotpin tries none under a
 * filter.
 */
#define _GNU_SOURCE
#include "trace/python/python_sampler.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/options.h"
#include "trace/calls/capture_range.h"
#include "trace/python/interpreter.h"
#include "trace/python/python_places.h"
#include "trace/samples/tasks.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LEAST_NS 200000u /* least CPU time that is worth a look */
#define GONE     UINT64_MAX

/* Under the lock trace.  The first row is for all places without room. */
static struct python_sample *samples;
static size_t count;

/* Used only by the thread that looks. */
static bool is_refused;
static struct {
	pid_t tid;
	uint64_t cpu_ns;             /* at the latest look */
} watched[INTERPRETER_THREADS_MOST]; /* by slot */

static uint64_t cpu_ns_of(pid_t tid)
{
	struct timespec used;

	if (clock_gettime(tasks_clock(tid), &used) < 0)
		return GONE;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* Returns the row of a place, with the lock. */
static struct python_sample *sample_of(const uint32_t *place, size_t depth)
{
	for (size_t i = 1; i < count; i++)
		if (samples[i].python_depth == depth &&
		    memcmp(samples[i].python, place, depth * sizeof(*place)) == 0)
			return &samples[i];
	if (depth == 0 || count == PYTHON_SAMPLER_MOST)
		return &samples[0];
	memcpy(samples[count].python, place, depth * sizeof(*place));
	samples[count].python_depth = depth;
	return &samples[count++];
}

static void add(const struct interpreter_thread *thread, uint64_t cpu_ns)
{
	uint32_t place[FRAMES_PYTHON_MOST];
	size_t depth = python_places_of(thread, place);

	if (!capture_range_is_open(hp_now_ns()))
		return;
	hp_lock(HP_LOCK_trace);
	struct python_sample *sample = sample_of(place, depth);
	sample->samples++;
	sample->cpu_ns += cpu_ns;
	hp_unlock(HP_LOCK_trace);
}

static void look_at(size_t slot, const struct interpreter_thread *thread)
{
	uint64_t now = cpu_ns_of(thread->tid);

	if (now == GONE) {
		watched[slot].tid = 0;
		interpreter_ended(slot, thread->tid);
		return;
	}
	/* The CPU time of a new thread counts from now on. */
	if (watched[slot].tid != thread->tid) {
		watched[slot].tid = thread->tid;
		watched[slot].cpu_ns = now;
	}
	if (now - watched[slot].cpu_ns >= LEAST_NS) {
		add(thread, now - watched[slot].cpu_ns);
		watched[slot].cpu_ns = now;
	}
}

/* Returns true once there is room for samples.  False: nothing is sampled. */
static bool has_room(void)
{
	struct python_sample *made;

	if (samples != NULL || is_refused)
		return samples != NULL;
	is_refused = hp_options->sample == HP_SAMPLE_OFF ||
		     tasks_is_filtered((pid_t)syscall(SYS_gettid)) ||
		     (made = hp_arena_alloc(PYTHON_SAMPLER_MOST * sizeof(*made))) == NULL;
	if (is_refused)
		return false;
	hp_lock(HP_LOCK_trace);
	samples = made;
	count = 1;
	hp_unlock(HP_LOCK_trace);
	return true;
}

bool python_sampler_look(void)
{
	struct interpreter_thread thread;
	bool any = false;

	for (size_t slot = 0; slot < INTERPRETER_THREADS_MOST; slot++)
		if (interpreter_thread(slot, &thread) && has_room()) {
			look_at(slot, &thread);
			any = true;
		}
	return any;
}

bool python_sampler_read(size_t index, struct python_sample *ret)
{
	return hp_locked(HP_LOCK_trace, index < count && (*ret = samples[index], true));
}
