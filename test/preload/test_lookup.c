/*
 * test_lookup.c - the results of dlsym() for each caller, and the message that it leaves in
 * dlerror().
 */
#include "device.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Names that begin like the driver's; -rdynamic, so that dlsym() finds them. */
#define OWN(name)                                                      \
	__attribute__((visibility("default"))) const char *name(void); \
	const char *name(void)                                         \
	{                                                              \
		return #name;                                          \
	}
OWN(cudnnCreate)
OWN(cublasCreate_v2)
OWN(curl_easy_init)
OWN(cudaMyOwn)
OWN(cuMyOwn)
OWN(cu)
OWN(c)
OWN(x)

TEST(names_that_only_look_like_it)
{
	static const struct {
		const char *name;
		void *own;
	} names[] = { { "cudnnCreate", (void *)cudnnCreate },
		      { "cublasCreate_v2", (void *)cublasCreate_v2 },
		      { "curl_easy_init", (void *)curl_easy_init },
		      { "cudaMyOwn", (void *)cudaMyOwn },
		      { "cuMyOwn", (void *)cuMyOwn },
		      { "cu", (void *)cu },
		      { "c", (void *)c },
		      { "x", (void *)x },
		      { "", NULL },
		      { "cuNoSuch", NULL },
		      { "cuda", NULL } };
	void *handles[] = { RTLD_DEFAULT, dlopen(NULL, RTLD_NOW) };

	for (int with_driver = 0; with_driver < 2; with_driver++) {
		for (size_t at = 0; at < 2; at++)
			for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
				if (!CHECK(dlsym(handles[at], names[i].name) == names[i].own))
					printf("# '%s'\n", names[i].name);
		CHECK(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != NULL);
	}
}

/* Copies dlerror() after a look-up of `name`. */
static void error_of(dlsym_fn look, void *handle, const char *name, char said[512])
{
	dlerror();
	look(handle, name);
	const char *error = dlerror();
	snprintf(said, 512, "%s", error != NULL ? error : "no error");
	CHECK(dlerror() == NULL);
}

TEST(errors_read_as_they_did)
{
	static const char *const names[] = { "cuNoSuch", "noSuch", "", "cuMemcpyHtoD_v9",
					     "cuInit" };
	void *handles[] = { RTLD_DEFAULT, dlopen(NULL, RTLD_NOW),
			    dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), RTLD_NEXT };
	dlsym_fn native = native_dlsym();

	for (size_t at = 0; at < 4; at++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			char ours[512], theirs[512];

			error_of(dlsym, handles[at], names[i], ours);
			error_of(native, handles[at], names[i], theirs);
			if (!CHECK(strcmp(ours, theirs) == 0))
				printf("# '%s', not '%s'\n", ours, theirs);
		}
	}
}

/* The first look-ups of a process, by eight threads at once; then all of them again. */
#define THREADS 8
static pthread_barrier_t together;
static void *driver;

static const char *const some[] = { "cuGetProcAddress_v2", "cuInit",         "cuMemcpyHtoD_v2",
				    "cuMemcpyDtoH_v2",     "cuLaunchKernel", "cuDeviceGet" };
#define SOME (sizeof(some) / sizeof(some[0]))

static void *answers_of[THREADS][SOME];

static void *look_up_again(void *number)
{
	void **answers = answers_of[(uintptr_t)number];

	pthread_barrier_wait(&together);
	for (size_t i = 0; i < SOME; i++)
		answers[i] = dlsym(driver, some[i]);
	for (int round = 0; round < 200; round++)
		for (size_t i = 0; i < SOME; i++)
			if (dlsym(driver, some[i]) != answers[i])
				answers[i] = NULL;
	return NULL;
}

static void look_up_together(void)
{
	pthread_barrier_init(&together, NULL, THREADS);
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	check_in_threads(THREADS, look_up_again);
	for (int i = 0; i < THREADS; i++) {
		for (size_t at = 0; at < SOME; at++) {
			CHECK(answers_of[i][at] != NULL && answers_of[i][at] == answers_of[0][at]);
			/* A wrapper of the last one only matters for a profile, which times it. */
			CHECK(preload_is_in(answers_of[i][at], OURS) ==
			      (preloaded() &&
			       (at != SOME - 1 || getenv("HOTPIN_PROFILE") != NULL)));
		}
	}
	CHECK(device_copies(driver, dlsym));
}

