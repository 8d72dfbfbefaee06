/*
 * test_out.c - where the JSON is written, and what happens if it cannot be written there.
 */
#include "stage.h"
#include "check.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "trace/out/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char log_text[8192];

static bool comes_true(bool (*is_true)(void))
{
	WAIT_FOR(is_true());
	return is_true();
}

static const char *read_log(void)
{
	return check_read(check_path("log"), log_text, sizeof(log_text));
}

/* Profiles go to `out`; with an option more, unless NULL. */
static void configure(const char *out, char *option)
{
	char place[1200];

	snprintf(place, sizeof(place), "HOTPIN_OUT=%s", out);
	hp_options_load((char *[]){ place, option, NULL });
	hp_log_open(check_path("log"));
}

static void start(void)
{
	trace_start(&(struct trace_facts){ .device = "none" });
}

/* Returns errno afterwards. */
static int finish(void)
{
	errno = 4711;
	trace_finish();
	return errno;
}

static char without_cupti[] = "HOTPIN_CUPTI=off";

/* Profiles a run with HOTPIN_OUT=`out`; returns errno after trace_finish(). */
static int run_to(const char *out)
{
	configure(out, without_cupti);
	start();
	trace_copied(&(struct trace_copy){ .direction = TRACE_H2D, .bytes = 4711 });
	int left = finish();

	read_log();
	return left;
}

static int run_to_named(const char *name)
{
	return run_to(check_path(name));
}

/*
 * Returns the number of files in the folder besides the log; `ret` is the name of the last one.
 */
static int files_left(char *ret, size_t room)
{
	char command[512];
	int count = 0;

	ret[0] = '\0';
	snprintf(command, sizeof(command), "ls -A '%s'", check_folder());
	FILE *list = popen(command, "r");
	char line[256];
	while (list != NULL && fgets(line, sizeof(line), list) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "log") == 0)
			continue;
		snprintf(ret, room, "%s", line);
		count++;
	}
	if (list != NULL)
		pclose(list);
	return count;
}

/* Expects one warning with the path and the reason, an unchanged errno, and no leftover files. */
static void check_refused(int left, const char *reason)
{
	char name[256];

	CHECK_EQ(left, 4711);
	CHECK_EQ(stage_count(log_text, "\n"), 1);
	CHECK(strstr(log_text, "warn: HOTPIN_OUT: cannot write '") != NULL);
	if (!CHECK(strstr(log_text, reason) != NULL))
		printf("# %s", log_text);
	CHECK_EQ(files_left(name, sizeof(name)), 0);
}

TEST(marks_in_the_name)
{
	char expected[128], name[256], host[65];

	setenv("SLURM_PROCID", "12", 1);
	setenv("SLURM_STEP_NUM_TASKS", "16", 1);
	gethostname(host, sizeof(host));
	CHECK_EQ(run_to_named("run-%p-%h-r%r-%%.json"), 4711);
	snprintf(expected, sizeof(expected), "run-%d-%s-r12-%%.json", (int)getpid(), host);
	CHECK_EQ(files_left(name, sizeof(name)), 1);
	CHECK(strcmp(name, expected) == 0);
	CHECK(log_text[0] == '\0');
}

static void set_all(const char *const *assignments)
{
	for (; *assignments != NULL; assignments++)
		putenv((char *)*assignments);
}

/* Variables that launchers were seen to set if used together. */
TEST(ranks_of_launchers)
{
	struct process process;

	/* A batch script of Slurm; each test has a process of its own. */
	set_all((const char *const[]){ "SLURM_PROCID=0", "SLURM_NTASKS=2", NULL });
	process_read(&process);
	CHECK(strcmp(process.rank, "") == 0);
	CHECK_EQ(process.ranks, 0);
	/* srun in such a script */
	set_all((const char *const[]){ "SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", NULL });
	process_read(&process);
	CHECK(strcmp(process.rank, "1") == 0);
	CHECK_EQ(process.ranks, 2);
	/* A variable of the program itself changes nothing; torchrun started by srun does. */
	set_all((const char *const[]){ "RANK=5", NULL });
	process_read(&process);
	CHECK(strcmp(process.rank, "1") == 0);
	set_all((const char *const[]){ "WORLD_SIZE=8", "LOCAL_RANK=1", NULL });
	process_read(&process);
	CHECK(strcmp(process.rank, "5") == 0);
	CHECK_EQ(process.ranks, 8);
}

