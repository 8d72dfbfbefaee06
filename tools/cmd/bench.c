/*
 * bench.c - `hotpin bench`: runs a program plain, observed and with hotpin, in turns.
 *
 * Taking turns spreads a slowdown of the machine over all three.  The children are ordinary
 * `hotpin run` commands, and `hotpin compare` compares their profiles.
 */
#include "compare/compare.h"
#include "cmd/commands.h"
#include "system/messages.h"
#include "system/progress.h"
#include "profile/texts.h"
#include "analyze/statistics.h"
#include "launch/writable.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS      5
#define TURNS_MOST 1000

enum way { PLAIN, OBSERVED, HOTPIN, WAYS };
static const char *const way_names[WAYS] = { "plain", "observed", "hotpin" };

struct bench {
	int turns;
	const char *stage, *library, *prefix; /* `prefix`: of the profiles' names */
	char **command;
	size_t words;         /* number of words in `command` */
	int64_t *times[WAYS]; /* wall times in ns, by turn */
	char **files;         /* the profiles: first all observed runs, then all runs with hotpin */
};

/* Returns 0 if the text is not a valid number of turns. */
static int read_turns(const char *text)
{
	char *end;
	long turns = strtol(text, &end, 10);

	return *end == '\0' && turns > 0 && turns <= TURNS_MOST ? (int)turns : 0;
}

static const char *prefix_of(const struct bench *bench)
{
	const char *slash = strrchr(bench->command[0], '/');

	if (bench->prefix != NULL)
		return bench->prefix;
	return slash != NULL ? slash + 1 : bench->command[0];
}

/* Returns -1, or the exit status if the request is invalid. */
static int check_request(const struct bench *bench)
{
	if (bench->turns == 0)
		hotpin_say("-n: expected a number from 1 to %d", TURNS_MOST);
	else if (bench->words == 0)
		hotpin_say("no program to run; name one");
	else if (strchr(prefix_of(bench), '%') != NULL)
		hotpin_say("-o %s: PREFIX must not contain %%", text_name(prefix_of(bench), 200));
	else
		return -1;
	return hotpin_misused("bench");
}

