/*
 * run.c - `hotpin run`: sets the environment and executes the program in its own process.
 *
 * After exec(), the program has its own exit status, signals, terminal and process id.  With
 * --profile the program runs in a child process, and hotpin prints the report when it has ended.
 * hotpin does not start a program whose profile could not be written.
 */
#include "cmd/commands.h"
#include "cmd/flags.h"
#include "system/messages.h"
#include "launch/library.h"
#include "launch/program.h"
#include "launch/await.h"
#include "cmd/run_report.h"
#include "profile/texts.h"
#include "launch/writable.h"
#include "base/parse.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct request {
	const char *profile, *stage, *out, *library, *capture;
	bool observe, buffers;
};

/* Returns -1, or the exit status if an option is invalid or asks for help. */
static int read_flags(int argc, char **argv, struct request *ret)
{
	const char *observed = NULL;
	bool profile = false;
	const struct flag flags[] = { { "profile", 0, &ret->profile, &profile },
				      { "stage", 0, &ret->stage },
				      { "out", 'o', &ret->out },
				      { "library", 0, &ret->library },
				      { "observe", 0, &observed, &ret->observe },
				      { "capture", 0, &ret->capture },
				      { NULL } };
	int status = flags_read(argc, argv, flags, FLAGS_PROGRAM);

	if (status >= 0)
		return status;
	if (profile && ret->profile == NULL)
		ret->profile = "summary";
	ret->buffers = observed != NULL;
	if (observed != NULL && strcmp(observed, "buffers") != 0)
		return hotpin_misused("run", "--observe=%s: expected buffers, or nothing",
				      observed);
	hp_word_t ignored;
	if (ret->profile != NULL && hp_parse_word(ret->profile, "summary|trace", &ignored) < 0)
		return hotpin_misused("run", "--profile=%s: expected summary or trace",
				      ret->profile);
	hp_capture_t capture;
	if (ret->capture != NULL && hp_parse_capture(ret->capture, "", capture) < 0)
		return hotpin_misused("run",
				      "--capture=%s: expected all, nvtx:NAME or profiler-api",
				      ret->capture);
	if (ret->out != NULL && strcmp(ret->out, "-") == 0)
		return hotpin_misused("run", "-o -: standard output is the program's; name a file");
	if (optind < argc)
		return -1;
	if (argc > 2 && access(argv[argc - 1], X_OK) == 0)
		return hotpin_misused(
			"run",
			"no program to run: %s is the argument of %s; name the program "
			"after it",
			argv[argc - 1], argv[argc - 2]);
	return hotpin_misused("run", "no program to run; name one");
}

/* A failure is only reported: the program runs nevertheless. */
static void set_variable(const char *name, const char *value)
{
	if (setenv(name, value, 1) < 0)
		hotpin_say("cannot set %s (%m); the program runs without it", name);
}

/*
 * Launchers that write profiles elsewhere, on other machines or in containers, or whose programs do
 * not get the environment.
 */
static const struct launcher {
	const char *name;
	bool is_elsewhere, drops_environment;
} launchers[] = {
	{ "doas", false, true },   { "docker", true, true },   { "flux", true, false },
	{ "jsrun", true, false },  { "kubectl", true, false }, { "mpiexec", true, false },
	{ "mpirun", true, false }, { "nerdctl", true, false }, { "orterun", true, false },
	{ "pkexec", false, true }, { "podman", true, true },   { "prterun", true, false },
	{ "prun", true, false },   { "salloc", true, false },  { "sbatch", true, false },
	{ "srun", true, false },   { "ssh", true, true },      { "sudo", false, true },
};

/* Returns NULL if the command is no launcher. */
static const struct launcher *launcher_of(const char *command)
{
	for (size_t i = 0; i < HP_LEN(launchers); i++)
		if (strcmp(basename(command), launchers[i].name) == 0)
			return &launchers[i];
	return NULL;
}

static bool starts_elsewhere(const char *command)
{
	const struct launcher *launcher = launcher_of(command);

	return launcher != NULL && launcher->is_elsewhere;
}