/* The precedence of doc/running.md; values that are not numbers are ignored. */
TEST(ranks_in_order)
{
	static const char *const names[][2] = {
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "PMIX_RANK", "PMIX_SIZE" },
		{ "PMI_RANK", "PMI_SIZE" },
		{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
		{ "RANK", "WORLD_SIZE" },
	};
	struct process process;

	for (size_t i = sizeof(names) / sizeof(names[0]); i-- > 0;) {
		char rank[24], ranks[24];

		snprintf(rank, sizeof(rank), "%zu", i);
		snprintf(ranks, sizeof(ranks), "%zu", i + 10);
		setenv(names[i][0], rank, 1);
		process_read(&process);
		CHECK(i == 3 || strcmp(process.rank, rank) == 0);
		setenv(names[i][1], ranks, 1);
		process_read(&process);
		CHECK(strcmp(process.rank, rank) == 0);
		CHECK_EQ(process.ranks, i + 10);
	}
	setenv("LOCAL_RANK", "0", 1);
	process_read(&process);
	CHECK(strcmp(process.rank, "4") == 0);
	CHECK_EQ(process.ranks, 14);
	setenv("RANK", "4 of 8", 1);
	process_read(&process);
	CHECK(strcmp(process.rank, "0") == 0);
}

/* Of nine digits at most. */
TEST(ranks_are_numbers)
{
	static const struct {
		const char *text;
		unsigned long ranks; /* 0: unknown */
	} rows[] = {
		{ "1", 1 },
		{ "007", 7 },
		{ "000000008", 8 },
		{ "999999999", 999999999 },
		{ "0000000001", 0 },
		{ "1000000000", 0 },
		{ "2147483648", 0 },
		{ "4294967297", 0 },
		{ "18446744073709551617", 0 },
		{ "99999999999999999999999999999999999999999", 0 },
		{ "", 0 },
		{ "-1", 0 },
		{ "+1", 0 },
		{ " 1", 0 },
		{ "1 ", 0 },
		{ "1.0", 0 },
		{ "0x1", 0 },
		{ "1K", 0 },
		{ "auto", 0 },
	};

	for (size_t i = 0; i < HP_LEN(rows); i++) {
		struct process process;

		setenv("PMIX_RANK", rows[i].text, 1);
		setenv("PMIX_SIZE", rows[i].text, 1);
		process_read(&process);
		if (!CHECK(strcmp(process.rank, rows[i].ranks != 0 ? rows[i].text : "") == 0) ||
		    !CHECK_EQ(process.ranks, rows[i].ranks))
			printf("# '%s'\n", rows[i].text);
		setenv("PMIX_RANK", "0", 1);
		process_read(&process);
		CHECK_EQ(process.ranks, rows[i].ranks);
	}
}

/* While the program runs, a profile is only written to files: a pipe would get several. */
TEST(a_pipe_gets_one_report)
{
	static char said[1 << 16];
	CHECK(mkfifo(check_path("pipe"), 0600) == 0);
	int fd = open(check_path("pipe"), O_RDWR | O_NONBLOCK);
	configure(check_path("pipe"), NULL);
	start();
	/* When the second buffer is read, a whole turn has passed. */
	for (int i = 0; i < 2; i++) {
		mock_memset(1, hp_now_ns(), hp_now_ns() + 1);
		mock_read();
	}
	CHECK(read(fd, said, sizeof(said) - 1) < 0);
	trace_finish();
	CHECK(read(fd, said, sizeof(said) - 1) > 0);
	CHECK_EQ(stage_count(said, "\"schema\""), 1);
	CHECK(strstr(said, "\"state\": \"ended\"") != NULL);
	close(fd);
}

