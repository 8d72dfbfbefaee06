/*
 * bench.c - `hotpin bench`: runs a program plain, with hotpin, and observed, in turns.
 *
 * The clock outside the process judges plain runs against runs with hotpin; neither has a profile.
 * The observed runs show what a profile costs.  Turns spread a slowdown of the machine over all
 * three, and every second turn is in reverse order.
 */
#include "cmd/commands.h"
#include "cmd/flags.h"
#include "compare/compare.h"
#include "launch/await.h"
#include "launch/program.h"
#include "launch/writable.h"
#include "profile/texts.h"
#include "system/messages.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS_MOST  1000
#define WORDS_FIRST 8 /* at most, before the program's */

enum way { PLAIN, HOTPIN, OBSERVED, WAYS };
static const char *const way_names[WAYS] = { "plain", "hotpin", "observed" };

struct bench {
	int turns;
	const char *stage, *library, *prefix; /* `prefix`: of the profiles' names */
	char **command, **words;              /* `words` has room for those of `hotpin run`, too */
	int64_t times[WAYS][TURNS_MOST];      /* wall times in ns, by turn */
};

/* Returns 0 if the text is not a valid number of turns. */
static int read_turns(const char *text)
{
	char *end;
	long turns = strtol(text, &end, 10);

	return *end == '\0' && turns >= COMPARE_TURNS_LEAST && turns <= TURNS_MOST ? (int)turns : 0;
}

/* Returns -1, or the exit status if the request is invalid or asks for help. */
static int read_request(int argc, char **argv, struct bench *ret)
{
	const char *turns = "5";
	const struct flag flags[] = { { "turns", 'n', &turns },
				      { "stage", 0, &ret->stage },
				      { "out", 'o', &ret->prefix },
				      { "library", 0, &ret->library },
				      { NULL } };
	int status = flags_read(argc, argv, flags, FLAGS_PROGRAM);

	if (status >= 0)
		return status;
	ret->turns = read_turns(turns);
	ret->command = argv + optind;
	if (ret->prefix == NULL && optind < argc) {
		const char *slash = strrchr(ret->command[0], '/');

		ret->prefix = slash != NULL ? slash + 1 : ret->command[0];
	}
	if (ret->turns == 0)
		return hotpin_misused("bench", "-n: expected a number from %d to %d",
				      COMPARE_TURNS_LEAST, TURNS_MOST);
	if (optind == argc)
		return hotpin_misused("bench", "no program to run; name one");
	if (strchr(ret->prefix, '%') != NULL)
		return hotpin_misused("bench", "-o %s: PREFIX must not contain %%",
				      text_name(ret->prefix, 200));
	return -1;
}

/* Returns the name of a profile. */
static const char *file_of(const struct bench *bench, int turn)
{
	return text_made("%s-observed-%d.json", bench->prefix, turn + 1);
}

/* Returns "hotpin run ... PROGRAM", or PROGRAM alone for the plain runs. */
static char **words_of(const struct bench *bench, enum way way, const char *file)
{
	const char *const words[] = {
		"hotpin",
		"run",
		bench->library != NULL ? text_made("--library=%s", bench->library) : NULL,
		way == OBSERVED ? "--observe" : NULL,
		way == OBSERVED ? text_made("--stage=%s", bench->stage) : NULL,
		way == OBSERVED ? text_made("--out=%s", file) : NULL,
		"--",
	};
	size_t used = WORDS_FIRST;

	if (way == PLAIN)
		return bench->command;
	for (size_t i = HP_LEN(words); i > 0; i--)
		if (words[i - 1] != NULL)
			bench->words[--used] = (char *)words[i - 1];
	return bench->words + used;
}

/* Runs in the child.  Only stderr is kept, in the file `errors`. */
static void become(char *const *words, enum way way, int errors)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    (errors >= 0 && dup2(errors, STDERR_FILENO) < 0))
		_exit(EXIT_OURSELVES);
	unsetenv("HOTPIN_OUT");
	unsetenv("HOTPIN_PROFILE");
	if (way == PLAIN) {
		setenv("HOTPIN", "0", 1);
		execvp(words[0], words);
	} else {
		execv("/proc/self/exe", words);
	}
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* Prints the stderr of a run that failed. */
static void show_errors(int errors)
{
	char part[4096];
	ssize_t got;

	if (errors < 0 || lseek(errors, 0, SEEK_SET) < 0)
		return;
	while ((got = read(errors, part, sizeof(part))) > 0)
		fwrite(part, 1, (size_t)got, stderr);
}

/* A program that fails may need standard input, which is empty. */
#define TRY_ALONE "check that it succeeds without hotpin and with </dev/null"

/* True if the run succeeded; otherwise reports how it ended. */
static bool ended_well(const struct bench *bench, enum way way, int status)
{
	const char *name = text_name(bench->command[0], 60);
	char file[PATH_MAX];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	/* `hotpin run` has said why the program was not started. */
	if (program_find(bench->command[0], file, sizeof(file)) < 0)
		hotpin_say("nothing is compared");
	else if (WIFEXITED(status))
		hotpin_say("%s (%s) failed with exit status %d: nothing is compared%s", name,
			   way_names[way], WEXITSTATUS(status),
			   WEXITSTATUS(status) >= EXIT_OURSELVES ? "" : "; " TRY_ALONE);
	else
		hotpin_say("%s (%s) was killed by signal %d (%s): nothing is compared; " TRY_ALONE,
			   name, way_names[way], WTERMSIG(status), strsignal(WTERMSIG(status)));
	return false;
}