/* Returns what to do about a profile that cannot be written, after its name. */
static const char *advice_on(const char *pattern, int error)
{
	if (pattern[0] == '\0')
		return "name a file";
	return error == -EISDIR   ? "name a file in it"
	       : error == -ENOENT ? "name a file in an existing folder"
				  : "name another file";
}

/* False if no profile can be written there, which has been reported. */
static bool check_out(const char *what, const char *pattern, const char *command)
{
	int stream = writable_stream(pattern);

	if (stream >= 0) {
		hotpin_say("%s %s: standard %s is the program's, so %s was not started; name a "
			   "file",
			   what, pattern, stream == STDOUT_FILENO ? "output" : "error", command);
		return false;
	}

	int error = writable_try(pattern);
	const char *why = pattern[0] == '\0'
				  ? "the name is empty, like a shell variable that is not set"
			  : error == -EISDIR ? "it is a directory"
					     : strerror(-error);

	if (error == 0)
		return true;
	if (pattern[0] != '\0' && starts_elsewhere(command)) {
		hotpin_say(
			"%s %s: cannot be written here (%s); %s runs anyway, because it may start "
			"programs elsewhere",
			what, pattern, why, command);
		return true;
	}
	hotpin_say("%s %s: cannot be written (%s), so %s was not started; %s", what, pattern, why,
		   command, advice_on(pattern, error));
	return false;
}

/*
 * Makes the name absolute, because the program may change its folder before it writes the profile.
 * `folder`: that of a relative name; NULL: unknown.  False if the name is too long, which has been
 * reported.
 */
static bool set_out(const char *folder, const char *pattern)
{
	const char *full = pattern, *part;

	if (pattern[0] != '/' && folder != NULL) {
		char *rest = text_made("%s", folder);

		/* A % in the folder is not a mark of the pattern. */
		full = strsep(&rest, "%");
		while ((part = strsep(&rest, "%")) != NULL)
			full = text_made("%s%%%%%s", full, part);
		full = text_made("%s/%s", full, pattern);
	}
	if (strlen(full) >= HP_TEXT_MAX) {
		hotpin_say("-o %s: longer than %d bytes with its directory; the program was not "
			   "started; name a shorter path",
			   pattern, HP_TEXT_MAX - 1);
		return false;
	}
	set_variable("HOTPIN_OUT", full);
	return true;
}

/* False if the requested profile cannot be written. */
static bool prepare_out(const char *out, const char *command)
{
	const char *inherited = getenv("HOTPIN_OUT"), *off = getenv("HOTPIN");
	char here[PATH_MAX];

	if (out != NULL)
		return check_out("-o", out, command) && set_out(getcwd(here, sizeof(here)), out);
	return inherited == NULL || inherited[0] == '\0' ||
	       (off != NULL && strcmp(off, "0") == 0) ||
	       check_out("HOTPIN_OUT", inherited, command);
}

/* Profiles the unmodified program.  The heap stays only if it is needed to identify `buffers`. */
static void set_observing(bool buffers)
{
	set_variable("HOTPIN_PIN", "0");
	set_variable("HOTPIN_RING", "0");
	set_variable("HOTPIN_ASYNC", "0");
	if (getenv("HOTPIN_HEAP_MIN") == NULL)
		set_variable("HOTPIN_HEAP_MIN", buffers ? "256K" : "0");
}