TEST(time_in_the_name)
{
	char name[256];
	int year, month, day, hour, minute, second;

	CHECK_EQ(run_to_named("%t"), 4711);
	CHECK_EQ(files_left(name, sizeof(name)), 1);
	CHECK_EQ(sscanf(name, "%4d%2d%2d-%2d%2d%2d", &year, &month, &day, &hour, &minute, &second),
		 6);
	time_t now = time(NULL);
	struct tm utc;
	gmtime_r(&now, &utc);
	utc.tm_sec -= 60;
	time_t before = timegm(&utc);
	struct tm said = { .tm_year = year - 1900,
			   .tm_mon = month - 1,
			   .tm_mday = day,
			   .tm_hour = hour,
			   .tm_min = minute,
			   .tm_sec = second };
	CHECK(timegm(&said) >= before && timegm(&said) <= now);
}

TEST(replaces_an_older_profile)
{
	char name[256];
	struct stat status;

	check_write(check_path("profile.json"), "old");
	CHECK_EQ(run_to(check_path("profile.json")), 4711);
	CHECK_EQ(files_left(name, sizeof(name)), 1);
	CHECK(stat(check_path("profile.json"), &status) == 0 && status.st_size > 500);
}

CASE(missing_folder,
     check_refused(run_to_named("no/such/folder.json"), "No such file or directory"))
CASE(folder_that_is_a_file, check_refused(run_to("/proc/self/status/x.json"), "Not a directory"))
CASE(folder_that_refuses, check_refused(run_to("/proc/hotpin.json"), "/proc/hotpin.json' ("))
CASE(path_that_is_a_folder, check_refused(run_to("/tmp"), "Is a directory"))
CASE(full_device, check_refused(run_to("/dev/full"), "No space left on device"))

TEST(name_too_long)
{
	char name[300];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	check_refused(run_to_named(name), "File name too long");
}

/* The file can be created, but its number is that of stderr, and no other is free. */
TEST(no_number_is_left)
{
	struct rlimit limit;

	configure(check_path("out.json"), without_cupti);
	start();
	trace_stop();
	unlink(check_path("out.json"));
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 4;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	int left = finish();
	limit.rlim_cur = 64;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	read_log();
	check_refused(left, "Too many open files");
}

/*
 * As on a full disk: the file can be created but not filled.  The signal must not reach the
 * program.
 */
TEST(file_that_cannot_be_filled)
{
	const struct rlimit limit = { 64, 64 };

	/* Here the log is a pipe, which has no size. */
	CHECK_EQ(mkfifo(check_path("log"), 0600), 0);
	int reader = open(check_path("log"), O_RDONLY | O_NONBLOCK);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	configure(check_path("profile.json"), without_cupti);
	start();
	int left = finish();
	ssize_t length = read(reader, log_text, sizeof(log_text) - 1);
	log_text[length > 0 ? length : 0] = '\0';
	check_refused(left, "File too large");

	sigset_t pending, mask;
	sigpending(&pending);
	CHECK(!sigismember(&pending, SIGXFSZ));
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	CHECK(!sigismember(&mask, SIGXFSZ) && !sigismember(&mask, SIGPIPE));
}

/*
 * Precedes libc's for this program: imitates a file system that stalls writes of profiles by other
 * threads than the first.
 */
static _Atomic bool stalls;
static _Atomic int writers, writers_most;

__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t length)
{
	char link[64], path[512];

	snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	ssize_t got = readlink(link, path, sizeof(path) - 1);
	path[got > 0 ? got : 0] = '\0';
	bool is_profile = strstr(path, "profile.json") != NULL || strstr(path, "/.hotpin-") != NULL;
	if (is_profile && ++writers > writers_most)
		writers_most = writers;
	while (is_profile && stalls && syscall(SYS_gettid) != getpid())
		sched_yield();
	writers -= is_profile;
	return syscall(SYS_write, fd, bytes, length);
}

