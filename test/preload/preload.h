/*
 * A test harness: each test is a process of its own that the loader starts with the library
 * preloaded.
 *
 * check.h forks, but the child of a fork does not suit these tests: once CUDA is in use, nothing is
 * pinned there.  Here a test is the same program started again.  A test states its environment; "@"
 * is the path of the library, "$TEST_FOLDER" the test's folder:
 *
 *	TEST_WITH(order, "LD_PRELOAD=liba.so:@:libb.so") { CHECK(...); }
 *	PRELOAD_MAIN()
 *
 * `program MODE [NAME]` runs all tests, or the test NAME: "on" with the library, "off" with it and
 * HOTPIN=0, "plain" without it.  HOTPIN_THREADS, HOTPIN_PIN_BUDGET and the rates are fixed unless a
 * test sets them.  Assertions that do not depend on preloaded() are thereby shown to hold without
 * the library, too.
 *
 * The stand-in ends a process in which the library pins more bytes than its options allow.  After
 * each test, the most that its process and its children had pinned is compared with that limit.  A
 * test passes as in check.h: `program --child NAME` must end with the harness's own status.
 * `program --no-fork NAME` runs one test in this process, with any library preloaded.
 */
#ifndef HP_TEST_PRELOAD_H
#define HP_TEST_PRELOAD_H

#include "../check.h"
#include "watch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>

struct preload_setting {
	const char *test;
	const char *const *environment;
	struct preload_setting *next;
};

__attribute__((weak)) struct preload_setting *preload_settings;

#define TEST_WITH(id, ...)                                                            \
	static const char *const environment_##id[] = { __VA_ARGS__, NULL };          \
	static struct preload_setting setting_##id = { #id, environment_##id, NULL }; \
	__attribute__((constructor)) static void setting_of_##id(void)                \
	{                                                                             \
		setting_##id.next = preload_settings;                                 \
		preload_settings = &setting_##id;                                     \
	}                                                                             \
	TEST(id)

/* True if the library is in this process, and acts. */
static inline bool preloaded(void)
{
	const char *enable = getenv("HOTPIN"), *list = getenv("LD_PRELOAD");

	return list != NULL && strstr(list, "libhotpin.so") != NULL &&
	       (enable == NULL || strcmp(enable, "0") != 0);
}

/* Returns the name of the file that contains `address`; "" if there is none. */
static inline const char *preload_file_of(const void *address)
{
	Dl_info info;

	if (dladdr(address, &info) == 0 || info.dli_fname == NULL)
		return "";
	const char *slash = strrchr(info.dli_fname, '/');
	return slash != NULL ? slash + 1 : info.dli_fname;
}

#define OURS "libhotpin.so"

/* True if `address` is in the file `name`, or in one of its versions. */
static inline bool preload_is_in(const void *address, const char *name)
{
	const char *file = preload_file_of(address);

	return strncmp(file, name, strlen(name)) == 0 &&
	       (file[strlen(name)] == '\0' || file[strlen(name)] == '.');
}

/* Replaces the first `mark` in the text, which has room for 4096 bytes. */
static inline void preload_replace(char *text, const char *mark, const char *by)
{
	char rest[4096], *at = strstr(text, mark);

	if (at == NULL)
		return;
	snprintf(rest, sizeof(rest), "%s", at + strlen(mark));
	snprintf(at, 4096 - (size_t)(at - text), "%s%s", by, rest);
}

/*
 * Sets "NAME=value".  "@" becomes the library's path, or nothing; the test's folder is filled in,
 * too.
 */
static inline void preload_set(const char *setting, const char *library)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s", setting);
	preload_replace(text, "@", library);
	preload_replace(text, "$TEST_FOLDER", check_folder());
	char *equals = strchr(text, '=');
	*equals = '\0';
	setenv(text, equals + 1, 1);
}

/* Tells the stand-in how much the library may pin in the program that this process becomes. */
static inline void preload_limit_pins(void)
{
	const char *list = getenv("LD_PRELOAD"), *pin = getenv("HOTPIN_PIN");
	bool pins = preloaded() && (pin == NULL || strcmp(pin, "0") != 0);

	if (list == NULL || strstr(list, OURS) == NULL)
		unsetenv("STANDIN_PINS_LIMIT");
	else
		setenv("STANDIN_PINS_LIMIT", pins ? getenv("HOTPIN_PIN_BUDGET") : "0", 1);
}

/* Replaces this process by the test's process. */
static inline void preload_exec(const char *test, const char *mode, unsigned seconds)
{
	const char *library = strcmp(mode, "plain") != 0 ? getenv("PRELOAD_SO") : "";

	/* Overrides meson's setting, which has the folder of every built library. */
	if (getenv("PRELOAD_PATH") != NULL)
		setenv("LD_LIBRARY_PATH", getenv("PRELOAD_PATH"), 1);
	/* Equal on all machines, unless the caller sets other values. */
	setenv("HOTPIN_THREADS", "2", 0);
	setenv("HOTPIN_PIN_BUDGET", "2G", 0);
	setenv("HOTPIN_LEARN", "0", 0);
	preload_set("LD_PRELOAD=@", library);
	if (strcmp(mode, "off") == 0)
		setenv("HOTPIN", "0", 1);
	for (struct preload_setting *setting = preload_settings; setting != NULL;
	     setting = setting->next)
		for (int i = 0; strcmp(setting->test, test) == 0 && setting->environment[i]; i++)
			preload_set(setting->environment[i], library);
	if (getenv("LD_PRELOAD")[0] == '\0')
		unsetenv("LD_PRELOAD");
	preload_limit_pins();
	alarm(check_limit(seconds));
	execl("/proc/self/exe", "/proc/self/exe", "--child", test, (char *)NULL);
	_exit(127);
}

/* Runs the test in a new process with a folder.  Returns 0: passed, 77: skipped. */
static inline int preload_run(const char *test, const char *mode)
{
	char folder[256];
	int status;

	fflush(stdout);
	check_folder_begin(folder);
	pid_t child = fork();
	if (child == 0)
		preload_exec(test, mode, 100);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		status = 1 << 8;
	check_folder_end(folder);
	status = check_result(status);
	return watch_is_kept() ? status : 1;
}

static inline int preload_main(int argc, char **argv)
{
	int count = 0, failed = 0;
	const char *only = argc == 3 && argv[1][0] != '-' ? argv[2] : NULL;

	check_fill_descriptors();
	if ((argc != 2 && only == NULL) || getenv("PRELOAD_SO") == NULL)
		return check_main(argc, argv);
	for (struct check_test *test = check_first; test != NULL; test = test->next)
		count += only == NULL || strcmp(test->name, only) == 0;
	if (count == 0)
		return 2;
	printf("1..%d\n", count);
	count = 0;
	watch_begin();
	for (struct check_test *test = check_first; test != NULL; test = test->next) {
		if (only != NULL && strcmp(test->name, only) != 0)
			continue;
		int status = preload_run(test->name, argv[1]);
		bool good = status == 0 || status == CHECK_SKIPPED;

		count++;
		failed += !good;
		printf("%s %d - %s%s\n", good ? "ok" : "not ok", count, test->name,
		       status == CHECK_SKIPPED ? " # SKIP" : "");
	}
	return failed != 0;
}

#define PRELOAD_MAIN()                           \
	int main(int argc, char **argv)          \
	{                                        \
		return preload_main(argc, argv); \
	}

#endif