/* A profile of an earlier run must not be taken for the new one. */
static void remove_old(const char *file)
{
	struct hp_place place;

	if (hp_trust_find(file, false, &place) < 0)
		return;
	unlinkat(place.folder, place.name, 0);
	close(place.folder);
}

/* Rewrites a line for a user who waits at a terminal; 0: removes it. */
static void say_run(int run, int all)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, run > 0 ? "\r\033[Khotpin: run %d of %d" : "\r\033[K", run, all);
}

/* Returns the wall time of one run in ns; negative if the run failed, which has been reported. */
static int64_t time_one(const struct bench *bench, enum way way, int turn, bool is_heard)
{
	const char *file = file_of(bench, turn), *name = text_name(bench->command[0], 60);
	char **words = words_of(bench, way, file);
	int errors = is_heard ? -1 : memfd_create("stderr", MFD_CLOEXEC), status = 0;
	struct await await;

	if (way == OBSERVED)
		remove_old(file);
	fflush(NULL);
	uint64_t began_ns = hp_now_ns();
	pid_t child = await_start(&await);
	if (child == 0)
		become(words, way, errors);
	if (child > 0)
		status = await_end(&await);
	int64_t took_ns = (int64_t)(hp_now_ns() - began_ns);
	if (child > 0 && await.asked != 0) {
		say_run(0, 0);
		raise(await.asked);
	}
	bool well = child > 0 && ended_well(bench, way, status);
	if (child < 0)
		hotpin_say("cannot start a process: %m");
	if (!well)
		show_errors(errors);
	if (well && way == OBSERVED && access(file, F_OK) < 0) {
		hotpin_say("%s (observed) wrote no profile; `hotpin doctor %s` may say why", name,
			   name);
		well = false;
	}
	if (errors >= 0)
		close(errors);
	return well ? took_ns : -1;
}

/* False if a run failed. */
static bool run_all(struct bench *bench)
{
	/* The first run, which is not counted, reads all files; its stderr is shown. */
	bool well = time_one(bench, OBSERVED, 0, true) >= 0;

	for (int i = 0; i < bench->turns * WAYS && well; i++) {
		int turn = i / WAYS, way = turn % 2 == 0 ? i % WAYS : WAYS - 1 - i % WAYS;

		say_run(i + 1, bench->turns * WAYS);
		bench->times[way][turn] = time_one(bench, (enum way)way, turn, false);
		well = bench->times[way][turn] >= 0;
	}
	say_run(0, 0);
	return well;
}

/* Prints all times; then the verdict, with the figures of the table.  Returns the exit status. */
static int show(struct bench *bench)
{
	static const char *const notes[WAYS] = { "", "", ": the cost of a profile" };
	size_t turns = (size_t)bench->turns, agree;
	enum compare_verdict verdict =
		compare_turns(bench->times[PLAIN], bench->times[HOTPIN], turns, &agree);
	struct compare_times spreads[WAYS];

	printf("%s, %s\n  %-10s %10s %10s %10s\n", text_name(bench->command[0], 60),
	       text_several(bench->turns, "turn", "turns"), "wall time", "median", "least", "most");
	for (int way = 0; way < WAYS; way++) {
		struct compare_times *spread = &spreads[way];

		*spread = compare_times_of(bench->times[way], turns);
		printf("  %-10s %10s %10s %10s%s%s%s\n", way_names[way], text_time(spread->median),
		       text_time(spread->least), text_time(spread->most), way > PLAIN ? "  " : "",
		       way > PLAIN ? compare_how_much(spreads[PLAIN].median, spread->median) : "",
		       notes[way]);
	}
	printf("profiles: %s .. %s\n\n", text_name(file_of(bench, 0), 200),
	       text_name(file_of(bench, bench->turns - 1), 200));
	printf("%s: %s with hotpin, %s plain (%s), %s in %zu of %zu turns.%s\n",
	       compare_verdict_name(verdict), text_time(spreads[HOTPIN].median),
	       text_time(spreads[PLAIN].median),
	       compare_how_much(spreads[PLAIN].median, spreads[HOTPIN].median),
	       verdict == COMPARE_SAME     ? "within 2 %"
	       : verdict == COMPARE_SLOWER ? "slower"
					   : "faster",
	       agree, turns,
	       verdict == COMPARE_UNCLEAR
		       ? " Repeat it with more turns (-n 15), or on a quiet machine."
		       : "");
	return verdict == COMPARE_SLOWER ? EXIT_SLOWER : 0;
}

int hotpin_bench(int argc, char **argv)
{
	static struct bench bench;
	int status = read_request(argc, argv, &bench), error;

	if (status >= 0)
		return status;
	if (bench.stage == NULL)
		bench.stage = bench.prefix;
	if ((error = writable_try(file_of(&bench, 0))) < 0) {
		hotpin_say("cannot write %s: %s; name another PREFIX with -o",
			   text_name(file_of(&bench, 0), 200), strerror(-error));
		return EXIT_FAILURE;
	}
	size_t count = (size_t)(argc - optind) + 1;
	bench.words = calloc(WORDS_FIRST + count, sizeof(*bench.words));
	if (bench.words == NULL) {
		hotpin_say("not enough memory");
		return EXIT_APART;
	}
	memcpy(bench.words + WORDS_FIRST, bench.command, count * sizeof(*bench.words));
	status = run_all(&bench) ? show(&bench) : EXIT_APART;
	free(bench.words);
	return status;
}