static bool is_stalled(void)
{
	return writers == 1;
}

static char got[1 << 16];

/* True if the pipe or file `fd` has delivered a whole profile. */
static bool is_whole(int fd)
{
	size_t length = strlen(got);
	ssize_t more = read(fd, got + length, sizeof(got) - 1 - length);

	length += more > 0 ? (size_t)more : 0;
	got[length] = '\0';
	return length > 3 && strcmp(got + length - 3, "\n}\n") == 0;
}

static int profile_fd = -1;

static bool profile_is_whole(void)
{
	if (profile_fd < 0)
		profile_fd = open(check_path("profile.json"), O_RDONLY | O_NONBLOCK);
	return profile_fd >= 0 && is_whole(profile_fd);
}

static void configure_stalled(void)
{
	configure(check_path("profile.json"), without_cupti);
	stage_clock(true);
}

/* The thread that writes the profile so far is delayed; the program ends nevertheless. */
TEST(a_file_system_that_stalls_while_the_program_ends)
{
	configure_stalled();
	stalls = true;
	start();
	CHECK(comes_true(is_stalled));
	/* The wait is limited by the clock. */
	stage_tick_ns = SECOND / 100;
	trace_finish();
	CHECK_EQ(writers_most, 1);
	CHECK_EQ(stage_count(read_log(), "takes too long"), 1);
	/* The file system was only slow: the pending write is complete. */
	stalls = false;
	CHECK(comes_true(profile_is_whole));
	CHECK(strstr(got, "\"state\": \"running\"") != NULL);
	CHECK_EQ(stage_count(got, "\"schema\""), 1);
	CHECK_EQ(writers_most, 1);
}

/* The last write stalls, because the pipe is not read. */
TEST(a_pipe_that_nobody_empties)
{
	alarm(check_limit(120));
	configure_stalled();
	CHECK(mkfifo(check_path("profile.json"), 0600) == 0);
	profile_fd = open(check_path("profile.json"), O_RDWR | O_NONBLOCK);
	CHECK(fcntl(profile_fd, F_SETPIPE_SZ, 4096) == 4096);
	start();
	trace_stop();
	stage_tick_ns = SECOND / 100;
	trace_finish();
	CHECK_EQ(stage_count(read_log(), "takes too long"), 1);
	/* A late reader gets all of it, once. */
	CHECK(comes_true(profile_is_whole));
	CHECK(strstr(got, "\"state\": \"ended\"") != NULL);
	CHECK_EQ(stage_count(got, "\"schema\""), 1);
	CHECK_EQ(writers_most, 1);
	close(profile_fd);
}

TEST(stderr_that_nobody_reads)
{
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
	close(ends[1]);
	close(ends[0]);
	hp_options_load((char *[]){ "HOTPIN_PROFILE=summary", "HOTPIN_CUPTI=off", NULL });
	hp_log_open(NULL);
	start();
	trace_finish();
	/* Still alive: SIGPIPE would have ended this process. */
	CHECK(!trace_active());
}

TEST(pipe_gets_it_as_it_is)
{
	static char text[1 << 16];
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK(dup2(ends[1], STDOUT_FILENO + 100) >= 0);
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", STDOUT_FILENO + 100);
	CHECK_EQ(run_to(path), 4711);
	ssize_t length = read(ends[0], text, sizeof(text) - 1);
	CHECK(length > 500);
	CHECK(strncmp(text, "{\n\t\"schema\": \"hotpin.profile\"", 29) == 0);
	CHECK(log_text[0] == '\0');
}

TEST(pipe_without_reader_holds_nobody_up)
{
	CHECK_EQ(mkfifo(check_path("fifo"), 0600), 0);
	CHECK_EQ(run_to(check_path("fifo")), 4711);
	CHECK(strstr(log_text, "No such device or address") != NULL);
}

CHECK_MAIN()
