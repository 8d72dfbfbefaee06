/*
 * python_main.c - reads frames twice, since they may change during a reading.
 *
 * The kernel reads the memory, so a freed frame causes no fault.  One reading may mix frames of two
 * moments.  Two equal readings in a row count as one moment.
 */
#define _GNU_SOURCE
#include "trace/python_main.h"
#include "base/options.h"
#include "trace/interpreter.h"
#include "trace/python_places.h"
#include "trace/tasks.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 3

/*
 * False under a seccomp filter, which may end the process for such a system call; as in
 * python_sampler.c.
 */
static bool may_look(pid_t tid)
{
	static __thread signed char known __attribute__((tls_model("initial-exec")));

	if (known == 0)
		known = tasks_is_filtered(tid) ? -1 : 1;
	return known > 0 && hp_options->sample != HP_SAMPLE_OFF;
}

size_t python_main_look(uint32_t ret[FRAMES_PYTHON_MOST])
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	struct interpreter_thread main_thread;
	uint32_t again[FRAMES_PYTHON_MOST];

	if (tid == getpid() || !interpreter_main(&main_thread) || !may_look(tid))
		return 0;
	for (int i = 0; i < TRIES; i++) {
		size_t depth = python_places_of(&main_thread, ret);

		if (depth > 0 && python_places_of(&main_thread, again) == depth &&
		    memcmp(ret, again, depth * sizeof(*ret)) == 0)
			return depth;
	}
	return 0;
}
