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
#ifndef HP_HARNESS_PRELOAD_H
#define HP_HARNESS_PRELOAD_H

#include "check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>

struct preload_setting {
	const char *test;
	const char *const *environment;
	struct preload_setting *next;
};

extern struct preload_setting *preload_settings;

#define PRELOAD_SETTING(id, ...)                                                      \
	static const char *const environment_##id[] = { __VA_ARGS__, NULL };          \
	static struct preload_setting setting_##id = { #id, environment_##id, NULL }; \
	__attribute__((constructor)) static void setting_of_##id(void)                \
	{                                                                             \
		setting_##id.next = preload_settings;                                 \
		preload_settings = &setting_##id;                                     \
	}
#define TEST_WITH(id, ...)              PRELOAD_SETTING(id, __VA_ARGS__) TEST(id)
#define TEST_AFTER_WITH(id, first, ...) PRELOAD_SETTING(id, __VA_ARGS__) TEST_AFTER(id, first)

#define PRELOAD_UNPACK(...)             __VA_ARGS__

/* A CASE() in an environment: strings as above, in parentheses. */
#define CASE_WITH(id, environment, ...)           \
	TEST_WITH(id, PRELOAD_UNPACK environment) \
	{                                         \
		__VA_ARGS__;                      \
	}

/* True if the library is in this process, and acts. */
bool preloaded(void);

/*
 * True if the program contains the library, for a sanitizer (test/whole).  Then nothing is
 * preloaded: PRELOAD_SO is "", and "on" is the only mode.
 */
bool preload_is_linked(void);

#define OURS "libhotpin.so"

/* Returns the name of the file that contains `address`; "" if there is none. */
const char *preload_file_of(const void *address);

/* True if `address` is in the file `name`, or in one of its versions. */
bool preload_is_in(const void *address, const char *name);

/*
 * Sets "NAME=value".  "@" becomes the library's path, or nothing; the test's folder is filled in,
 * too.
 */
void preload_set(const char *setting, const char *library);

/* Tells the stand-in how much the library may pin in the program that this process becomes. */
void preload_limit_pins(void);

/*
 * Runs this program again with `arguments`, preloaded, with these settings before it in a shell,
 * and reads the profile that it writes.  Returns its wait status; its stderr is dropped.
 */
int preload_profile(const char *settings, const char *arguments, char *ret, size_t room);

/* Returns the number after "name": in a profile, or -1; "" counts as a profile. */
long preload_number(const char *profile, const char *name);

int preload_main(int argc, char **argv);

#define PRELOAD_MAIN()                           \
	int main(int argc, char **argv)          \
	{                                        \
		return preload_main(argc, argv); \
	}

#endif
