/*
 * doctor.c - `hotpin doctor`: checks what works on this machine and in a program, and explains what
 * does not.
 *
 * Users run it when something is broken.  So it must survive a driver that crashes or hangs and a
 * damaged program file, and must not judge anything that it could not check.
 */
#include "cmd/doctor.h"
#include "cmd/commands.h"
#include "cmd/flags.h"
#include "launch/library.h"
#include "launch/writable.h"
#include "profile/texts.h"
#include "show/layout.h"
#include "system/child.h"
#include "system/messages.h"
#include "base/options.h"
#include "base/procfile.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S     5             /* seconds without an answer until a check hangs */
#define TEXT_COLUMN    22            /* column of a finding's text, after verdict and subject */
#define HEAP_MIN_USUAL (256UL << 10) /* the largest that `auto` takes */

static const char *const words[] = { "ok", "limits", "no" };
static enum verdict worst;
static bool no_device;

/* Scripts get one finding a line; a terminal gets long ones wrapped. */
static void print_finding(const char *line)
{
	const char *clean = text_name(line, SIZE_MAX);

	if (isatty(STDOUT_FILENO))
		layout_say(TEXT_COLUMN, "%s", clean);
	else
		puts(clean);
	fflush(stdout);
}

void doctor_find(enum verdict verdict, const char *what, const char *format, ...)
{
	va_list args;

	if (verdict > worst)
		worst = verdict;
	va_start(args, format);
	print_finding(text_made("%-7s %-13s %s", words[verdict], what, text_of(format, args)));
	va_end(args);
}

void doctor_uses_no_device(void)
{
	no_device = true;
}

bool doctor_read(const char *path, char *ret, size_t room)
{
	const char *root = getenv("_HOTPIN_ROOT");
	const char *const pieces[] = { root != NULL ? root : "", path, NULL };

	return hp_procfile_read(ret, room, pieces);
}

uint64_t doctor_field(const char *path, const char *name)
{
	char text[1 << 14];
	const char *value =
		doctor_read(path, text, sizeof(text)) ? hp_procfile_field(text, name) : NULL;

	return value != NULL ? hp_procfile_number(value) : 0;
}

/* Takes the finding that a child has printed. */
static void adopt(const char *line)
{
	print_finding(line);
	for (enum verdict verdict = worst + 1; verdict <= FAILS; verdict++)
		if (strncmp(line, words[verdict], strlen(words[verdict])) == 0)
			worst = verdict;
}

/* Passes the child's complete lines on.  False if the child is silent for too long. */
static bool relay(int fd)
{
	struct pollfd source = { .fd = fd, .events = POLLIN };
	char text[1 << 16], *rest = text, *line;
	size_t used = 0;
	ssize_t bytes;

	do {
		bytes = poll(&source, 1, PATIENCE_S * 1000) > 0
				? read(fd, text + used, sizeof(text) - 1 - used)
				: -1;
		used += bytes > 0 ? (size_t)bytes : 0;
	} while (bytes > 0);
	text[used] = '\0';
	while ((line = strsep(&rest, "\n")) != NULL && rest != NULL)
		adopt(line);
	return bytes == 0;
}

