/*
 * doctor.c - `hotpin doctor`: checks what works on this machine and in a program, and explains what
 * does not.
 *
 * Users run it when something is broken.  So it must survive a driver that crashes or hangs and a
 * damaged program file, and must not judge anything that it could not check.
 */
#include "cmd/doctor.h"
#include "cmd/commands.h"
#include "system/messages.h"
#include "show/layout.h"
#include "launch/library.h"
#include "launch/writable.h"
#include "base/options.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_COLUMN 22 /* column of a finding's text, after its verdict and its subject */

static const char *const words[] = { "ok", "limits", "no" };
static enum verdict worst;
static bool no_device;

/* Scripts get one finding a line; a terminal gets long ones wrapped. */
static void print_finding(const char *line)
{
	char *clean = hotpin_clean(line);

	if (clean != NULL && isatty(STDOUT_FILENO))
		layout_say(TEXT_COLUMN, "%s", clean);
	else if (clean != NULL)
		puts(clean);
	fflush(stdout);
	free(clean);
}

void doctor_find(enum verdict verdict, const char *what, const char *format, ...)
{
	char line[4096];
	va_list args;
	int head = snprintf(line, sizeof(line), "%-7s %-13s ", words[verdict], what);

	if (verdict > worst)
		worst = verdict;
	va_start(args, format);
	vsnprintf(line + head, sizeof(line) - (size_t)head, format, args);
	va_end(args);
	print_finding(line);
}

void doctor_uses_no_device(void)
{
	no_device = true;
}

const char *doctor_path(const char *path)
{
	static char full[PATH_MAX];
	const char *root = getenv("_HOTPIN_ROOT");

	if (root == NULL)
		return path;
	snprintf(full, sizeof(full), "%s%s", root, path);
	return full;
}

/* Passes the child's complete lines on.  False if the child is silent for too long. */
static bool relay(int fd, unsigned seconds)
{
	struct pollfd source = { .fd = fd, .events = POLLIN };
	char line[4096];
	size_t used = 0;

	for (;;) {
		int ready = poll(&source, 1, (int)seconds * 1000);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return false;

		ssize_t bytes = read(fd, line + used, sizeof(line) - 1 - used);
		if (bytes <= 0)
			return true;
		used += (size_t)bytes;
		line[used] = '\0';

		char *start = line, *end;
		while ((end = strchr(start, '\n')) != NULL) {
			*end = '\0';
			print_finding(start);
			for (enum verdict verdict = WORKS; verdict <= FAILS; verdict++)
				if (strncmp(start, words[verdict], strlen(words[verdict])) == 0 &&
				    verdict > worst)
					worst = verdict;
			start = end + 1;
		}
		used = strlen(start);
		memmove(line, start, used);
		if (used == sizeof(line) - 1)
			used = 0; /* no finding is that long */
	}
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

/*
 * Calls `look` in a child process, because `look` may crash or hang.  A crash, or no line for
 * `seconds`, is a finding under `what`.  The child's findings count as ours.
 */
static void find_apart(const char *what, unsigned seconds, void (*look)(void))
{
	int ends[2], status;

	fflush(stdout);
	if (pipe(ends) < 0) {
		doctor_find(LIMITS, what, "not checked: cannot make a pipe (%m)");
		return;
	}
	pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		look();
		fflush(stdout);
		_exit(0);
	}
	if (child < 0)
		doctor_find(LIMITS, what, "not checked: cannot start a process (%m)");
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return;
	}
	if (relay(ends[0], seconds)) {
		if (waitpid(child, &status, 0) == child)
			judge_end(what, status);
	} else {
		doctor_find(FAILS, what, "hangs when checked: no answer for %u s", seconds);
		/* A process blocked inside the kernel may never end, so it is not waited for. */
		kill(child, SIGKILL);
	}
	close(ends[0]);
}

static bool is_option(const char *entry)
{
	return strncmp(entry, "HOTPIN=", 7) == 0 || strncmp(entry, "HOTPIN_", 7) == 0;
}

/*
 * Restarts hotpin with the library preloaded, as `hotpin run` would.  The user's options are
 * removed because look_for_bad_options() judges them.
 */
static void load_into_ourselves(const char *library)
{
	static char *const look[] = { (char *)"hotpin", (char *)"doctor", (char *)"--loaded",
				      NULL };
	char name[64];

	for (char **at = environ; *at != NULL;) {
		size_t length = strcspn(*at, "=");

		/* unsetenv() does not remove an entry without "=". */
		if (is_option(*at) && (*at)[length] == '=' && length < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)length, *at);
			unsetenv(name);
			at = environ;
		} else {
			at++;
		}
	}
	setenv("LD_PRELOAD", library, 1);
	dup2(STDOUT_FILENO, STDERR_FILENO);
	execv("/proc/self/exe", look);
	_exit(127);
}

/* `hotpin doctor --loaded`: returns 0 if the loader has loaded the first library of LD_PRELOAD. */
static int say_loaded(void)
{
	const char *library = getenv("LD_PRELOAD");

	return library != NULL && dlopen(library, RTLD_LAZY | RTLD_NOLOAD) != NULL ? 0 : 1;
}