/* Returns true if a report is asked for here, and not by a variable. */
static bool set_options(const struct request *request)
{
	bool reports = request->profile != NULL;
	const char *off = getenv("HOTPIN");

	if (off != NULL && strcmp(off, "0") == 0)
		hotpin_say("HOTPIN=0 is set, so the program runs without hotpin; unset it to use "
			   "hotpin");
	if (request->profile != NULL && strcmp(request->profile, "trace") == 0 &&
	    getenv("HOTPIN_OUT") == NULL)
		hotpin_say(
			"--profile=trace without -o: the timeline needs a file, so only the report "
			"is printed; add -o FILE");
	if (request->profile != NULL)
		set_variable("HOTPIN_PROFILE",
			     getenv("HOTPIN_OUT") != NULL ? request->profile : "summary");
	else if ((request->stage != NULL || request->observe || request->capture != NULL) &&
		 request->out == NULL && getenv("HOTPIN_PROFILE") == NULL) {
		set_variable("HOTPIN_PROFILE", "summary");
		reports = true;
	}
	if (request->stage != NULL && strlen(request->stage) >= HP_TEXT_MAX)
		hotpin_say("--stage: longer than %d bytes, so the profile has no label; shorten it",
			   HP_TEXT_MAX - 1);
	else if (request->stage != NULL)
		set_variable("HOTPIN_STAGE", request->stage);
	if (request->capture != NULL)
		set_variable("HOTPIN_CAPTURE", request->capture);
	if (request->observe)
		set_observing(request->buffers);
	return reports && (off == NULL || strcmp(off, "0") != 0);
}

/* False if preloading would make the program fail or complain: it then runs without hotpin. */
static bool can_act_in(const char *name, const struct program *program)
{
	const struct launcher *launcher = launcher_of(name);
	bool alone;
	const char *obstacle = program_obstacle(program, &alone);

	if (launcher != NULL && launcher->drops_environment)
		hotpin_say("%s starts programs with another environment, so hotpin does not reach "
			   "them; use `%s ... hotpin run PROGRAM`",
			   launcher->name, launcher->name);
	else if (obstacle != NULL)
		hotpin_say("%s %s", name, obstacle);
	if (sysconf(_SC_PAGESIZE) == 4096)
		return !alone;
	hotpin_say("this kernel has pages of %ld KiB, but hotpin supports only 4 KiB: %s runs "
		   "without it",
		   sysconf(_SC_PAGESIZE) >> 10, name);
	return false;
}

/* True for the path of any installation's library, also with a version behind its name. */
static bool is_hotpin(const char *path)
{
	static const char name[] = "libhotpin.so";

	return strncmp(basename(path), name, sizeof(name) - 1) == 0;
}

/*
 * The library is first in LD_PRELOAD, so that it sees the program's calls before other libraries.
 * Libraries of other installations are removed: to each of two, the other's malloc() is foreign.
 */
static void set_preload(const char *library)
{
	const char *before = getenv("LD_PRELOAD"), *list = library, *other;
	char *rest = text_made("%s", before != NULL ? before : "");

	while ((other = strsep(&rest, ": ")) != NULL)
		if (other[0] != '\0' && !is_hotpin(other))
			list = text_made("%s:%s", list, other);
	set_variable("LD_PRELOAD", list);
}

/*
 * NVTX loads the tool that this variable names and reports ranges to it; they mark stages.  A tool
 * that the user chose stays.
 */
static void set_nvtx(const char *library)
{
	const char *profile = getenv("HOTPIN_PROFILE"), *out = getenv("HOTPIN_OUT");
	const char *there = getenv("NVTX_INJECTION64_PATH");
	bool wanted =
		(profile != NULL && strcmp(profile, "off") != 0) || (out != NULL && out[0] != '\0');

	if (wanted && (there == NULL || there[0] == '\0' || is_hotpin(there)))
		set_variable("NVTX_INJECTION64_PATH", library);
}

/* Many processes may inherit the environment; this process is the program that the user ran. */
static void set_run(void)
{
	struct timespec now;

	set_variable("_HOTPIN_RUN", text_made("%ld", (long)getpid()));
	/* Files that are younger belong to processes of this run. */
	clock_gettime(CLOCK_REALTIME, &now);
	set_variable("_HOTPIN_BEGAN", text_made("%lld", (long long)now.tv_sec * 1000000000 +
								(long long)now.tv_nsec));
}