CASE(eight_threads_at_once, look_up_together())
CASE_WITH(eight_threads_counted,
	  ("HOTPIN_PROFILE=trace", "HOTPIN_CUPTI=off", "HOTPIN_LOG_FILE=/dev/null"),
	  look_up_together())

/* Each way to a function leads to exactly one driver call. */
TEST(no_way_leads_back_to_us)
{
	void *handles[] = { RTLD_DEFAULT, dlopen(NULL, RTLD_NOW), NULL, RTLD_NEXT, NULL };

	driver = handles[2] = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	handles[4] = preloaded() ? dlopen(getenv("PRELOAD_SO"), RTLD_NOW | RTLD_NOLOAD) : driver;
	for (size_t i = 0; i < 5; i++) {
		__typeof__(cuInit) *init = FIND(handles[i], cuInit);
		__typeof__(cuGetProcAddress_v2) *resolve = FIND(handles[i], cuGetProcAddress_v2);
		int before = calls_of(driver, "cuInit");
		void *found = NULL;

		CHECK_EQ(init(0), CUDA_SUCCESS);
		CHECK_EQ(calls_of(driver, "cuInit"), before + 1);
		CHECK_EQ(resolve("cuInit", &found, 12000, 0, NULL), CUDA_SUCCESS);
		CHECK_EQ(((__typeof__(cuInit) *)found)(0), CUDA_SUCCESS);
		CHECK_EQ(calls_of(driver, "cuInit"), before + 2);
		CHECK(device_copies(driver, (dlsym_fn)FIND(RTLD_DEFAULT, dlsym)));
	}
}

/* The driver is found first through an unusual handle: a library that only needs it. */
TEST(first_seen_through_another_library)
{
	void *runtime = dlopen("libneeds_driver.so", RTLD_NOW);
	__typeof__(cuInit) *init = FIND(runtime, cuInit);

	if (!CHECK(init != NULL))
		return;
	CHECK(preload_is_in((void *)init, preloaded() ? OURS : "libcuda.so.1"));
	CHECK(device_copies(runtime, dlsym));
}

/* Or through the program itself, where our names precede the driver's. */
TEST(first_seen_through_the_program)
{
	void *program = dlopen(NULL, RTLD_NOW);

	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	CHECK(dlsym(program, "cuStandinUnknownThing") != NULL);
	CHECK(device_copies(program, dlsym));
	CHECK_EQ(calls_of(driver, "cuInit"), 1);
	CHECK(preload_is_in(dlsym(program, "cuMemcpyHtoD_v2"),
			    preloaded() ? OURS : "libcuda.so.1"));
}

/* Checks which functions a library finds that looks names up on its own behalf. */
static void check_finding(const char *library, const char *file)
{
	void *tool = dlopen(library, RTLD_NOW);
	dlsym_fn look = tool != NULL ? (dlsym_fn)dlsym(tool, "tool_look") : NULL;

	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!CHECK(look != NULL))
		return;
	CHECK(preload_is_in(look(driver, "cuMemcpyHtoD_v2"), file));
	CHECK(preload_is_in(look(driver, "cuGetProcAddress_v2"), file));
	CHECK(preload_is_in(dlsym(driver, "cuMemcpyHtoD_v2"), preloaded() ? OURS : "libcuda.so.1"));
	CHECK(preload_is_in(look(driver, "cuMemcpyHtoD_v2"), file));
}

/* NVIDIA's tools get the driver's functions, the program ours. */
CASE(libcupti_gets_the_real_ones, check_finding(getenv("PRELOAD_CUPTI"), "libcuda.so.1"))

/* A copy of libcupti under another name keeps its SONAME. */
CASE(libcupti_under_another_name, check_finding("librenamed.so", "libcuda.so.1"))

TEST(names_that_begin_like_nvidias)
{
	check_finding("libcuda-plugin.so", preloaded() ? OURS : "libcuda.so.1");
	check_finding("libnvidia-plugin.so", preloaded() ? OURS : "libcuda.so.1");
	check_finding("libcupti_plugin.so", preloaded() ? OURS : "libcuda.so.1");
}

