/*
 * test_deep.c - libraries that find libc's free() instead of the library's: opened with
 * RTLD_DEEPBIND or in another namespace.  The library that opens another one must still be its
 * opener for the loader.
 */
#include "promote.h"

struct plug {
	void *(*malloc)(size_t bytes);
	void *(*realloc)(void *address, size_t bytes);
	void (*free)(void *address);
};

static struct plug open_plug(void *handle)
{
	struct plug plug = { 0 };

	if (!CHECK(handle != NULL)) {
		printf("# %s\n", dlerror());
		_exit(1);
	}
	plug.malloc = (void *(*)(size_t))dlsym(handle, "deep_malloc");
	plug.realloc = (void *(*)(void *, size_t))dlsym(handle, "deep_realloc");
	plug.free = (void (*)(void *))dlsym(handle, "deep_free");
	return plug;
}

/* Passes memory between the program and the plug-in. */
static void exchange(struct plug plug, size_t n)
{
	for (int round = 0; round < 3; round++) {
		char *block = malloc(n);

		fill(block, n, 1);
		block = plug.realloc(block, n * 2);
		CHECK(holds(block, n, 1));
		block = realloc(block, n * 3);
		CHECK(holds(block, n, 1));
		plug.free(block);
		block = plug.malloc(n);
		fill(block, n, 2);
		block = realloc(block, n * 4);
		CHECK(holds(block, n, 2));
		plug.free(block);
		plug.free(calloc(n, 1));
		free(plug.malloc(n));
	}
}

static void exchange_all(struct plug plug)
{
	exchange(plug, 100);
	exchange(plug, 100 * KIB);
	exchange(plug, 300 * KIB);
	exchange(plug, MIB);
	exchange(plug, 5 * MIB);
}

static bool is_deep(struct plug plug)
{
	return !preload_is_in((void *)plug.free, OURS);
}

TEST(a_library_that_is_bound_deeply)
{
	struct plug plug = open_plug(dlopen("libdeep.so", RTLD_NOW | RTLD_DEEPBIND));

	CHECK(is_deep(plug));
	exchange_all(plug);
}

CASE(a_library_in_the_namespace_bound_deeply,
     exchange_all(open_plug(dlmopen(LM_ID_BASE, "libdeep.so", RTLD_NOW | RTLD_DEEPBIND))))

/* Without the library this works for blocks that every libc maps separately, as above 32 MiB. */
CASE(a_library_in_another_namespace,
     exchange(open_plug(dlmopen(LM_ID_NEWLM, "libdeep.so", RTLD_NOW)), 34 * MIB))

TEST_WITH(one_that_comes_before_us, "LD_PRELOAD=@:libopens_deep.so")
{
	struct plug plug = open_plug(dlopen("libdeep.so", RTLD_NOW | RTLD_NOLOAD));

	exchange_all(plug);
}

/* Blocks in use stay valid; a block that realloc() moves leaves the heap. */
TEST_AFTER(blocks_from_before, begin())
{
	char *pinned = promoted(4 * MIB), *other = malloc(4 * MIB), *grown = malloc(4 * MIB);

	fill(other, 4 * MIB, 2);
	fill(grown, 4 * MIB, 3);
	struct plug plug = open_plug(dlopen("libdeep.so", RTLD_NOW | RTLD_DEEPBIND));
	CHECK_EQ(standin_pinned(pinned) != 0, preloaded());
	OK(cuMemcpyHtoD_v2(there, pinned, 4 * MIB));
	CHECK(device_holds(there, 4 * MIB, 1));
	CHECK(holds(other, 4 * MIB, 2));
	free(other);
	free(pinned);
	grown = realloc(grown, 64 * MIB);
	CHECK(holds(grown, 4 * MIB, 3));
	plug.free(grown);
	/* Even a cached freed block is not allocated again. */
	for (int i = 0; i < 3; i++) {
		char *fresh = malloc(4 * MIB);

		fill(fresh, 4 * MIB, 4);
		CHECK(!heat(fresh, 4 * MIB));
		CHECK(device_holds(there, 4 * MIB, 4));
		plug.free(fresh);
	}
}

/* Other opened libraries, including those that the driver opens, do not affect the heap. */
TEST(nobody_is_deep)
{
	void *(*open_as)(const char *, int);
	void *cupti = dlopen(getenv("PRELOAD_CUPTI"), RTLD_NOW | RTLD_LOCAL);

	begin();
	CHECK(cupti != NULL);
	open_as = (void *(*)(const char *, int))dlsym(cupti, "tool_open_as");
	CHECK(open_as("libdeep.so", RTLD_NOW | RTLD_DEEPBIND) != NULL);
	CHECK(dlopen("libtool.so", RTLD_NOW | RTLD_GLOBAL) != NULL);
	CHECK(dlopen("libtool.so", RTLD_NOW | RTLD_NOLOAD) != NULL);
	CHECK(dlopen(NULL, RTLD_LAZY) != NULL);
	CHECK(dlmopen(LM_ID_BASE, "libtool.so", RTLD_NOW) != NULL);
	CHECK(dlopen("libno_such.so", RTLD_NOW) == NULL);
	CHECK(strstr(dlerror(), "libno_such.so") != NULL);
	free(promoted(4 * MIB));
}

/* RUNPATH and $ORIGIN are those of the calling library, with any flags. */
TEST(the_caller_stays_the_caller)
{
	static const int modes[] = { RTLD_NOW, RTLD_LAZY | RTLD_GLOBAL, RTLD_NOW | RTLD_DEEPBIND };
	static const char *const names[] = { "libhidden_plug.so",
					     "$ORIGIN/../hidden/libhidden_plug.so" };
	void *user = dlopen("libuser.so", RTLD_NOW | RTLD_LOCAL);
	void *(*open_as)(const char *, int), *(*open_in)(long, const char *, int);

	if (!CHECK(user != NULL))
		return;
	open_as = (void *(*)(const char *, int))dlsym(user, "tool_open_as");
	open_in = (void *(*)(long, const char *, int))dlsym(user, "tool_open_in");
	for (int i = 0; i < 3; i++) {
		CHECK(dlopen("libhidden_plug.so", modes[i]) == NULL);
		CHECK(strstr(dlerror(), "libhidden_plug.so") != NULL);
		CHECK(dlmopen(LM_ID_BASE, "libhidden_plug.so", modes[i]) == NULL);
		for (int n = 0; n < 2; n++) {
			void *found = open_as(names[n], modes[i]);

			if (!CHECK(found != NULL && dlsym(found, "plug_answer") != NULL))
				printf("# %s: %s\n", names[n], dlerror());
			else
				dlclose(found);
			found = open_in(LM_ID_BASE, names[n], modes[i]);
			if (!CHECK(found != NULL))
				printf("# %s: %s\n", names[n], dlerror());
			else
				dlclose(found);
		}
	}
	CHECK(open_in(LM_ID_NEWLM, names[1], RTLD_NOW) != NULL);
}

/* One message, only at that log level. */
TEST_WITH(it_is_said, "HOTPIN_LOG=info", "HOTPIN_LOG_FILE=$TEST_FOLDER/log")
{
	static const char said[] = "info: a library was opened with RTLD_DEEPBIND";
	char log[4096];

	for (int i = 0; i < 3; i++)
		CHECK(dlopen("libdeep.so", RTLD_NOW | RTLD_DEEPBIND) != NULL);
	if (!preloaded())
		return;
	const char *first = strstr(check_read(check_path("log"), log, sizeof(log)), said);
	CHECK(first != NULL && strstr(first + 1, said) == NULL);
}

PRELOAD_MAIN()
