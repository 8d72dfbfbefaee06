/*
 * fetch_io.c - calls of libc with memory that a copy is on its way into: as root, and as a user.
 *
 *	fetch_io on|plain, --list, --run NAME...    as hazards.c has them; hazards.py takes it too
 *
 * On the stand-in each copy comes back early, or the test fails.  On a device that is a matter of
 * time, too: there the bytes must be right, and half of the copies early.
 */
#include "fetch_io.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

/* So many copies a site is given, on a device that others may use, to be found worth it. */
#define TRIES 50

static CUevent worked;
static unsigned fetches, early;
static bool is_learned;

static void pause_us(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

/* Is what the last copy had to wait for still under way? */
static bool is_on_its_way(void)
{
	return native.cuEventQuery(worked) == CUDA_ERROR_NOT_READY;
}

static void copy(char *block)
{
	spin(NULL, WORK_MS);
	OK(cu.cuEventRecord(worked, NULL));
	OK(cu.cuMemcpyDtoH_v2(block, there, BYTES));
}

/* Copies until one comes back early; what is there is looked at late, or never. */
static void learn(char *block)
{
	for (int i = 0; i < TRIES && !is_learned; i++) {
		copy(block);
		is_learned = is_on_its_way();
		pause_us(WORK_MS * 1000);
	}
	OK(cu.cuCtxSynchronize());
}

char *learned(void)
{
	begin();
	OK(cu.cuEventCreate(&worked, CU_EVENT_DISABLE_TIMING));
	/* A kernel is loaded at its first launch, which may wait for everything. */
	spin(NULL, 0);
	char *block = hot(BYTES);
	is_learned = !preloaded();
	learn(block);
	CHECK(is_learned);
	return block;
}

void give(const char *source)
{
	OK(cu.cuMemcpyHtoD_v2(there, source, BYTES));
	OK(cu.cuCtxSynchronize());
}

void fetch(char *block)
{
	/* One that was looked at too soon has ended it. */
	learn(block);
	memset(block, 0xee, BYTES);
	copy(block);
	/* What is looked at sooner would not come back early the next time. */
	pause_us(200);
	is_learned = is_on_its_way() || !preloaded();
	early += is_on_its_way();
	fetches++;
}

void tell_fetches(void)
{
	unsigned least = stand_in("standin_calls") != NULL ? fetches : fetches / 2;

	printf("# %u of %u came back early\n", early, fetches);
	CHECK(preloaded() ? early >= least : early == 0);
}

static void all(void)
{
	char *block = learned();

	if (check_failures != 0)
		return;
	call_all(block);
	tell_fetches();
}

/* Asked in a child, and behind the library's back. */
static bool may_use_device(void)
{
	find_driver();
	pid_t child = fork();
	if (child == 0)
		_exit((native.cuInit(0) ?: native.cuDevicePrimaryCtxRetain(&primary, 0)) !=
		      CUDA_SUCCESS);
	return status_of(child) == 0;
}

TEST_WITH(row27_calls_as_root, "HOTPIN_ASYNC=all")
{
	all();
}

TEST_WITH(row27_calls_as_a_user, "HOTPIN_ASYNC=all")
{
	struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };

	if (getuid() != 0)
		SKIP("this is one");
	setrlimit(RLIMIT_MEMLOCK, &most);
	CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
	/* As a program that such a user starts. */
	prctl(PR_SET_DUMPABLE, 1);
	if (!may_use_device())
		SKIP("such a user may not use the device");
	all();
}
