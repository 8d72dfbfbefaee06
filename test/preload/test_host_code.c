/*
 * test_host_code.c - samples of host code in an unmodified program.
 */
#include "filter.h"
#include "preload.h"

#include <cuda.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define PROFILE "HOTPIN_OUT=$TEST_FOLDER/profile.json", "HOTPIN_CUPTI=off"

static char text[1 << 20];

static const char *profile_so_far(void)
{
	return check_read(check_path("profile.json"), text, sizeof(text));
}

__attribute__((noinline)) static void burn(void)
{
	for (volatile unsigned i = 0; i < 200000; i++)
		;
}

/* True if the profile so far has samples of this kind of threads. */
static bool has_samples(const char *threads)
{
	char key[64];

	burn();
	snprintf(key, sizeof(key), "\"%s\": ", threads);
	for (const char *at = profile_so_far(); (at = strstr(at, key)) != NULL;) {
		at += strlen(key);
		if (*at >= '1' && *at <= '9')
			return true;
	}
	return false;
}

static bool says(const char *words)
{
	burn();
	return strstr(profile_so_far(), words) != NULL;
}

static bool kernel_refuses(void)
{
	return says("perf_event_paranoid is") || says("refuses perf_event_open") ||
	       says("a seccomp filter is active") || says("the kernel has no perf events");
}

/* Waits for samples of the program so far.  Skips the test if the kernel refuses to take any. */
static void wait_for_samples(bool of_other_threads)
{
	WAIT_FOR((has_samples("first_thread") &&
		  (!of_other_threads || has_samples("other_threads"))) ||
		 kernel_refuses());
	if (kernel_refuses())
		CHECK_SKIP("the kernel refuses samples");
}

static bool has_rings(void)
{
	return strstr(check_read("/proc/self/maps", text, sizeof(text)), "[perf_event]") != NULL;
}

static _Atomic bool over;

static void *burn_on(void *unused)
{
	while (!over)
		burn();
	return unused;
}

TEST_WITH(every_thread_is_sampled, PROFILE)
{
	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	/* From here on hotpin keeps files open that it will read again. */
	int before = check_descriptors();

	pthread_t thread = check_thread(burn_on, NULL);
	if (preloaded()) {
		wait_for_samples(true);
		CHECK(has_rings());
	}
	/* The reader thread briefly has a descriptor open at times. */
	WAIT_FOR(check_descriptors() == before);
	if (CHECK_CHILD(0))
		_exit(has_rings() ? 1 : 0);
	over = true;
	pthread_join(thread, NULL);
}

static int count_of(const char *name)
{
	_Atomic int *count = (_Atomic int *)dlsym(RTLD_DEFAULT, name);

	return count != NULL ? *count : -1;
}

/* The hooks of another profiler run in hotpin's threads, and need that profiler's descriptors. */
TEST_WITH(another_profiler_is_woken, PROFILE, "LD_PRELOAD=@:libToolsInjection.so")
{
	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	if (preloaded())
		WAIT_FOR(count_of("wakes_calls_of_threads") > 0);
	close(open("/dev/null", O_RDONLY));
	CHECK(count_of("wakes_calls") > 0);
	WAIT_FOR(count_of("wakes_calls_seen") == count_of("wakes_calls"));
}

TEST_WITH(it_can_be_switched_off, PROFILE, "HOTPIN_SAMPLE=off")
{
	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	if (preloaded())
		WAIT_FOR(says("\"why\": \"HOTPIN_SAMPLE is off\""));
	CHECK(!preloaded() || strstr(text, "\"samples\": null") != NULL);
	CHECK(!has_rings());
}

/*
 * Treats all threads as systemd's SystemCallFilter= treats unlisted calls.  A filter that is there
 * from the start on is in test/report/commands/test_first_stage.py.
 */
static void filter(void)
{
	CHECK(filter_call(SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS));
	CHECK(filter_call(SYS_process_vm_readv, SECCOMP_RET_KILL_PROCESS));
}

/* Returns the number of samples so far. */
static long samples(void)
{
	const char *at = strstr(profile_so_far(), "\"sampling\"");

	at = at != NULL ? strstr(at, "\"samples\": ") : NULL;
	return at != NULL ? atol(at + strlen("\"samples\": ")) : 0;
}

/* Has a frame, so that its caller is found; called from a new place. */
__attribute__((noinline)) static bool burn_elsewhere(void)
{
	volatile uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	for (volatile unsigned i = 0; i < 2000000; i++)
		;
	return frame != 0;
}

static void filter_later(void)
{
	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	if (preloaded())
		wait_for_samples(false);
	filter();
	long before = samples();
	if (preloaded())
		WAIT_FOR((burn_elsewhere() && samples() > before + 50) ||
			 (!says("\"threads_refused\": 0") && !has_rings()));
}

CASE_WITH(a_filter_that_comes_later_is_not_met, (PROFILE), filter_later())

TEST_WITH(no_signal_meets_a_filter, PROFILE, "HOTPIN_SAMPLE=signal")
{
	filter_later();
	for (int i = 0; i < 100; i++)
		CHECK(burn_elsewhere());
}

TEST_WITH(by_a_signal, PROFILE, "HOTPIN_SAMPLE=signal")
{
	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	pthread_t thread = check_thread(burn_on, NULL);
	if (preloaded())
		wait_for_samples(true);
	CHECK(!has_rings());
	over = true;
	pthread_join(thread, NULL);
}

/* When the first thread has ended, /proc/self shows less about the process. */
static void *use_alone(void *unused)
{
	char path[PATH_MAX];
	CUdeviceptr device;
	CUcontext context;

	while (readlink("/proc/self/exe", path, sizeof(path)) > 0)
		sched_yield();
	if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
	    cuCtxSetCurrent(context) != CUDA_SUCCESS ||
	    cuMemAlloc(&device, sizeof(path)) != CUDA_SUCCESS ||
	    cuMemcpyHtoD(device, path, sizeof(path)) != CUDA_SUCCESS)
		exit(1);
	exit(0);
	return unused;
}

TEST_WITH(the_first_thread_ends, PROFILE)
{
	char name[PATH_MAX] = "\"path\": \"";

	if (CHECK_CHILD(0)) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, use_alone, NULL) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	size_t used = strlen(name);
	ssize_t length = readlink("/proc/self/exe", name + used, sizeof(name) - used - 1);
	if (CHECK(length > 0) && preloaded())
		CHECK(strstr(profile_so_far(), name) != NULL);
}

PRELOAD_MAIN()
