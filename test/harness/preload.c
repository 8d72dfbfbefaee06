/*
 * preload.c - starts each test in its environment, and watches what it pins.
 */
#include "preload.h"
#include "watch.h"

struct preload_setting *preload_settings;

static const char *mode;

/* Only test/whole/linked.c has it. */
extern const char whole_is_linked[] __attribute__((weak));

bool preload_is_linked(void)
{
	return whole_is_linked != NULL;
}

static bool is_here(void)
{
	const char *list = getenv("LD_PRELOAD");

	return preload_is_linked() || (list != NULL && strstr(list, OURS) != NULL);
}

bool preloaded(void)
{
	const char *enable = getenv("HOTPIN");

	return is_here() && (enable == NULL || strcmp(enable, "0") != 0);
}

const char *preload_file_of(const void *address)
{
	Dl_info info;

	if (dladdr(address, &info) == 0 || info.dli_fname == NULL)
		return "";
	const char *slash = strrchr(info.dli_fname, '/');
	return slash != NULL ? slash + 1 : info.dli_fname;
}

bool preload_is_in(const void *address, const char *name)
{
	const char *file = preload_file_of(address);

	return strncmp(file, name, strlen(name)) == 0 &&
	       (file[strlen(name)] == '\0' || file[strlen(name)] == '.');
}

/* Replaces the first `mark` in the text, which has room for 4096 bytes. */
static void replace(char *text, const char *mark, const char *by)
{
	char rest[4096], *at = strstr(text, mark);

	if (at == NULL)
		return;
	snprintf(rest, sizeof(rest), "%s", at + strlen(mark));
	snprintf(at, 4096 - (size_t)(at - text), "%s%s", by, rest);
}

void preload_set(const char *setting, const char *library)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s", setting);
	replace(text, "@", library);
	replace(text, "$TEST_FOLDER", check_folder());
	char *equals = strchr(text, '=');
	*equals = '\0';
	setenv(text, equals + 1, 1);
}

void preload_limit_pins(void)
{
	const char *pin = getenv("HOTPIN_PIN");
	bool pins = preloaded() && (pin == NULL || strcmp(pin, "0") != 0);

	if (!is_here())
		unsetenv("STANDIN_PINS_LIMIT");
	else
		setenv("STANDIN_PINS_LIMIT", pins ? getenv("HOTPIN_PIN_BUDGET") : "0", 1);
}

int preload_profile(const char *settings, const char *arguments, char *ret, size_t room)
{
	char *path = check_path("profile.json"), self[4096] = "", command[16384];

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -1;
	snprintf(command, sizeof(command),
		 "LD_PRELOAD=%s LD_LIBRARY_PATH=%s HOTPIN_CUPTI=off HOTPIN_OUT='%s' %s '%s' %s "
		 "2>/dev/null",
		 getenv("PRELOAD_SO"), getenv("PRELOAD_PATH"), path, settings, self, arguments);
	int status = system(command);
	check_read(path, ret, room);
	unlink(path);
	return status;
}

long preload_number(const char *profile, const char *name)
{
	char key[128];

	snprintf(key, sizeof(key), "\"%s\": ", name);
	const char *found = strstr(profile, key);
	return found != NULL ? atol(found + strlen(key)) : -1;
}

/* Replaces this process by the test's process. */
static void start(const char *test, unsigned seconds)
{
	const char *library = strcmp(mode, "plain") != 0 ? getenv("PRELOAD_SO") : "";

	/* Overrides meson's setting, which has the folder of every built library. */
	if (getenv("PRELOAD_PATH") != NULL)
		setenv("LD_LIBRARY_PATH", getenv("PRELOAD_PATH"), 1);
	/* Equal on all machines, unless the caller sets other values. */
	setenv("HOTPIN_THREADS", "2", 0);
	setenv("HOTPIN_PIN_BUDGET", "2G", 0);
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
static int run(const struct check_test *test)
{
	char folder[256];
	int status;

	fflush(stdout);
	check_folder_begin(folder);
	pid_t child = fork();
	if (child == 0)
		start(test->name, 100);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		status = 1 << 8;
	check_folder_end(folder);
	status = check_result(status);
	return watch_is_kept() ? status : 1;
}

int preload_main(int argc, char **argv)
{
	const char *only = argc == 3 && argv[1][0] != '-' ? argv[2] : NULL;

	if ((argc != 2 && only == NULL) || getenv("PRELOAD_SO") == NULL)
		return check_main(argc, argv);
	check_fill_descriptors();
	mode = argv[1];
	watch_begin();
	return check_each(only, run);
}