static void look_at_library(void)
{
	char path[PATH_MAX], said[512] = "";
	int ends[2], status = -1;

	/* library_find() explains on stderr, in more text than a finding has room for. */
	if (library_find(NULL, path, sizeof(path)) < 0) {
		doctor_find(FAILS, "library", "not usable; see above");
		return;
	}
	if (pipe(ends) < 0) {
		doctor_find(LIMITS, "library", "%s, not checked: cannot make a pipe (%m)", path);
		return;
	}
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		load_into_ourselves(path);
	}
	if (child < 0)
		doctor_find(LIMITS, "library", "%s, not checked: cannot start a process (%m)",
			    path);
	close(ends[1]);
	size_t used = 0;
	for (ssize_t bytes; used < sizeof(said) - 1; used += (size_t)bytes) {
		bytes = read(ends[0], said + used, sizeof(said) - 1 - used);
		if (bytes <= 0)
			break;
	}
	close(ends[0]);
	if (child < 0)
		return;
	waitpid(child, &status, 0);
	said[strcspn(said, "\n")] = '\0';
	if (status != 0)
		doctor_find(FAILS, "library", "%s does not load into programs: %s", path,
			    said[0] != '\0'       ? said
			    : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
						  : "the loader gives no reason");
	else
		doctor_find(WORKS, "library", "%s, loads into programs", path);
	if (status == 0 && said[0] != '\0')
		doctor_find(LIMITS, "library", "it says: %s", said);
}

/* Returns the environment without a log level that would hide warnings. */
static char **options_to_judge(void)
{
	static const char log[] = "HOTPIN_LOG=";
	size_t count = 0, used = 0;
	hp_word_t level;

	while (environ[count] != NULL)
		count++;
	char **entries = calloc(count + 1, sizeof(*entries));
	for (size_t i = 0; entries != NULL && i < count; i++)
		if (strncmp(environ[i], log, sizeof(log) - 1) != 0 ||
		    hp_parse_word(environ[i] + sizeof(log) - 1, "error|warn|info|debug", &level) <
			    0)
			entries[used++] = environ[i];
	return entries;
}

/*
 * Reads the options as the library does, and reports its warnings as findings.  They limit but do
 * not fail: a bad option takes its default.
 */
static void look_for_bad_options(void)
{
	char **entries = options_to_judge(), line[1024];
	int ends[2], before = dup(STDERR_FILENO);

	/* Warnings that do not fit into the pipe are dropped. */
	if (entries == NULL || before < 0 || pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) {
		hp_options_load(environ);
		free(entries);
		return;
	}
	dup2(ends[1], STDERR_FILENO);
	hp_options_load(entries);
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
	free(entries);
}

static void look_at_files(void)
{
	int error =
		hp_options->out[0] != '\0' ? writable_try(hp_options->out, WRITABLE_REPLACE) : 0;

	if (error < 0)
		doctor_find(
			LIMITS, "options",
			"HOTPIN_OUT=%s cannot be written (%s), so `hotpin run` starts no program; "
			"name another file",
			hp_options->out, strerror(-error));
	error = hp_options->log_file[0] != '\0'
			? writable_try(hp_options->log_file, WRITABLE_APPEND)
			: 0;
	if (error < 0)
		doctor_find(
			LIMITS, "options",
			"HOTPIN_LOG_FILE=%s cannot be written (%s), so messages go to stderr; name "
			"another file",
			hp_options->log_file, strerror(-error));
}

static void look_at_options(void)
{
	look_for_bad_options();
	look_at_files();
	if (!hp_options->enable)
		doctor_find(FAILS, "options", "HOTPIN=0 is set, so hotpin does nothing; unset it");
	else if (!hp_options->pin)
		doctor_find(LIMITS, "options",
			    "HOTPIN_PIN=0 is set, so no buffer is pinned; unset it");
	else if (hp_options->heap_min == 0)
		doctor_find(LIMITS, "options",
			    "HOTPIN_HEAP_MIN=0 is set, so no buffer can be pinned; unset it");
	if (hp_options->only[0] != '\0')
		doctor_find(LIMITS, "options",
			    "HOTPIN_ONLY=%s is set, so hotpin does nothing in other programs",
			    hp_options->only);
}

int hotpin_doctor(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "loaded", no_argument, NULL, 'l' }, /* internal, for load_into_ourselves() */
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "+h", longs, NULL)) != -1)
		return option == 'l'   ? say_loaded()
		       : option == 'h' ? hotpin_help("doctor")
				       : hotpin_misused("doctor");
	if (argc - optind > 1) {
		hotpin_say("more than one program; name one, without its arguments");
		return hotpin_misused("doctor");
	}

	layout_start(NULL);
	look_at_library();
	look_at_options();
	find_apart("driver", 5, doctor_driver);
	find_apart("cupti", 5, doctor_cupti);
	doctor_machine();
	find_apart("seccomp", 5, doctor_calls);
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
			puts("A program that uses no device needs no driver; `hotpin run -o FILE` "
			     "profiles it.");
		return 1;
	}
}
