/*
 * start.c - the constructor: reads options and stores pointers; with a profile, starts sampling.
 *
 * The constructor runs in every process that inherits LD_PRELOAD.
 */
#define _GNU_SOURCE
#include "shim/load/start.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "engine/gate.h"
#include "engine/state.h"
#include "shim/libc/first.h"
#include "shim/libc/large.h"
#include "shim/load/environment.h"
#include "shim/load/exit.h"
#include "shim/load/fork.h"
#include "shim/load/program.h"
#include "trace/out/process.h"
#include "trace/trace.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

uint64_t shim_began_ns;
static _Atomic bool started;

static bool wanted_here(void)
{
	if (!hp_options->enable)
		return false;
	return hp_options->only[0] == '\0' ||
	       fnmatch(hp_options->only, program_invocation_short_name, 0) == 0;
}

static void open_log(void)
{
	char path[HP_TEXT_MAX];
	struct process process;
	int error = -ENAMETOOLONG;

	/* Most processes take this way, which looks nothing up. */
	if (hp_options->log_file[0] == '\0') {
		hp_log_open(NULL);
		return;
	}
	process_read(&process);
	if (process_expand(&process, hp_options->log_file, path, sizeof(path)) == 0)
		error = hp_log_open(path);
	if (error == 0)
		return;
	hp_log_open(NULL);
	errno = -error;
	hp_warn("HOTPIN_LOG_FILE: cannot open '%s' (%m), so messages go to stderr; name a file "
		"that can be written",
		hp_options->log_file);
}

/*
 * The first stage of a port uses no device, and has a profile too.  This handler is registered
 * before the program's, so it runs after them and after destructors, which do not know the status.
 */
static void report_without_device(int status, void *unused)
{
	(void)unused;
	if (atomic_load(&state_device_found) || !trace_begun())
		return;
	trace_exits_with(status);
	exit_report();
}

/* The loader has finished: a thread may start. */
static void start_profile(void)
{
	if (!atomic_load(&state_active))
		return;
	trace_begin(shim_began_ns, exit_with_program);
	if (!trace_begun())
		return;
	exit_prepare();
	on_exit(report_without_device, NULL);
}

static void start_here(void)
{
	if (!shim_watch_forks()) {
		hp_warn("cannot register handlers of fork(), so every call is passed through");
		return;
	}
	atomic_store(&state_active, true);
	atomic_store(&state_process, getpid());
	bool uses_cuda = program_uses_cuda();
	shim_large_start();
	if (uses_cuda)
		shim_large_with_device();
}

void shim_start(void)
{
	int saved = errno;

	if (atomic_exchange(&started, true))
		return;
	shim_began_ns = hp_now_ns();
	hp_options_load(environment_of_options());
	open_log();
	if (wanted_here())
		start_here();
	errno = saved;
}

__attribute__((constructor)) static void on_load(void)
{
	shim_start();
	/* _exit() may be called from a signal handler, where nothing can be looked up. */
	shim_libc_find();
	start_profile();
}