/* Returns why a file cannot be executed, and what helps if hotpin knows. */
static const char *why_not_run(const char *name, const char *file, const struct program *program,
			       int error)
{
	bool is_name = strchr(name, '/') == NULL;
	struct stat status = { 0 };

	if (error == EACCES && stat(file, &status) == 0 && S_ISDIR(status.st_mode))
		return "it is a directory; name a program in it";
	if (error == EACCES && (status.st_mode & 0111) == 0)
		return "it is not executable; name its interpreter before it, or use chmod +x";
	if (error != ENOENT)
		return strerror(error);
	if (name[0] == '\0')
		return "its name is empty, like a shell variable that is not set";
	if (program->interpreter[0] != '\0')
		return text_made("it needs %s, which does not exist; install that",
				 program->interpreter);
	if (strcmp(name, "summary") == 0 || strcmp(name, "trace") == 0)
		return text_made("there is no such program; did you mean --profile=%s?", name);
	if (is_name && strchr(name, '=') != NULL)
		return "there is no such program; set variables before hotpin";
	if (is_name && access(name, X_OK) == 0)
		return text_made("it is not in PATH; did you mean ./%s?", name);
	return "there is no such program";
}

static int cannot_run(const char *name, const char *file, const struct program *program, int error)
{
	hotpin_say("cannot run %s: %s", name, why_not_run(name, file, program, error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static int execute(const char *file, char **command, const struct program *program)
{
	set_run();
	/*
	 * execvp() passes a file that the kernel refuses to a shell: right for text, wrong for ELF.
	 */
	if (program->kind == PROGRAM_ELF || program->kind == PROGRAM_FOREIGN)
		execv(file, command);
	else
		execvp(command[0], command);
	return cannot_run(command[0], file, program, errno);
}

/*
 * Makes the profiles a run's own, so that hotpin can read them.  False: the library prints a table
 * instead, since the profile may be written elsewhere, or another `hotpin run` prints a report.
 */
static bool prepare_report(const char *command)
{
	const char *out = getenv("HOTPIN_OUT");

	if (getenv("_HOTPIN_AWAITS") != NULL)
		return false;
	if (out != NULL && out[0] != '\0')
		return strlen(out) < HP_TEXT_MAX;
	const char *folder = starts_elsewhere(command) ? NULL : run_report_folder();
	return folder != NULL && set_out(folder, "%p.json");
}

/* Runs the program in a child process, and prints the report. */
static int report_on(const char *file, char **command, const struct program *program)
{
	struct timespec now;
	struct await await;

	/* The coarse clock is that of files. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (!prepare_report(command[0]))
		return execute(file, command, program);
	pid_t child = await_start(&await);
	if (child == 0)
		set_variable("_HOTPIN_AWAITS", "1");
	if (child <= 0)
		return execute(file, command, program);
	await_let_go();
	int status = await_end(&await);
	/* With the statuses of this command, the program was not started. */
	bool ran = !WIFEXITED(status) || WEXITSTATUS(status) < EXIT_OURSELVES ||
		   WEXITSTATUS(status) > EXIT_NOT_FOUND;
	run_report(getenv("HOTPIN_OUT"), (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
		   ran ? command[0] : NULL);
	return await_status(status);
}

int hotpin_run(int argc, char **argv)
{
	struct request request = { 0 };
	struct program program = { 0 };
	char library[PATH_MAX], file[PATH_MAX] = "";
	int status = read_flags(argc, argv, &request);

	if (status >= 0)
		return status;

	char **command = argv + optind;
	int error = program_find(command[0], file, sizeof(file));
	if (error < 0)
		return cannot_run(command[0], file, &program, -error);
	if (library_find(request.library, library, sizeof(library)) < 0)
		return EXIT_OURSELVES;
	if (!prepare_out(request.out, command[0]))
		return EXIT_OURSELVES;
	bool acts = program_inspect(file, &program) == 0 && can_act_in(command[0], &program);
	if (acts)
		set_preload(library);
	bool reports = set_options(&request);
	if (acts)
		set_nvtx(library);
	return acts && reports ? report_on(file, command, &program)
			       : execute(file, command, &program);
}
