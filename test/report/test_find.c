/*
 * test_find.c - which libcupti is loaded, in a program that has none yet.
 *
 * The environment names the mock's file and a library that replaces libcudart.
 */
#include "trace/cupti.h"
#include "trace/trace.h"
#include "base/log.h"
#include "base/options.h"
#include "check.h"
#include "mock_cupti.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <time.h>

static char folder[256];

static void copy_file(const char *from, const char *to)
{
	char command[2048];

	snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s/%s')\" && cp '%s' '%s/%s'",
		 folder, to, from, folder, to);
	if (system(command) != 0)
		abort();
}

static const char *in_folder(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void begin(void)
{
	snprintf(folder, sizeof(folder), "%.240s/find-XXXXXX", check_folder());
	if (mkdtemp(folder) == NULL)
		abort();
	unsetenv("CUDA_PATH");
	unsetenv("CUDA_HOME");
}

static void end(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	if (system(command) != 0)
		abort();
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
	if (realpath(in_folder(expected), want) == NULL || got == NULL ||
	    !CHECK(strcmp(got, want) == 0))
		printf("# %s, not %s\n", cupti.path, in_folder(expected));
	free(got);
	CHECK_EQ(cupti.version, 130001);
}

TEST(next_to_the_cudart_of_a_wheel)
{
	begin();
	copy_file(getenv("TEST_PLAIN"), "nvidia/cuda_runtime/lib/libcudart.so.13");
	copy_file(getenv("TEST_MOCK"), "nvidia/cuda_cupti/lib/libcupti.so.13");
	CHECK(dlopen(in_folder("nvidia/cuda_runtime/lib/libcudart.so.13"), RTLD_NOW) != NULL);
	check_loads(13000, "nvidia/cuda_cupti/lib/libcupti.so.13");
	end();
}

TEST(next_to_torch)
{
	begin();
	copy_file(getenv("TEST_PLAIN"), "torch/lib/libtorch_cuda.so");
	copy_file(getenv("TEST_MOCK"), "nvidia/cu13/lib/libcupti.so.13");
	CHECK(dlopen(in_folder("torch/lib/libtorch_cuda.so"), RTLD_NOW) != NULL);
	check_loads(13000, "nvidia/cu13/lib/libcupti.so.13");
	end();
}

TEST(in_the_folder_of_cudart)
{
	begin();
	copy_file(getenv("TEST_PLAIN"), "lib64/libcudart.so.13");
	copy_file(getenv("TEST_MOCK"), "lib64/libcupti.so.13");
	CHECK(dlopen(in_folder("lib64/libcudart.so.13"), RTLD_NOW) != NULL);
	check_loads(13000, "lib64/libcupti.so.13");
	end();
}

/* The runtime's own version is preferred to a newer CUPTI next to it. */
TEST(of_the_same_version_as_cudart)
{
	begin();
	copy_file(getenv("TEST_PLAIN"), "lib64/libcudart.so.12");
	copy_file(getenv("TEST_MOCK"), "lib64/libcupti.so.12");
	copy_file(getenv("TEST_MOCK"), "lib64/libcupti.so.13");
	CHECK(dlopen(in_folder("lib64/libcudart.so.12"), RTLD_NOW) != NULL);
	check_loads(13000, "lib64/libcupti.so.12");
	end();
}

TEST(in_the_toolkit)
{
	begin();
	/* A version that is in no system's loader path. */
	copy_file(getenv("TEST_MOCK"), "extras/CUPTI/lib64/libcupti.so.11.4");
	setenv("CUDA_PATH", folder, 1);
	check_loads(11040, "extras/CUPTI/lib64/libcupti.so.11.4");
	end();
}

TEST(loaded_already_goes_before_all)
{
	begin();
	copy_file(getenv("TEST_MOCK"), "somewhere/libcupti.so.13");
	copy_file(getenv("TEST_MOCK"), "extras/CUPTI/lib64/libcupti.so.13");
	copy_file(getenv("TEST_PLAIN"), "extras/CUPTI/lib64/libcudart.so.13");
	setenv("CUDA_PATH", folder, 1);
	CHECK(dlopen(in_folder("extras/CUPTI/lib64/libcudart.so.13"), RTLD_NOW) != NULL);
	CHECK(dlopen(in_folder("somewhere/libcupti.so.13"), RTLD_NOW) != NULL);
	check_loads(13000, "somewhere/libcupti.so.13");
	end();
}

/* A driver of CUDA 12 gets no CUPTI of CUDA 13. */
TEST(never_newer_than_the_driver)
{
	begin();
	copy_file(getenv("TEST_MOCK"), "lib64/libcupti.so.13");
	setenv("CUDA_PATH", folder, 1);
	check_loads(11080, NULL);
	end();
}

TEST(library_that_is_no_cupti)
{
	begin();
	copy_file(getenv("TEST_PLAIN"), "lib64/libcupti.so.11.4");
	setenv("CUDA_PATH", folder, 1);
	check_loads(11040, NULL);
	end();
}

/* It has no readable clock, reports no dropped records, and cannot explain errors. */
TEST(one_that_can_do_little)
{
	char text[8192] = "", log[300];
	struct timespec real, ours;
	const uint64_t milli = 1000000;

	begin();
	copy_file(getenv("TEST_OLD"), "extras/CUPTI/lib64/libcupti.so.11.4");
	setenv("CUDA_PATH", folder, 1);
	hp_options_load((char *[]){ "HOTPIN_PROFILE=summary", NULL });
	snprintf(log, sizeof(log), "%s/log", folder);
	hp_log_open(log);
	clock_gettime(CLOCK_MONOTONIC, &ours);
	uint64_t now = (uint64_t)ours.tv_sec * 1000000000 + (uint64_t)ours.tv_nsec;
	trace_start(
		&(struct trace_facts){ .driver_version = 11040, .began_ns = now - 1000 * milli });
	void *mock = dlopen(in_folder("extras/CUPTI/lib64/libcupti.so.11.4"), RTLD_NOW);
	struct mock_cupti *state = mock != NULL ? dlsym(mock, "mock_cupti") : NULL;
	void (*record)(const char *, uint32_t, uint64_t, uint64_t) =
		mock != NULL ? dlsym(mock, "mock_kernel") : NULL;
	if (!CHECK(state != NULL && record != NULL))
		return;
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &ours);
	state->clock_offset =
		(real.tv_sec - ours.tv_sec) * INT64_C(1000000000) + real.tv_nsec - ours.tv_nsec;
	record("k", 0, now - 20 * milli, now - 10 * milli);
	trace_finish();
	FILE *file = fopen(log, "r");
	CHECK(file != NULL && fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	CHECK(strstr(text, "Kernels             10.0 ms") != NULL);
	CHECK(strstr(text, "note:") == NULL);
	end();
}

/* NVIDIA's own, without a driver: it refuses, and the profile continues without it. */
TEST(real_one_without_a_driver)
{
	static const char *const paths[] = { "/usr/local/cuda/lib64/libcupti.so.13",
					     "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
					     "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12" };
	void *real = NULL;
	char text[8192] = "", log[300];

	for (int i = 0; i < 3 && real == NULL; i++)
		real = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
	if (real == NULL)
		CHECK_SKIP("no libcupti in /usr/local/cuda");
	if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != NULL)
		CHECK_SKIP("there is a driver");
	begin();
	hp_options_load((char *[]){ "HOTPIN_PROFILE=summary", NULL });
	snprintf(log, sizeof(log), "%s/log", folder);
	hp_log_open(log);
	trace_start(&(struct trace_facts){ .driver_version = 13000 });
	CHECK(trace_active());
	trace_copied(&(struct trace_copy){ .direction = TRACE_H2D, .bytes = 1000 });
	trace_finish();
	FILE *file = fopen(log, "r");
	CHECK(file != NULL && fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	CHECK(strstr(text, "note: no device times: CUPTI refused") != NULL);
	CHECK(strstr(text, "H2D pageable") != NULL);
	end();
}

CHECK_MAIN()
