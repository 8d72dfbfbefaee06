/*
 * test_early.c - memory and the driver are used before main(): by the executable's own
 * initializers, which run before every constructor, and by libraries loaded before and after ours.
 */
#include "device.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>

/* Runs before any library's constructor, including ours. */
static char *first_small, *first_big;
static bool first_copied;
static const char *first_value;

/*
 * A sanitizer that is linked statically has such a function.  Until dlsym() has found libc's for
 * it, it crashes.
 */
static __typeof__(dl_iterate_phdr) *libcs_iterate;

__attribute__((visibility("default"))) int dl_iterate_phdr(int (*look)(struct dl_phdr_info *,
								       size_t, void *),
							   void *arg)
{
	return libcs_iterate(look, arg);
}

static void first_of_all(int argc, char **argv, char **environment)
{
	(void)argc, (void)argv;
	for (; *environment != NULL; environment++)
		if (strncmp(*environment, "EARLY=", 6) == 0)
			first_value = *environment + 6;
	if (first_value != NULL) {
		first_small = strdup("first");
		first_big = calloc(1, 4 << 20);
		free(malloc(100));
		first_small = realloc(first_small, 100);
	}
	libcs_iterate = (__typeof__(libcs_iterate))dlsym(RTLD_NEXT, "dl_iterate_phdr");
	if (first_value != NULL && strcmp(first_value, "copy") == 0)
		first_copied = device_copies(dlopen("libcuda.so.1", RTLD_NOW), dlsym);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const first_entry)(int, char **, char **) = first_of_all;

static void use_early_memory(void)
{
	CHECK(first_small != NULL && strcmp(first_small, "first") == 0);
	CHECK(first_big != NULL && first_big[0] == 0 && first_big[(4 << 20) - 1] == 0);
	first_small = realloc(first_small, 1 << 20);
	CHECK(strcmp(first_small, "first") == 0);
	free(first_small);
	first_big = realloc(first_big, 8 << 20);
	CHECK(first_big[0] == 0 && first_big[(4 << 20) - 1] == 0);
	free(first_big);
}

/* ISO C: errno is zero when the program starts. */
static int errno_at_start;

__attribute__((constructor(101))) static void read_errno(void)
{
	errno_at_start = errno;
}

TEST_WITH(errno_at_the_start, "HOTPIN_LOG_FILE=/proc/none/log")
{
	CHECK_EQ(errno_at_start, 0);
}

TEST_WITH(memory_before_all_constructors, "EARLY=memory")
{
	use_early_memory();
	CHECK(device_copies(dlopen("libcuda.so.1", RTLD_NOW), dlsym));
}

/* hotpin cannot know its options yet, so it leaves the program as it is. */
TEST_WITH(the_driver_before_all_constructors, "EARLY=copy", "HOTPIN_PROFILE=trace",
	  "HOTPIN_CUPTI=off", "HOTPIN_LOG_FILE=/dev/null")
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	use_early_memory();
	CHECK(first_copied);
	CHECK(device_copies(driver, dlsym));
	CHECK_EQ(calls_of(driver, "cuMemHostRegister"), 0);
}

/* Checks what lib/early.c did in its constructor, and its memory afterwards. */
static void check_early_library(void)
{
	const char *const *report = dlsym(RTLD_DEFAULT, "early_report");
	char **small = dlsym(RTLD_DEFAULT, "early_small");
	char **big = dlsym(RTLD_DEFAULT, "early_big");

	if (!CHECK(report != NULL))
		return;
	if (!CHECK((*report)[0] == '\0'))
		printf("# %s\n", *report);
	CHECK(strcmp(*small, "early") == 0);
	CHECK((*big)[0] == 'b' && (*big)[(4 << 20) - 1] == 'b');
	free(*small);
	free(*big);
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CHECK(device_copies(driver, dlsym));
	CHECK_EQ(calls_of(driver, "cuMemHostRegister") > 0, preloaded());
}

CASE_WITH(a_constructor_in_front_of_us, ("LD_PRELOAD=libearly.so:@"), check_early_library())
CASE_WITH(a_constructor_behind_us, ("LD_PRELOAD=@:libearly.so"), check_early_library())
CASE_WITH(a_constructor_and_a_driver_that_reenters,
	  ("LD_PRELOAD=@:libearly.so", "STANDIN_REENTER=1", "HOTPIN_PROFILE=trace",
	   "HOTPIN_CUPTI=off", "HOTPIN_LOG_FILE=/dev/null"),
	  check_early_library())

/* The loader lays out thread-local variables before it opens what is preloaded. */
TEST_WITH(an_auditing_library, "LD_AUDIT=libaudits.so", "EARLY=memory")
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	use_early_memory();
	CHECK(device_copies(driver, dlsym));
	CHECK_EQ(calls_of(driver, "cuMemHostRegister") > 0, preloaded());
}

/* The next library allocates while we look up its functions. */
TEST_WITH(memory_while_we_look, "LD_PRELOAD=@:libresolver.so")
{
	char **blocks = dlsym(RTLD_DEFAULT, "resolver_blocks");
	char *page = ((void *(*)(size_t))dlsym(RTLD_DEFAULT, "valloc"))(1);

	CHECK((size_t)page % 4096 == 0);
	free(page);
	for (int i = 0; i < 3; i++)
		CHECK(blocks[i] != NULL && strcmp(blocks[i], "early") == 0);
	CHECK(malloc_usable_size(blocks[0]) >= 100);
	blocks[0] = realloc(blocks[0], 200);
	CHECK(strcmp(blocks[0], "early") == 0);
	blocks[1] = realloc(blocks[1], 4 << 20);
	CHECK(strcmp(blocks[1], "early") == 0);
	for (int i = 0; i < 3; i++)
		free(blocks[i]);
}

/* The library is loaded long after the program's start. */
TEST(a_cuda_user_that_is_loaded_late)
{
	CHECK(dlopen("libearly.so", RTLD_NOW | RTLD_GLOBAL) != NULL);
	check_early_library();
}

PRELOAD_MAIN()
