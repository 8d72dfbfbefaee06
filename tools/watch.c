/*
 * watch.c - `hotpin watch FILE`: shows the report of a running program.
 *
 * The library writes profiles while the program runs: FILE at intervals, and FILE-1, FILE-2 and so
 * on when HOTPIN_DUMP requests one.  The newest one is shown.  A child process makes each report,
 * so that the memory of all reports does not add up.
 */
#include "hotpin.h"
#include "profile.h"
#include "show.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Network file systems do not report writes of other machines to inotify. */
#define LOOK_MS 500

struct watched {
	char folder[PATH_MAX];
	const char *path, *name; /* FILE, and the last part of its path */
	int stem;                /* bytes of the name before ".json" */
	int events;              /* inotify descriptor; -1: not available */
	bool terminal;
};

struct version {
	char path[PATH_MAX + NAME_MAX + 2];
	struct stat status;
};

/* The program as a version of its profile describes it. */
struct program {
	bool ended;
	pid_t pid; /* 0: a process of another machine or container, which kill() cannot find */
};

/* True for FILE, and for names like FILE-12 with the same ending. */
static bool is_version(const struct watched *watched, const char *name)
{
	const char *at = name + watched->stem;

	if (strcmp(name, watched->name) == 0)
		return true;
	if (strncmp(name, watched->name, (size_t)watched->stem) != 0 || *at++ != '-' ||
	    !isdigit((unsigned char)*at))
		return false;
	while (isdigit((unsigned char)*at))
		at++;
	return strcmp(at, watched->name + watched->stem) == 0;
}

/* In a folder like /tmp, another user may place a version. */
static bool is_ours(const struct stat *status)
{
	return S_ISREG(status->st_mode) && (status->st_uid == geteuid() || status->st_uid == 0);
}

static int by_age(const struct stat *a, const struct stat *b)
{
	if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
		return a->st_mtim.tv_sec < b->st_mtim.tv_sec ? -1 : 1;
	return a->st_mtim.tv_nsec < b->st_mtim.tv_nsec ? -1
						       : a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

/* False if there is none.  Of two versions of the same age FILE is newer: it is written last. */
static bool find_youngest(const struct watched *watched, struct version *ret)
{
	DIR *folder = opendir(watched->folder);
	struct dirent *entry;
	bool found = false;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		struct version version;

		if (!is_version(watched, entry->d_name))
			continue;
		snprintf(version.path, sizeof(version.path), "%.*s%s",
			 (int)(watched->name - watched->path), watched->path, entry->d_name);
		/* An empty file has not been written yet. */
		if (stat(version.path, &version.status) < 0 || !is_ours(&version.status) ||
		    version.status.st_size == 0)
			continue;
		int order = found ? by_age(&version.status, &ret->status) : 1;
		if (order > 0 || (order == 0 && strcmp(entry->d_name, watched->name) == 0))
			*ret = version;
		found = true;
	}
	if (folder != NULL)
		closedir(folder);
	return found;
}

static bool is_same(const struct version *a, const struct version *b)
{
	return a->status.st_ino == b->status.st_ino && a->status.st_size == b->status.st_size &&
	       by_age(&a->status, &b->status) == 0;
}

/* False if the file is not a profile, which has been reported. */
static bool read_program(const struct version *version, struct program *ret)
{
	char here[256] = "";
	struct profile profile;

	if (profile_open(version->path, &profile) < 0)
		return false;
	bool is_here = gethostname(here, sizeof(here) - 1) == 0 && profile.process.host != NULL &&
		       strcmp(profile.process.host, here) == 0 && profile.process.pid > 0 &&
		       profile.process.pid < INT_MAX;
	ret->ended = !profile_is_unended(&profile);
	ret->pid = is_here ? (pid_t)profile.process.pid : 0;
	profile_close(&profile);
	return true;
}

static bool is_gone(const struct program *program)
{
	return program->pid > 0 && kill(program->pid, 0) < 0 && errno == ESRCH;
}

/* The child writes to a pipe, so it gets the width of the terminal by COLUMNS. */
static void hand_on_width(void)
{
	struct winsize size;
	char columns[16];

	if (getenv("COLUMNS") != NULL || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 ||
	    size.ws_col == 0)
		return;
	snprintf(columns, sizeof(columns), "%u", size.ws_col);
	setenv("COLUMNS", columns, 1);
}

