/*
 * test_find.c - which libcupti is loaded, in a program that has none yet.
 *
 * The environment names the mock's file and a library that replaces libcudart.
 */
#include "trace/collect/cupti.h"
#include "trace/trace.h"
#include "base/log.h"
#include "base/options.h"
#include "check.h"
#include "mock_cupti.h"

#include <dlfcn.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

static void copy_file(const char *from, const char *to)
{
	char command[2048];

	snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\" && cp '%s' '%s'",
		 check_path(to), from, check_path(to));
	if (system(command) != 0)
		abort();
}

static void begin(void)
{
	umask(022);
	unsetenv("CUDA_PATH");
	unsetenv("CUDA_HOME");
}

/* Loads, and checks that the library is `expected` below the folder (NULL: none). */
static void check_loads(int driver_version, const char *expected)
{
	static struct cupti cupti;
	char why[256] = "", want[4096] = "", *got;

	int result = cupti_load(&cupti, driver_version, why, sizeof(why));
	if (expected == NULL) {
		CHECK(result != 0);
		CHECK(why[0] != '\0');
		return;
	}
	if (!CHECK_EQ(result, 0)) {
		printf("# %s\n", why);
		return;
	}
	got = realpath(cupti.path, NULL);
	if (realpath(check_path(expected), want) == NULL || got == NULL ||
	    !CHECK(strcmp(got, want) == 0))
		printf("# %s, not %s\n", cupti.path, check_path(expected));
	free(got);
	CHECK_EQ(cupti.version, 130001);
}

/* `of` is a library of the program, next to which the loader finds `expected`. */
static void check_next_to(const char *of, const char *expected)
{
	begin();
	copy_file(getenv("TEST_PLAIN"), of);
	copy_file(getenv("TEST_MOCK"), expected);
	CHECK(dlopen(check_path(of), RTLD_NOW) != NULL);
	check_loads(13000, expected);
}

CASE(next_to_the_cudart_of_a_wheel, check_next_to("nvidia/cuda_runtime/lib/libcudart.so.13",
						  "nvidia/cuda_cupti/lib/libcupti.so.13"))
CASE(next_to_torch, check_next_to("torch/lib/libtorch_cuda.so", "nvidia/cu13/lib/libcupti.so.13"))
CASE(in_the_folder_of_cudart, check_next_to("lib64/libcudart.so.13", "lib64/libcupti.so.13"))

/* The runtime's own version is preferred to a newer CUPTI next to it. */
TEST_AFTER(of_the_same_version_as_cudart, begin())
{
	copy_file(getenv("TEST_PLAIN"), "lib64/libcudart.so.12");
	copy_file(getenv("TEST_MOCK"), "lib64/libcupti.so.12");
	copy_file(getenv("TEST_MOCK"), "lib64/libcupti.so.13");
	CHECK(dlopen(check_path("lib64/libcudart.so.12"), RTLD_NOW) != NULL);
	check_loads(13000, "lib64/libcupti.so.12");
}

TEST_AFTER(in_the_toolkit, begin())
{
	/* A version that is in no system's loader path. */
	copy_file(getenv("TEST_MOCK"), "extras/CUPTI/lib64/libcupti.so.11.4");
	setenv("CUDA_PATH", check_folder(), 1);
	check_loads(11040, "extras/CUPTI/lib64/libcupti.so.11.4");
}

TEST_AFTER(loaded_already_goes_before_all, begin())
{
	copy_file(getenv("TEST_MOCK"), "somewhere/libcupti.so.13");
	copy_file(getenv("TEST_MOCK"), "extras/CUPTI/lib64/libcupti.so.13");
	copy_file(getenv("TEST_PLAIN"), "extras/CUPTI/lib64/libcudart.so.13");
	setenv("CUDA_PATH", check_folder(), 1);
	CHECK(dlopen(check_path("extras/CUPTI/lib64/libcudart.so.13"), RTLD_NOW) != NULL);
	CHECK(dlopen(check_path("somewhere/libcupti.so.13"), RTLD_NOW) != NULL);
	check_loads(13000, "somewhere/libcupti.so.13");
}

