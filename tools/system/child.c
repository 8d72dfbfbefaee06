/*
 * child.c - runs a function in a child process, with limits if its input is a stranger's.
 */
#include "system/child.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CPU_SECONDS_MOST 20
#define ALL_SECONDS_MOST 120 /* of waiting for children */

/* Returns the time that children may still take; 0: none. */
static unsigned seconds_left(void)
{
	static time_t end;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (end == 0)
		end = now.tv_sec + ALL_SECONDS_MOST;
	return now.tv_sec < end ? (unsigned)(end - now.tv_sec) : 0;
}

/* Returns the bytes of address space that the process has. */
static rlim_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (file != NULL && fscanf(file, "%lu", &pages) != 1)
		pages = 0;
	if (file != NULL)
		fclose(file);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void limit(unsigned mib_most, unsigned seconds)
{
	const struct {
		__rlimit_resource_t what;
		rlim_t most;
	} limits[] = {
		{ RLIMIT_CPU, CPU_SECONDS_MOST },
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_AS, address_space() + ((rlim_t)mib_most << 20) },
	};
	sigset_t alarms;
	/* Error messages concern files that the user did not name. */
	int nowhere = open("/dev/null", O_RDWR);

	if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
		_exit(1);
	for (size_t i = 0; i < HP_LEN(limits); i++)
		setrlimit(limits[i].what, &(struct rlimit){ limits[i].most, limits[i].most });
	/* A child that waits uses no CPU time. */
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(seconds);
}

bool child_start(struct child *ret, unsigned mib_most, void (*body)(void *arg), void *arg)
{
	unsigned seconds = mib_most > 0 ? seconds_left() : 0;
	int ends[2];

	*ret = (struct child){ .answers = NULL };
	if ((mib_most > 0 && seconds == 0) || pipe2(ends, O_CLOEXEC) < 0)
		return false;
	fflush(NULL);
	ret->pid = fork();
	if (ret->pid == 0) {
		if (dup2(ends[1], STDOUT_FILENO) < 0)
			_exit(1);
		if (mib_most > 0)
			limit(mib_most, seconds);
		body(arg);
		fflush(stdout);
		_exit(0);
	}
	close(ends[1]);
	ret->answers = ret->pid > 0 ? fdopen(ends[0], "r") : NULL;
	if (ret->answers == NULL)
		close(ends[0]);
	return ret->answers != NULL;
}

int child_end(struct child *child)
{
	int status = -1;

	if (child->answers != NULL)
		fclose(child->answers);
	while (child->pid > 0 && waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