/* Returns -1, or the exit status if an option is invalid or asks for help. */
static int read_flags(int argc, char **argv, struct bench *ret)
{
	static const struct option longs[] = {
		{ "turns", required_argument, NULL, 'n' },
		{ "stage", required_argument, NULL, 's' },
		{ "out", required_argument, NULL, 'o' },
		{ "library", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	/* '+' stops at the program's name, so that getopt leaves the program's options alone. */
	while ((option = getopt_long(argc, argv, "+n:o:h", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("bench");
		if (option == '?')
			return hotpin_misused("bench");
		if (option == 'n')
			ret->turns = read_turns(optarg);
		else if (option == 's')
			ret->stage = optarg;
		else if (option == 'o')
			ret->prefix = optarg;
		else
			ret->library = optarg;
	}
	ret->command = argv + optind;
	ret->words = (size_t)(argc - optind);
	return check_request(ret);
}

static void *checked(void *memory)
{
	if (memory == NULL) {
		hotpin_say("not enough memory");
		exit(EXIT_APART);
	}
	return memory;
}

static char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *text_of(const char *format, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return checked(text);
}

/* Returns "hotpin run ... PROGRAM", or PROGRAM alone for the plain runs. */
static char **words_of(const struct bench *bench, enum way way, char *file)
{
	char **words = checked(calloc(bench->words + 12, sizeof(*words)));
	size_t used = 0;

	if (way != PLAIN) {
		words[used++] = "hotpin";
		words[used++] = "run";
		if (way == OBSERVED)
			words[used++] = "--observe";
		if (bench->library != NULL)
			words[used++] = text_of("--library=%s", bench->library);
		words[used++] = bench->stage != NULL
					? text_of("--stage=%s, %s", bench->stage, way_names[way])
					: text_of("--stage=%s", way_names[way]);
		words[used++] = "-o";
		words[used++] = file;
		words[used++] = "--";
	}
	memcpy(words + used, bench->command, bench->words * sizeof(*words));
	return words;
}

/*
 * These signals ask a program to end.  hotpin waits for the program and then ends by the same
 * signal.
 */
static const int endings[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
static volatile sig_atomic_t running, ending;

static void pass_on(int number, siginfo_t *info, void *context)
{
	(void)context;
	ending = number;
	if (running == 0) {
		signal(number, SIG_DFL);
		raise(number);
	} else if (info->si_code <= 0) {
		/* A signal from the terminal also reaches the program directly. */
		kill(running, number);
	}
}

static void catch_endings(void)
{
	struct sigaction old, action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO };

	for (size_t i = 0; i < HP_LEN(endings); i++)
		if (sigaction(endings[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(endings[i], &action, NULL);
}

/* Blocks the signals until `running` is set. */
static pid_t start(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	for (size_t i = 0; i < HP_LEN(endings); i++)
		sigaddset(&set, endings[i]);
	sigprocmask(SIG_BLOCK, &set, &old);
	pid_t child = fork();
	for (size_t i = 0; i < HP_LEN(endings) && child == 0; i++) {
		struct sigaction action;

		if (sigaction(endings[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			signal(endings[i], SIG_DFL);
	}
	running = child > 0 ? child : 0;
	sigprocmask(SIG_SETMASK, &old, NULL);
	return child;
}

/* Returns the wait status.  WNOWAIT keeps the process id valid until `running` is cleared. */
static int wait_for(pid_t child)
{
	siginfo_t info;
	int status = 0;

	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	running = 0;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (ending == 0)
		return status;
	progress_clear();
	signal(ending, SIG_DFL);
	raise(ending);
	return status;
}

/* Runs in the child.  Only stderr is kept, in the file `errors`. */
static void become(char *const *words, enum way way, int errors)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    (errors >= 0 && dup2(errors, STDERR_FILENO) < 0))
		_exit(EXIT_OURSELVES);
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

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (WIFEXITED(status))
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

/* Returns the wall time of one run in ns; negative if the run failed, which has been reported. */
static int64_t time_one(const struct bench *bench, enum way way, char *file, bool is_heard)
{
	char **words = words_of(bench, way, file);
	int errors = is_heard ? -1 : memfd_create("stderr", MFD_CLOEXEC), status = 0;

	if (file != NULL)
		remove_old(file);
	fflush(NULL);
	uint64_t began_ns = hp_now_ns();
	pid_t child = start();
	if (child == 0)
		become(words, way, errors);
	if (child > 0)
		status = wait_for(child);
	int64_t took_ns = (int64_t)(hp_now_ns() - began_ns);
	bool well = child > 0 && ended_well(bench, way, status);
	if (child < 0)
		hotpin_say("cannot start a process: %m");
	if (!well)
		show_errors(errors);
	if (well && file != NULL && access(file, F_OK) < 0) {
		hotpin_say("%s (%s) wrote no profile; `hotpin doctor %s` may say why",
			   text_name(bench->command[0], 60), way_names[way],
			   text_name(bench->command[0], 60));
		well = false;
	}
	if (errors >= 0)
		close(errors);
	free(words);
	return well ? took_ns : -1;
}

static char *file_of(const struct bench *bench, enum way way, int turn)
{
	return text_of("%s-%s-%d.json", prefix_of(bench), way_names[way], turn + 1);
}

/* False if the profiles cannot be written, which has been reported. */
static bool can_write(const struct bench *bench)
{
	char *file = file_of(bench, OBSERVED, 0);
	int error = writable_try(file, WRITABLE_REPLACE);

	if (error < 0)
		hotpin_say("cannot write %s: %s; name another PREFIX with -o", text_name(file, 200),
			   strerror(-error));
	free(file);
	return error == 0;
}

/* False if a run failed. */
static bool run_all(struct bench *bench)
{
	int runs = bench->turns * WAYS, done = 0;

	bench->files = checked(calloc((size_t)bench->turns * 2, sizeof(*bench->files)));
	for (int way = 0; way < WAYS; way++)
		bench->times[way] = checked(calloc((size_t)bench->turns, sizeof(int64_t)));
	for (int turn = 0; turn < bench->turns; turn++) {
		bench->files[turn] = file_of(bench, OBSERVED, turn);
		bench->files[bench->turns + turn] = file_of(bench, HOTPIN, turn);
	}
	/*
	 * The first run reads all files into the page cache and is not counted; its stderr is
	 * shown.
	 */
	if (time_one(bench, HOTPIN, bench->files[bench->turns], true) < 0)
		return false;
	for (int turn = 0; turn < bench->turns; turn++)
		for (int way = 0; way < WAYS; way++) {
			char *file =
				way == PLAIN ? NULL : bench->files[(way - 1) * bench->turns + turn];

			progress_show("running the program", (uint64_t)done++, (uint64_t)runs);
			bench->times[way][turn] = time_one(bench, way, file, false);
			if (bench->times[way][turn] < 0) {
				progress_clear();
				return false;
			}
		}
	progress_clear();
	return true;
}

/* Prints "3.0 % more than plain", "2.6 times as long as plain". */
static void show_difference(int64_t plain_ns, int64_t ns)
{
	const char *text = compare_how_much(plain_ns, ns);

	printf("  %s %s plain\n", text, strstr(text, " as ") != NULL ? "as" : "than");
}

static void show_times(const struct bench *bench)
{
	struct statistics spreads[WAYS];

	printf("%s, %s: wall times\n  %-10s %10s %10s %10s %8s\n", text_name(bench->command[0], 60),
	       text_several(bench->turns, "turn", "turns"), "", "median", "least", "most",
	       "spread");
	for (int way = 0; way < WAYS; way++) {
		struct statistics *spread = &spreads[way];
		char width[16] = "-";

		*spread = statistics_of(bench->times[way], (size_t)bench->turns);
		unsigned tenths = statistics_tenths(spread),
			 noise = statistics_tenths(&spreads[PLAIN]);
		if (bench->turns > 1)
			snprintf(width, sizeof(width), "%u.%u %%", tenths / 10, tenths % 10);
		printf("  %-10s %10s %10s %10s %8s", way_names[way], text_time(spread->median),
		       text_time(spread->least), text_time(spread->most), width);
		noise = tenths > noise ? tenths : noise;
		noise = noise > COMPARE_NOISE_TENTHS ? noise : COMPARE_NOISE_TENTHS;
		if (way == PLAIN)
			puts("");
		else if (bench->turns > 1 &&
			 text_is_same(spreads[PLAIN].median, spread->median, noise))
			puts("  as plain, within the noise");
		else
			show_difference(spreads[PLAIN].median, spread->median);
	}
	for (int way = 0; way < 2; way++) {
		char *const *files = bench->files + way * bench->turns;

		printf(way == 0 ? "profiles: %s" : " and %s", text_name(files[0], 200));
		if (bench->turns > 1)
			printf(" .. %s", text_name(files[bench->turns - 1], 200));
	}
	puts("\n");
}

/* Returns the status of `hotpin compare`. */
static int compare_all(const struct bench *bench)
{
	size_t count = (size_t)bench->turns * 2;
	char **words = checked(calloc(count + 3, sizeof(*words)));

	words[0] = "hotpin compare";
	words[1] = "--";
	memcpy(words + 2, bench->files, count * sizeof(*words));
	optind = 0; /* getopt starts over */
	int status = hotpin_compare((int)count + 2, words);
	free(words);
	return status;
}

int hotpin_bench(int argc, char **argv)
{
	struct bench bench = { .turns = TURNS };
	int status = read_flags(argc, argv, &bench);

	if (status >= 0)
		return status;
	status = EXIT_APART;
	if (!can_write(&bench))
		return EXIT_FAILURE;
	catch_endings();
	if (run_all(&bench)) {
		show_times(&bench);
		status = compare_all(&bench);
	}
	for (int i = 0; bench.files != NULL && i < 2 * bench.turns; i++)
		free(bench.files[i]);
	free(bench.files);
	for (int way = 0; way < WAYS; way++)
		free(bench.times[way]);
	return status;
}