/* A driver of CUDA 12 gets no CUPTI of CUDA 13. */
TEST_AFTER(never_newer_than_the_driver, begin())
{
	copy_file(getenv("TEST_MOCK"), "lib64/libcupti.so.13");
	setenv("CUDA_PATH", check_folder(), 1);
	check_loads(11080, NULL);
}

TEST_AFTER(library_that_is_no_cupti, begin())
{
	copy_file(getenv("TEST_PLAIN"), "lib64/libcupti.so.11.4");
	setenv("CUDA_PATH", check_folder(), 1);
	check_loads(11040, NULL);
}

/* A wheel's other libraries tell the version, too. */
TEST_AFTER(not_of_another_version_than_cublas, begin())
{
	copy_file(getenv("TEST_PLAIN"), "lib64/libcublas.so.11");
	copy_file(getenv("TEST_PLAIN"), "other/libtorch_cuda.so");
	copy_file(getenv("TEST_MOCK"), "lib64/libcupti.so.12");
	copy_file(getenv("TEST_MOCK"), "other/libcupti.so.12");
	CHECK(dlopen(check_path("lib64/libcublas.so.11"), RTLD_NOW) != NULL);
	CHECK(dlopen(check_path("other/libtorch_cuda.so"), RTLD_NOW) != NULL);
	copy_file(getenv("TEST_MOCK"), "extras/CUPTI/lib64/libcupti.so.11.4");
	check_loads(12000, "extras/CUPTI/lib64/libcupti.so.11.4");
}

#define OTHER   1 /* another user */
#define CUDART  "libcudart.so.11.0"
/* A version that is in no system's loader path. */
#define CUPTI   "libcupti.so.11.4"
#define EXTRAS  "shared/extras"
#define PLANTED EXTRAS "/CUPTI/lib64/" CUPTI

/* A folder like /tmp has a program's library `of`, which is loaded, and a libcupti `in`. */
static void begin_shared(const char *of, const char *in)
{
	begin();
	if (geteuid() != 0)
		CHECK_SKIP("only root can make another user's files");
	mkdir(check_path("shared"), 0755);
	CHECK_EQ(chmod(check_path("shared"), 01777), 0);
	copy_file(getenv("TEST_PLAIN"), of);
	copy_file(getenv("TEST_MOCK"), in);
	CHECK(dlopen(check_path(of), RTLD_NOW) != NULL);
}

static void give(const char *name)
{
	CHECK_EQ(lchown(check_path(name), OTHER, OTHER), 0);
}

/* The library must not be loaded, and the reason is that others can change it. */
static void check_refuses(void)
{
	static struct cupti cupti;
	char why[4400] = "";

	CHECK(cupti_load(&cupti, 11040, why, sizeof(why)) != 0);
	if (!CHECK(strstr(why, "is not loaded, because other users can change it") != NULL))
		printf("# %s\n", why);
}

TEST(outside_of_the_installation)
{
	/* The prefix is a folder of a wheel; the folder above it is for all. */
	begin_shared("shared/env/lib/" CUDART, "shared/cuda_cupti/lib/" CUPTI);
	copy_file(getenv("TEST_MOCK"), "shared/nvidia/cuda_cupti/lib/" CUPTI);
	copy_file(getenv("TEST_MOCK"), "shared/env/extras/CUPTI/lib64/" CUPTI);
	check_loads(11040, NULL);
}

/* Makes a planted library like this: of `mode`, and of the owner and the group, if they are not 0.
 */
static void begin_planted(const char *name, mode_t mode, uid_t owner, gid_t group)
{
	begin_shared("shared/lib64/" CUDART, PLANTED);
	CHECK_EQ(chown(check_path(name), owner, group), 0);
	CHECK_EQ(chmod(check_path(name), mode), 0);
}