static void judge_end(const char *what, int status)
{
	if (WIFSIGNALED(status))
		doctor_find(FAILS, what, "crashes when checked: signal %d (%s)", WTERMSIG(status),
			    strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		doctor_find(FAILS, what, "ends the process when checked, with status %d",
			    WEXITSTATUS(status));
}

static void call(void *arg)
{
	void (*const *look)(void) = arg;

	(*look)();
}

/*
 * Calls `look` in a child process, because `look` may crash or hang.  A crash, or no line for
 * PATIENCE_S, is a finding under `what`.  The child's findings count as ours.
 */
static void find_apart(const char *what, void (*look)(void))
{
	struct child child;

	if (!child_start(&child, 0, call, &look)) {
		doctor_find(LIMITS, what, "not checked: cannot start a process (%m)");
	} else if (relay(fileno(child.answers))) {
		judge_end(what, child_end(&child));
	} else {
		doctor_find(FAILS, what, "hangs when checked: no answer for %d s", PATIENCE_S);
		/* A process blocked inside the kernel may never end, so it is not waited for. */
		kill(child.pid, SIGKILL);
		fclose(child.answers);
	}
}

/* Called in a child.  The library must take no options there: look_for_bad_options() judges them.
 */
static void look_at_library(void)
{
	char path[PATH_MAX];

	/* library_find() explains on stderr, in more text than a finding has room for. */
	if (library_find(NULL, path, sizeof(path)) < 0) {
		doctor_find(FAILS, "library", "not usable; see above");
		return;
	}
	/* It reads the words that the kernel has placed, and not what setenv() makes of them. */
	for (char **at = environ; *at != NULL; at++)
		if (strncmp(*at, "HOTPIN", 6) == 0)
			(*at)[0] = '_';
	if (dlopen(path, RTLD_NOW) != NULL)
		doctor_find(WORKS, "library", "%s, loads into programs", path);
	else
		doctor_find(FAILS, "library", "%s does not load into programs: %s", path,
			    dlerror());
}

/*
 * Reads the options as the library does, and reports its warnings as findings.  They limit but do
 * not fail: a bad option takes its default.
 */
static void look_for_bad_options(void)
{
	const char *level = getenv("HOTPIN_LOG");
	int ends[2], before = dup(STDERR_FILENO);
	char line[1024];
	hp_word_t word;

	/* A log level may hide warnings. */
	if (level != NULL && hp_parse_word(level, "error|warn|info|debug", &word) == 0)
		unsetenv("HOTPIN_LOG");
	/* Warnings that do not fit into the pipe are dropped. */
	if (before < 0 || pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) {
		hp_options_load(environ);
		return;
	}
	dup2(ends[1], STDERR_FILENO);
	hp_options_load(environ);
	dup2(before, STDERR_FILENO);
	close(before);
	close(ends[1]);
	FILE *said = fdopen(ends[0], "r");
	while (said != NULL && fgets(line, sizeof(line), said) != NULL) {
		const char *colon = strstr(line, ": ");

		line[strcspn(line, "\n")] = '\0';
		doctor_find(LIMITS, "options", "%s", colon != NULL ? colon + 2 : line);
	}
	if (said != NULL)
		fclose(said);
}

static void look_at_options(void)
{
	const struct {
		bool hampers;
		const char *name, *loss;
	} settings[] = {
		{ !hp_options->pin, "HOTPIN_PIN", "no buffer is pinned" },
		{ hp_options->heap_min == 0, "HOTPIN_HEAP_MIN", "no buffer is pinned" },
		{ hp_options->heap_min > HEAP_MIN_USUAL && hp_options->heap_min != HP_AUTO,
		  "HOTPIN_HEAP_MIN", "no smaller buffer is pinned" },
		{ hp_options->pin_budget == 0, "HOTPIN_PIN_BUDGET", "nothing is pinned" },
		{ hp_options->pin_budget > 0 && hp_options->pin_budget / 4 < hp_options->ring,
		  "HOTPIN_PIN_BUDGET",
		  "few buffers are pinned, and large copies of other memory are slower" },
		{ hp_options->ring == 0, "HOTPIN_RING",
		  "large copies of memory that is not pinned stay slow" },
		{ hp_options->threads == 0, "HOTPIN_THREADS",
		  "large copies of memory that is not pinned are slower" },
		{ !hp_options->async, "HOTPIN_ASYNC",
		  "synchronous uploads wait for their transfers" },
		{ hp_options->route != 0, "HOTPIN_ROUTE", "copies do not take the best route" },
		{ hp_options->cupti == HP_CUPTI_OFF, "HOTPIN_CUPTI",
		  "profiles have no device times" },
		{ hp_options->sample == HP_SAMPLE_OFF, "HOTPIN_SAMPLE",
		  "profiles do not say which host code takes time" },
	};
	int error = hp_options->out[0] != '\0' ? writable_try(hp_options->out) : 0;

	if (error < 0)
		doctor_find(LIMITS, "options",
			    "HOTPIN_OUT=%s cannot be written (%s), so `hotpin run` starts no "
			    "program; name another file",
			    hp_options->out, strerror(-error));
	if (!hp_options->enable)
		doctor_find(FAILS, "options", "HOTPIN=0 is set, so hotpin does nothing; unset it");
	for (size_t i = 0; i < HP_LEN(settings) && hp_options->enable; i++)
		if (settings[i].hampers)
			doctor_find(LIMITS, "options", "%s=%s is set, so %s; unset it",
				    settings[i].name, getenv(settings[i].name), settings[i].loss);
	if (hp_options->only[0] != '\0')
		doctor_find(LIMITS, "options",
			    "HOTPIN_ONLY=%s is set, so hotpin does nothing in other programs",
			    hp_options->only);
}

int hotpin_doctor(int argc, char **argv)
{
	static const struct flag none = { 0 };
	int status = flags_read(argc, argv, &none, FLAGS_PROGRAM);

	if (status >= 0)
		return status;
	if (argc - optind > 1)
		return hotpin_misused("doctor",
				      "more than one program; name one, without its arguments");

	layout_start();
	find_apart("library", look_at_library);
	look_for_bad_options();
	look_at_options();
	find_apart("driver", doctor_driver);
	if (hp_options->cupti != HP_CUPTI_OFF)
		find_apart("cupti", doctor_cupti);
	doctor_machine();
	if (optind < argc)
		doctor_program(argv[optind]);
	switch (worst) {
	case WORKS:
		puts("hotpin can work here.");
		return 0;
	case LIMITS:
		puts("hotpin can work here, within the limits above.");
		return 0;
	default:
		puts("hotpin cannot work here: see each \"no\" above.");
		if (no_device)
			print_finding("A program that uses no device needs no driver; `hotpin run "
				      "-o FILE` profiles it.");
		return 1;
	}
}