/* Writes the report to `to`.  False if there is none, which has been reported. */
static bool make_report(const struct version *version, int to)
{
	char path[sizeof(version->path)], *words[] = { "hotpin report", "--", path, NULL };
	int status = 0;

	snprintf(path, sizeof(path), "%s", version->path);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		hand_on_width();
		optind = 0; /* getopt starts over */
		status = dup2(to, STDOUT_FILENO) < 0 ? EXIT_FAILURE : hotpin_report(3, words);
		_exit(fflush(stdout) == 0 ? status : EXIT_FAILURE);
	}
	if (child < 0) {
		hotpin_say("cannot start a process: %m");
		return false;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Returns the number of lines that fit the terminal.  The last table is printed as a whole. */
static int lines_of(bool whole)
{
	struct winsize size;

	if (whole || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row < 2)
		return INT_MAX;
	return size.ws_row - 1;
}

/* A terminal is overwritten line by line, which avoids flicker. */
static void print_table(const struct watched *watched, int from, bool whole)
{
	FILE *table = fdopen(from, "r");
	char *line = NULL;
	size_t room = 0;
	int left = watched->terminal ? lines_of(whole) : INT_MAX;

	if (table == NULL)
		return;
	rewind(table);
	if (watched->terminal)
		fputs("\033[H", stdout);
	for (ssize_t length; left > 0 && (length = getline(&line, &room, table)) >= 0; left--) {
		if (length > 0 && line[length - 1] == '\n')
			line[length - 1] = '\0';
		printf("%s%s\n", line, watched->terminal ? "\033[K" : "");
	}
	puts(watched->terminal ? "\033[J" : "");
	fflush(stdout);
	free(line);
	fclose(table);
}

static bool show(const struct watched *watched, const struct version *version, bool whole)
{
	int table = memfd_create("table", MFD_CLOEXEC);

	if (table < 0) {
		hotpin_say("not enough memory");
		return false;
	}
	if (make_report(version, table)) {
		print_table(watched, table, whole);
		return true;
	}
	close(table);
	return false;
}

/* Waits for a change in the folder, for LOOK_MS at most. */
static void wait_for_news(const struct watched *watched)
{
	struct pollfd news = { .fd = watched->events, .events = POLLIN };
	char events[4096] __attribute__((aligned(8)));

	if (poll(&news, 1, LOOK_MS) > 0 && read(news.fd, events, sizeof(events)) < 0)
		poll(NULL, 0, LOOK_MS);
}

/*
 * Returns the exit status.  A program may write its last profile just before it ends, so the folder
 * is read once more after its end.
 */
static int watch(const struct watched *watched)
{
	struct version shown = { .status = { 0 } }, youngest;
	struct program program = { 0 };
	bool gone = false;

	for (;;) {
		bool found = find_youngest(watched, &youngest);

		if (found && !is_same(&shown, &youngest)) {
			if (!read_program(&youngest, &program) ||
			    !show(watched, &youngest, program.ended))
				return EXIT_FAILURE;
			shown = youngest;
			if (program.ended)
				return 0;
		} else if (gone) {
			hotpin_say(
				"process %d ended without a last profile: it was killed, or called "
				"_exit()",
				(int)program.pid);
			return EXIT_FAILURE;
		} else {
			wait_for_news(watched);
		}
		gone = is_gone(&program);
	}
}

/* False if the file cannot be watched, which has been reported. */
static bool prepare(struct watched *watched, const char *path)
{
	const char *slash = strrchr(path, '/'), *dot;
	struct stat status;

	if (path[0] == '\0' || (stat(path, &status) == 0 && !is_ours(&status))) {
		hotpin_say("%s is not a regular file of your own; name the file of a profile",
			   show_text(path, 200));
		return false;
	}
	watched->path = path;
	watched->name = slash != NULL ? slash + 1 : path;
	dot = strrchr(watched->name, '.');
	watched->stem = (int)(dot != NULL && dot != watched->name ? (size_t)(dot - watched->name)
								  : strlen(watched->name));
	snprintf(watched->folder, sizeof(watched->folder), "%.*s",
		 slash == NULL ? 1 : (int)(slash - path + (slash == path)),
		 slash == NULL ? "." : path);
	watched->terminal = isatty(STDOUT_FILENO);
	watched->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watched->events >= 0)
		inotify_add_watch(watched->events, watched->folder, IN_CLOSE_WRITE | IN_MOVED_TO);
	if (access(watched->folder, R_OK | X_OK) == 0)
		return true;
	hotpin_say("cannot read the directory %s: %m", show_text(watched->folder, 200));
	return false;
}

int hotpin_watch(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct watched watched;
	struct version first;
	int option;

	while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		return option == 'h' ? hotpin_help("watch") : hotpin_misused("watch");
	if (optind + 1 != argc) {
		hotpin_say(optind == argc
				   ? "no profile to watch; name the FILE of `hotpin run -o FILE`"
				   : "more than one profile; name one");
		return hotpin_misused("watch");
	}
	if (!prepare(&watched, argv[optind]))
		return EXIT_FAILURE;
	if (!find_youngest(&watched, &first))
		hotpin_say("waiting for %s", show_text(argv[optind], 200));
	else if (watched.terminal)
		fputs("\033[2J", stdout);
	int status = watch(&watched);
	if (watched.events >= 0)
		close(watched.events);
	return status;
}
