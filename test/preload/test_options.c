/*
 * test_options.c - the messages about options, where they are written, and which programs
 * HOTPIN_ONLY selects.
 */
#include "preload.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Runs when a test starts this program: it allocates, which the library counts. */
static int work(const char *how)
{
	char *volatile block = malloc(4 << 20);

	memset(block, 1, 4 << 20);
	free(block);
	if (strcmp(how, "takes over stderr") == 0) {
		int fd = open(getenv("PRELOAD_FILE"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

		return write(fd, "data\n", 5) == 5 && fd == 2 ? 7 : 1;
	}
	return 7;
}

static char said[4096];

/* Starts this program with `settings` (NULL-terminated), and keeps its stderr. */
static void start(const char *how, const char *const *settings)
{
	int ends[2];
	size_t used = 0;
	ssize_t got;

	fflush(stdout);
	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	pid_t child = fork();
	if (child == 0) {
		signal(SIGPIPE, SIG_DFL);
		signal(SIGXFSZ, SIG_DFL);
		for (; *settings != NULL; settings++)
			preload_set(*settings, "");
		setenv("LD_PRELOAD", getenv("PRELOAD_SO"), 1);
		dup2(ends[1], STDERR_FILENO);
		if (how[0] == 't')
			close(STDERR_FILENO);
		if (strcmp(how, "nobody reads") == 0)
			close(ends[0]);
		if (strcmp(how, "no file may grow") == 0)
			setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
		execl("/proc/self/exe", "preload_options", "work", how, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	if (strcmp(how, "nobody reads") == 0) {
		close(ends[0]);
		ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	while ((got = read(ends[0], said + used, sizeof(said) - 1 - used)) > 0)
		used += (size_t)got;
	said[used] = '\0';
	close(ends[0]);
	CHECK_EQ(check_status(child), 7);
}
#define START(how, ...) start(how, (const char *const[]){ __VA_ARGS__, NULL })

/* Expects one line: "hotpin[<number>] " and then `text`. */
static void says(const char *text)
{
	char expected[512];
	int number = 0;

	sscanf(said, "hotpin[%d]", &number);
	snprintf(expected, sizeof(expected), "hotpin[%d] %s\n", number, text);
	if (!CHECK(number > 0 && strcmp(said, expected) == 0))
		printf("# said: %s\n", said);
}

static void says_nothing(void)
{
	if (!CHECK(said[0] == '\0'))
		printf("# said: %s\n", said);
}

TEST(silent_by_default)
{
	START("", "HOTPIN=1");
	says_nothing();
	START("", "HOTPINS=8", "XHOTPIN_LOG=debug");
	says_nothing();
}

TEST(unknown_options)
{
	START("", "HOTPIN_PIN_BUGDET=1G");
	says("warn: HOTPIN_PIN_BUGDET is not an option and does nothing; `hotpin env` "
	     "lists them");
}

TEST(the_log_file)
{
	char *path = check_path("log"), setting[4200], text[256] = "";
	int fd = open(path, O_CREAT | O_RDWR, 0600);

	CHECK(fd >= 0);
	snprintf(setting, sizeof(setting), "HOTPIN_LOG_FILE=%s", path);
	START("", setting, "HOTPIN_LOG=debug");
	says_nothing();
	CHECK(read(fd, text, sizeof(text) - 1) > 0 && strncmp(text, "hotpin[", 7) == 0);
	close(fd);
	unlink(path);
	START("", "HOTPIN_LOG_FILE=/no/such/folder/log");
	says("warn: HOTPIN_LOG_FILE: cannot open '/no/such/folder/log' (No such file or "
	     "directory), so messages go to stderr; name a file that can be written");
}

/* Turned off, the library does nothing, in spite of other options. */
TEST(the_log_file_is_named_after_the_process)
{
	pid_t child = fork();
	if (child == 0) {
		setenv("HOTPIN_LOG_FILE", check_path("log-%p"), 1);
		setenv("LD_PRELOAD", getenv("PRELOAD_SO"), 1);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	CHECK_EQ(check_status(child), 0);
	char name[32];
	snprintf(name, sizeof(name), "log-%d", (int)child);
	CHECK_EQ(unlink(check_path(name)), 0);
	/* There was no other file. */
	CHECK_EQ(rmdir(check_folder()), 0);
}

TEST(off_is_silent)
{
	START("", "HOTPIN=0", "HOTPIN_LOG=debug", "HOTPIN_PROFILE=trace");
	says_nothing();
	START("", "HOTPIN=0", "HOTPIN_NONSENSE=1", "HOTPIN_PIN_BUDGET=banana",
	      "HOTPIN_LOG_FILE=/no/such/folder/log");
	says_nothing();
}

/* "allocations served" at the end shows that the library acts in a process. */
TEST(only_some_programs)
{
	START("", "HOTPIN_LOG=debug", "HOTPIN_ONLY=preload_*");
	CHECK(strstr(said, "allocations served by the big-block heap: 1\n") != NULL);
	START("", "HOTPIN_LOG=debug", "HOTPIN_ONLY=pre??ad_options");
	CHECK(strstr(said, "allocations served") != NULL);
	START("", "HOTPIN_LOG=debug", "HOTPIN_ONLY=other*");
	says_nothing();
	START("", "HOTPIN_LOG=debug", "HOTPIN_ONLY=preload");
	says_nothing();
}

/* A program without stderr opens a file that gets its number: hotpin must not write to it. */
TEST(a_file_at_the_number_of_stderr)
{
	char *path = check_path("log"), setting[4200], text[4096] = "";
	int fd = open(path, O_CREAT | O_RDWR, 0600);

	CHECK(fd >= 0);
	snprintf(setting, sizeof(setting), "PRELOAD_FILE=%s", path);
	START("takes over stderr", setting, "HOTPIN_LOG=debug", "HOTPIN_NONSENSE=1");
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	if (!CHECK(strcmp(text, "data\n") == 0))
		printf("# the file holds: %s\n", text);
	close(fd);
	unlink(path);
}

/* A signal caused by our message would end a program that writes nothing itself. */
TEST(nothing_that_is_said_ends_the_program)
{
	char *path = check_path("log"), setting[4200];
	int fd = open(path, O_CREAT | O_RDWR, 0600);

	CHECK(fd >= 0);
	snprintf(setting, sizeof(setting), "HOTPIN_LOG_FILE=%s", path);
	START("nobody reads", "HOTPIN_LOG=debug", "HOTPIN_NONSENSE=1");
	START("no file may grow", "HOTPIN_LOG=debug", setting);
	close(fd);
	unlink(path);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "work") == 0)
		return work(argv[2]);
	return preload_main(argc, argv);
}
