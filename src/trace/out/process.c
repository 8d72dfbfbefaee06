/*
 * process.c - reads facts about the process when the profile begins.
 */
#define _GNU_SOURCE
#include "trace/out/process.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/procfile.h"
#include "base/rank.h"
#include "base/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/*
 * Hashes all arguments except the first, with their final NULs, by FNV-1a.  The hash is cut to 16
 * bits: from 64 bits, a reader of the profile could compute a short secret.
 */
static void hash_arguments(struct process *process)
{
	int fd = open("/proc/thread-self/cmdline", O_RDONLY | O_CLOEXEC);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	bool in_first = true;
	char bytes[4096];
	ssize_t count;

	if (fd < 0)
		return;
	while ((count = read(fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < count; i++) {
			if (!in_first)
				hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
			in_first = in_first && bytes[i] != '\0';
		}
	}
	close(fd);
	if (count == 0)
		snprintf(process->arguments, sizeof(process->arguments), "%04x",
			 (unsigned)(hash >> 48));
}

/* Returns how long the first thread has waited for a CPU; UINT64_MAX: the kernel does not say. */
static uint64_t cpu_waits(void)
{
	char text[96];

	if (!hp_procfile_read(text, sizeof(text),
			      (const char *const[]){ "/proc/self/schedstat", NULL }))
		return UINT64_MAX;
	/*
	 * "ran waited turns", in ns: "0 0 0" if the kernel counts none of them.  A new process has
	 * run for 0 ns.
	 */
	const char *blank = strchr(text, ' ');
	return blank != NULL && strncmp(text, "0 0 0", 5) != 0 ? hp_procfile_number(blank + 1)
							       : UINT64_MAX;
}

/*
 * tools/cmd/run.c sets the variable to its own process number.  The program keeps this number; its
 * children have others.
 */
enum process_start process_start(void)
{
	hp_count_t run;

	if (!hp_parse_short(getenv("_HOTPIN_RUN"), &run))
		return PROCESS_PRELOADED;
	return run == (hp_count_t)getpid() ? PROCESS_HOTPIN_RUN : PROCESS_DESCENDANT;
}

bool process_had_children(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_CHILDREN, &usage) == 0 && usage.ru_maxrss > 0;
}

static void look_at_run(struct process *process)
{
	const char *text = getenv("_HOTPIN_BEGAN");
	hp_count_t began;

	if (text != NULL && hp_parse_count(text, "", &began) == 0)
		process->run_began_ns = began;
}

static void count_cpus(struct process *process)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		process->cpus = (unsigned)CPU_COUNT(&set);
}

/*
 * Writes the time as UTC, by Howard Hinnant's published conversion of days to dates.  localtime_r()
 * may read a file, and take the program's locks and memory.
 */
static void tell_time(char *ret, size_t room)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	unsigned long days = (unsigned long)now.tv_sec / 86400;
	unsigned left = (unsigned)((unsigned long)now.tv_sec % 86400);
	unsigned long shifted = days + 719468, era = shifted / 146097;
	unsigned of_era = (unsigned)(shifted % 146097);
	unsigned of_400 = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	unsigned of_year = of_era - (365 * of_400 + of_400 / 4 - of_400 / 100);
	unsigned shifted_month = (5 * of_year + 2) / 153;
	unsigned day = of_year - (153 * shifted_month + 2) / 5 + 1;
	unsigned month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
	unsigned year = (unsigned)era * 400 + of_400 + (month <= 2);

	snprintf(ret, room, "%04u%02u%02u-%02u%02u%02u", year % 10000, month % 100, day % 100,
		 left / 3600 % 100, left / 60 % 60, left % 60);
}

/* Reads the settings of the user's terminal before the program can change its environment. */
static void look_at_terminal(struct process *process)
{
	const char *columns = getenv("COLUMNS");

	if (columns != NULL && strlen(columns) < sizeof(process->columns))
		memcpy(process->columns, columns, strlen(columns) + 1);
	process->utf8 = terminal_is_utf8(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"));
}

void process_read(struct process *ret)
{
	struct utsname names;

	memset(ret, 0, sizeof(*ret));
	ret->pid = (long)getpid();
	if (uname(&names) == 0)
		snprintf(ret->host, sizeof(ret->host), "%.64s", names.nodename);
	snprintf(ret->program, sizeof(ret->program), "%.63s", program_invocation_short_name);
	tell_time(ret->time, sizeof(ret->time));
	ret->cpu_waits_before_ns = cpu_waits();
	process_mark_end(ret);
	ret->ranks = hp_rank_find(ret->rank);
	hash_arguments(ret);
	count_cpus(ret);
	look_at_terminal(ret);
	look_at_run(ret);
	ret->awaited = getenv("_HOTPIN_AWAITS") != NULL;
}

void process_mark_end(struct process *process)
{
	struct timespec now;

	uint64_t waits_ns = cpu_waits();

	tell_time(process->ended, sizeof(process->ended));
	process->cpu_wait_ns = waits_ns == UINT64_MAX || waits_ns < process->cpu_waits_before_ns
				       ? UINT64_MAX
				       : waits_ns - process->cpu_waits_before_ns;
	clock_gettime(CLOCK_REALTIME, &now);
	process->unix_offset_ns =
		(uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - hp_now_ns();
}

int process_expand(const struct process *process, const char *pattern, char *ret, size_t room)
{
	const struct hp_path_facts facts = {
		.pid = process->pid,
		.host = process->host,
		.time = process->time,
		.rank = process->rank,
	};

	return hp_path_expand(pattern, &facts, ret, room);
}