CASE(planted_in_a_shared_folder, begin_planted(EXTRAS, 0755, OTHER, OTHER); check_refuses())
CASE(in_a_shared_folder_that_is_not_sticky, begin_planted("shared", 0777, 0, 0); check_refuses())
CASE(file_of_another_user, begin_planted(PLANTED, 0755, OTHER, OTHER); check_refuses())
CASE(file_that_others_can_write, begin_planted(PLANTED, 0757, 0, 0); check_refuses())
CASE(folder_that_a_group_can_write, begin_planted(EXTRAS, 0775, 0, OTHER); check_refuses())
CASE(our_own_in_a_shared_folder, begin_planted(EXTRAS, 0755, 0, 0); check_loads(11040, PLANTED))
/* The group of a user alone has the user's number. */
CASE(folder_that_the_own_group_can_write, begin_planted(EXTRAS, 0775, 0, 0);
     check_loads(11040, PLANTED))

/* A library finds others in its own folder. */
TEST(among_files_of_others)
{
	begin_shared("shared/" CUDART, "shared/" CUPTI);
	check_refuses();
}

TEST(folder_with_an_access_list)
{
	/* Of acl(5): version 2; the owner, user OTHER, the group, the mask, and all others. */
	static const struct {
		uint32_t version;
		struct {
			uint16_t tag, may;
			uint32_t id;
		} entry[5];
	} list = {
		2, { { 1, 7, -1u }, { 2, 7, OTHER }, { 4, 5, -1u }, { 16, 7, -1u }, { 32, 5, -1u } }
	};

	begin_shared("shared/lib64/" CUDART, PLANTED);
	if (setxattr(check_path(EXTRAS), "system.posix_acl_access", &list, sizeof(list), 0) < 0)
		CHECK_SKIP("there are no access lists here");
	check_refuses();
}

TEST(by_a_link_of_another_user)
{
	begin_shared("shared/lib64/" CUDART, "ours/CUPTI/lib64/" CUPTI);
	CHECK_EQ(symlink("../ours", check_path(EXTRAS)), 0);
	give(EXTRAS);
	check_refuses();
}

TEST(by_a_link_of_our_own)
{
	begin_shared("shared/lib64/" CUDART, "ours/CUPTI/lib64/" CUPTI);
	CHECK_EQ(symlink("../ours", check_path(EXTRAS)), 0);
	check_loads(11040, "ours/CUPTI/lib64/" CUPTI);
}

/* Of an administrator of software, who is not root. */
TEST(all_of_the_owner_of_the_prefix)
{
	begin_shared("apps/cuda/lib64/" CUDART, "apps/cuda/extras/CUPTI/lib64/" CUPTI);
	give("apps/cuda");
	give("apps/cuda/extras");
	give("apps/cuda/extras/CUPTI");
	give("apps/cuda/extras/CUPTI/lib64");
	give("apps/cuda/extras/CUPTI/lib64/" CUPTI);
	check_loads(11040, "apps/cuda/extras/CUPTI/lib64/" CUPTI);
}

static void name_toolkit(const char *folder_of_all)
{
	begin_shared("ours/" CUDART, "shared/cuda/lib64/" CUPTI);
	CHECK_EQ(chmod(check_path(folder_of_all), 01777), 0);
	setenv("CUDA_PATH", check_path("shared/cuda"), 1);
}

TEST(toolkit_of_another_user)
{
	name_toolkit("shared");
	give("shared/cuda");
	check_refuses();
}

TEST(toolkit_of_our_own)
{
	name_toolkit("shared");
	check_loads(11040, "shared/cuda/lib64/" CUPTI);
}

TEST(toolkit_that_all_can_write)
{
	name_toolkit("shared/cuda");
	give("shared/cuda/lib64");
	check_refuses();
}