/* Precedes libc's: counts queries for the file of an address. */
static _Atomic int files_asked_for;
__attribute__((visibility("default"))) int dladdr1(const void *address, Dl_info *ret, void **extra,
						   int flags)
{
	__typeof__(&dladdr1) next = (__typeof__(&dladdr1))dlsym(RTLD_NEXT, "dladdr1");

	files_asked_for++;
	return next != NULL ? next(address, ret, extra, flags) : 0;
}

/* A look-up determines its caller once, and not at all if hotpin does nothing. */
TEST(the_file_of_who_asks)
{
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	CHECK(dlsym(driver, "cuMemcpyDtoH_v2") != NULL);
	int before = files_asked_for;
	CHECK(dlsym(driver, "cuMemcpyHtoD_v2") != NULL);
	CHECK_EQ(files_asked_for - before, preloaded());
}

/* RTLD_DEFAULT includes libraries that the caller needs, and RUNPATH is the caller's. */
TEST(a_library_finds_what_it_needs)
{
	void *user = dlopen("libuser.so", RTLD_NOW | RTLD_LOCAL);
	dlsym_fn look = user != NULL ? (dlsym_fn)dlsym(user, "tool_look") : NULL;
	void *(*open_by)(const char *) =
		user != NULL ? (void *(*)(const char *))dlsym(user, "tool_open") : NULL;

	if (!CHECK(look != NULL))
		return;
	for (int with_driver = 0; with_driver < 2; with_driver++) {
		int (*plain)(void) = (int (*)(void))look(RTLD_DEFAULT, "dep_answer");
		int (*alike)(void) = (int (*)(void))look(RTLD_DEFAULT, "cuDepAnswer");

		CHECK(plain != NULL && plain() == 42);
		CHECK(alike != NULL && alike() == 43);
		CHECK(dlsym(RTLD_DEFAULT, "cuDepAnswer") == NULL);
		CHECK(with_driver || dlopen("libhidden_plug.so", RTLD_NOW) == NULL);
		CHECK(open_by("libhidden_plug.so") != NULL);
		CHECK(dlopen("libcuda.so.1", RTLD_NOW) != NULL);
	}
}

/* The driver is closed; other memory takes its place before it is opened again. */
static void open_twice(void)
{
	for (int round = 0; round < 2; round++) {
		void *opened = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
		Dl_info info;

		if (!CHECK(opened != NULL))
			return;
		CHECK(dladdr(native_dlsym()(opened, "cuInit"), &info) != 0);
		CHECK(!preloaded() || preload_is_in(dlsym(opened, "cuMemcpyHtoD_v2"), OURS));
		CHECK(device_copies(opened, dlsym));
		CHECK_EQ(dlclose(opened), 0);
		mmap(info.dli_fbase, 4096, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	}
}

CASE(a_driver_that_is_closed, open_twice())
CASE_WITH(a_driver_that_is_closed_and_counted,
	  ("HOTPIN_PROFILE=trace", "HOTPIN_CUPTI=off", "HOTPIN_LOG_FILE=/dev/null"), open_twice())

/*
 * A library in front of the driver is closed again.  Calls of functions that were found in the
 * driver continue.
 */
TEST(a_library_in_front_that_is_closed)
{
	void *front = dlopen("liblink_exports.so", RTLD_NOW | RTLD_GLOBAL);

	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	for (int round = 0; round < 2; round++) {
		CHECK(device_copies(driver, dlsym));
		CHECK(round != 0 || dlclose(front) == 0);
	}
}

/* Calls functions of libc for the first time, which makes us look up the next definitions. */
static void call_libc(void)
{
	char byte;
	struct iovec one = { &byte, 1 };

	CHECK_EQ(pread(-1, &byte, 1, 0), -1);
	CHECK_EQ(readv(-1, &one, 1), -1);
	CHECK_EQ(recv(-1, &byte, 1, 0), -1);
}

/* Every look-up clears the previous error, and frees its text. */
TEST(the_error_of_dlopen_is_kept)
{
	CHECK(dlopen("libnosuch.so", RTLD_NOW) == NULL);
	call_libc();
	const char *error = dlerror();
	CHECK(error != NULL && strstr(error, "libnosuch.so") != NULL);
}

TEST(the_error_of_dlsym_is_kept)
{
	CHECK(dlsym(RTLD_NEXT, "no_such_name") == NULL);
	call_libc();
	const char *error = dlerror();
	CHECK(error != NULL && strstr(error, "no_such_name") != NULL);
}

/* If dlsym() itself cannot be found, every look-up fails like one of an unknown name. */
TEST_WITH(no_dlsym_behind_us, "LD_PRELOAD=libno_dlsym.so:@")
{
	const char *list = getenv("LD_PRELOAD");
	bool loaded = strstr(list, OURS) != NULL;

	for (int round = 0; round < 2; round++) {
		CHECK((dlsym(RTLD_DEFAULT, "qsort") == NULL) == loaded);
		CHECK((dlerror() != NULL) == loaded);
		CHECK(dlsym(RTLD_DEFAULT, "cuInit") == NULL);
		CHECK(dlerror() != NULL);
	}
}

TEST_WITH(a_driver_that_reenters, "STANDIN_REENTER=1")
{
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	CHECK(device_copies(driver, dlsym));
	CHECK_EQ(calls_of(driver, "cuInit"), 1);
}

/* CUDA 11.5 and before lacks cuGetProcAddress_v2, and many other functions that we know. */
TEST(an_old_driver)
{
	void *found = NULL;

	driver = dlopen(getenv("PRELOAD_OLD"), RTLD_NOW | RTLD_GLOBAL);
	if (!CHECK(driver != NULL))
		return;
	__typeof__(cuGetProcAddress) *resolve = FIND(driver, cuGetProcAddress);
	CHECK(dlsym(driver, "cuGetProcAddress_v2") == NULL);
	CHECK(dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2") == NULL);
	CHECK(dlsym(driver, "cuMemcpyBatchAsync") == NULL);
	CHECK(dlsym(driver, "cuGraphAddNode_v2") == NULL);
	CHECK(dlsym(driver, "cuCtxRecordEvent") == NULL);
	CHECK_EQ(resolve("cuMemcpyHtoD", &found, 11030, 0), CUDA_SUCCESS);
	CHECK(found == dlsym(driver, "cuMemcpyHtoD_v2"));
	CHECK_EQ(resolve("cuGetProcAddress", &found, 11030, 0), CUDA_SUCCESS);
	CHECK(found == (void *)resolve);
	CHECK(device_copies(driver, dlsym));
}

/* The heap's blocks begin at multiples of 256 bytes; of two of glibc's, at most one does. */
static bool is_ours(size_t bytes)
{
	void *blocks[2] = { malloc(bytes), malloc(bytes) };

	free(blocks[0]);
	free(blocks[1]);
	return ((uintptr_t)blocks[0] | (uintptr_t)blocks[1]) % 256 == 0;
}

/* Blocks below 256 KiB are left to libc until a device is in use, and in a child without one. */
TEST(small_blocks_are_ours_with_a_device)
{
	CHECK(!is_ours(100 << 10));
	CHECK_EQ(is_ours(290 << 10), preloaded());
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	CHECK(!is_ours(100 << 10));
	CHECK(device_copies(driver, dlsym));
	CHECK_EQ(is_ours(100 << 10), preloaded());
	CHECK(!is_ours(60 << 10));

	if (CHECK_CHILD(0))
		_exit(is_ours(100 << 10) || is_ours(290 << 10) != preloaded());
}

TEST_WITH(a_border_that_was_asked_for_stays, "HOTPIN_HEAP_MIN=128K")
{
	CHECK_EQ(is_ours(150 << 10), preloaded());
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	CHECK(device_copies(driver, dlsym));
	CHECK(!is_ours(100 << 10));
	CHECK_EQ(is_ours(150 << 10), preloaded());
}

static void *look_up(void *unused)
{
	CHECK(dlsym(RTLD_DEFAULT, "qsort") != NULL);
	return unused;
}

/* The first look-up after dlopen() may come from a thread with a stack of PTHREAD_STACK_MIN. */
TEST(little_of_the_stack)
{
	void *libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	CHECK_EQ(((int (*)(unsigned))dlsym(libcuda, "cuInit"))(0), 0);
	size_t before = check_stack_used(look_up, NULL);
	CHECK(dlopen("libtool.so", RTLD_NOW) != NULL);
	CHECK(check_stack_used(look_up, NULL) <= before + 3072);
}

PRELOAD_MAIN()