/* Starts a profile of a summary, whose table end_profile() returns. */
static void begin_profile(const struct trace_facts *facts)
{
	hp_options_load((char *[]){ "HOTPIN_PROFILE=summary", NULL });
	hp_log_open(check_path("log"));
	trace_start(facts);
}

static const char *end_profile(void)
{
	static char text[8192];

	trace_finish();
	CHECK(check_read(check_path("log"), text, sizeof(text))[0] != '\0');
	return text;
}

/* It does not tell calls, and its clock cannot be read. */
TEST_AFTER(an_old_one, begin())
{
	struct timespec real, ours;
	const uint64_t milli = 1000000;

	copy_file(getenv("TEST_OLD"), "extras/CUPTI/lib64/libcupti.so.11.4");
	setenv("CUDA_PATH", check_folder(), 1);
	clock_gettime(CLOCK_MONOTONIC, &ours);
	uint64_t now = (uint64_t)ours.tv_sec * 1000000000 + (uint64_t)ours.tv_nsec;
	begin_profile(
		&(struct trace_facts){ .driver_version = 11040, .began_ns = now - 1000 * milli });
	void *mock = dlopen(check_path("extras/CUPTI/lib64/libcupti.so.11.4"), RTLD_NOW);
	struct mock_cupti *state = mock != NULL ? dlsym(mock, "mock_cupti") : NULL;
	void (*record)(const char *, uint32_t, uint64_t, uint64_t) =
		mock != NULL ? dlsym(mock, "mock_kernel") : NULL;
	if (!CHECK(state != NULL && record != NULL))
		return;
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &ours);
	state->clock_offset =
		(real.tv_sec - ours.tv_sec) * INT64_C(1000000000) + real.tv_nsec - ours.tv_nsec;
	state->timestamp_result = CUPTI_NOT_COMPATIBLE;
	record("k", 0, now - 20 * milli, now - 10 * milli);
	const char *text = end_profile();
	CHECK(strstr(text, "Kernels             10.0 ms") != NULL);
	CHECK(strstr(text, "note:") == NULL);
}

/* The table says so; the name of a folder cannot drive the terminal. */
TEST_AFTER(refused_in_the_table, begin())
{
	copy_file(getenv("TEST_MOCK"), "\033[31m\302\233m/lib64/" CUPTI);
	CHECK_EQ(chmod(check_path("\033[31m\302\233m/lib64"), 0777), 0);
	setenv("CUDA_PATH", check_path("\033[31m\302\233m"), 1);
	begin_profile(&(struct trace_facts){ .driver_version = 11040 });
	trace_copied(&(struct trace_copy){ .direction = TRACE_H2D, .bytes = 1000 });
	const char *text = end_profile();
	CHECK(strstr(text, "?[31m??m/lib64/") != NULL);
	CHECK(strchr(text, '\033') == NULL && strstr(text, "\302\233") == NULL);
	if (!CHECK(strstr(text, "is not loaded") != NULL))
		printf("# %s\n", text);
}

/* NVIDIA's own, without a driver: it refuses, and the profile continues without it. */
TEST(real_one_without_a_driver)
{
	static const char *const paths[] = { "/usr/local/cuda/lib64/libcupti.so.13",
					     "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
					     "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12" };
	void *real = NULL;

	for (int i = 0; i < 3 && real == NULL; i++)
		real = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
	if (real == NULL)
		CHECK_SKIP("no libcupti in /usr/local/cuda");
	if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != NULL)
		CHECK_SKIP("there is a driver");
	begin();
	begin_profile(&(struct trace_facts){ .driver_version = 13000 });
	CHECK(trace_active());
	trace_copied(&(struct trace_copy){ .direction = TRACE_H2D, .bytes = 1000 });
	const char *text = end_profile();
	CHECK(strstr(text, "note: no device times: CUPTI refused") != NULL);
	CHECK(strstr(text, "H2D copies") != NULL);
}

CHECK_MAIN()
