/*
 * selftest_resolve.c - compares cuGetProcAddress of the built libcuda.so.1 with the table of
 * exports.
 *
 * Unlike the other tests it does not link the driver: STANDIN_PATH and STANDIN_OLD_PATH name it.
 */
#include "check.h"

#include <cuda.h>
#include <dlfcn.h>

typedef CUresult (*resolver)(const char *, void **, int, cuuint64_t,
			     CUdriverProcAddressQueryResult *);
typedef CUresult (*old_resolver)(const char *, void **, int, cuuint64_t);

struct row {
	const char *export, *base;
	int version, flags;
};

static const struct row rows[] = {
#define ENTRY(export, base, version, flags) { #export, #base, version, flags },
#include "entry.def"
};
#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

static void *library;

static resolver load(void)
{
	const char *path = getenv("STANDIN_PATH");

	library = dlopen(path != NULL ? path : "libcuda.so.1", RTLD_NOW);
	if (library == NULL)
		CHECK_SKIP("no libcuda.so.1 to test");
	return (resolver)dlsym(library, "cuGetProcAddress_v2");
}

TEST(every_row_leads_to_its_export)
{
	resolver resolve = load();

	CHECK_EQ(ROWS, 666);
	for (int i = 0; i < ROWS; i++) {
		CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
		void *found = NULL, *export = dlsym(library, rows[i].export);

		if (!CHECK(export != NULL) ||
		    !CHECK_EQ(resolve(rows[i].base, &found, rows[i].version,
				      (cuuint64_t)rows[i].flags, &status),
			      0) ||
		    !CHECK(found == export) || !CHECK_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS))
			printf("# %s\n", rows[i].export);
	}
}

TEST(odd_questions_get_the_answers_of_driver_580)
{
	resolver resolve = load();
	old_resolver old = (old_resolver)dlsym(library, "cuGetProcAddress");
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	void *found = &status;

	CHECK_EQ(resolve("", &found, 0, 0, NULL), 0);
	CHECK(found == NULL);
	found = &status;
	CHECK_EQ(resolve("cuNoSuchThing", &found, 13000, 0, &status), 0);
	CHECK(found == NULL);
	CHECK_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CHECK_EQ(resolve("cuMemcpyHtoD_v2", &found, 13000, 0, &status), 0);
	CHECK_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CHECK_EQ(resolve("cuMemAllocAsync", &found, 10000, 0, &status), 0);
	CHECK_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	found = &status;
	CHECK_EQ(resolve("cuInit", &found, 13010, 0, &status), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(resolve("cuInit", &found, 13000, 4, &status), CUDA_ERROR_INVALID_VALUE);
	CHECK(found == &status);
	CHECK_EQ(old("cuNoSuchThing", &found, 13000, 0), CUDA_ERROR_NOT_FOUND);
	CHECK_EQ(old("cuMemAllocAsync", &found, 10000, 0), CUDA_ERROR_NOT_FOUND);
	CHECK(found == &status);
	CHECK_EQ(old("cuInit", &found, 13000, 0), 0);
	CHECK(found == dlsym(library, "cuInit"));
}

TEST(flags_choose_the_flavor)
{
	static const char *const expected[] = { "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2",
						"cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD_v2_ptds" };
	resolver resolve = load();
	void *found;

	for (cuuint64_t flags = 0; flags < 4; flags++) {
		CHECK_EQ(resolve("cuMemcpyHtoD", &found, 13000, flags, NULL), 0);
		CHECK(found == dlsym(library, expected[flags]));
	}
	CHECK_EQ(resolve("cuMemAlloc", &found, 13000, 2, NULL), 0);
	CHECK(found == dlsym(library, "cuMemAlloc_v2"));
	CHECK_EQ(resolve("cuGetProcAddress", &found, 11030, 0, NULL), 0);
	CHECK(found == dlsym(library, "cuGetProcAddress"));
	CHECK_EQ(resolve("cuGetProcAddress", &found, 12000, 0, NULL), 0);
	CHECK(found == dlsym(library, "cuGetProcAddress_v2"));
}

TEST(what_is_not_modeled_says_so)
{
	CUresult (*call)(void);
	const char *(*text)(void);

	load();
	call = (CUresult(*)(void))dlsym(library, "cuMulticastCreate");
	text = (const char *(*)(void))dlsym(library, "standin_log_text");
	CHECK_EQ(call(), CUDA_ERROR_NOT_SUPPORTED);
	CHECK(strstr(text(), "cuMulticastCreate") != NULL);
}

TEST(the_unknown_function_is_answered_on_demand)
{
	void *found = NULL;
	resolver resolve;

	setenv("STANDIN_EXTRA", "1", 1);
	resolve = load();
	CHECK_EQ(resolve("cuStandinUnknownThing", &found, 13000, 0, NULL), 0);
	CHECK(found != NULL && found == dlsym(library, "cuStandinUnknownThing"));
}

TEST(it_re_enters_itself_on_demand)
{
	CUresult (*init)(unsigned);
	int (*calls)(const char *);

	setenv("STANDIN_REENTER", "1", 1);
	load();
	init = (CUresult(*)(unsigned))dlsym(library, "cuInit");
	calls = (int (*)(const char *))dlsym(library, "standin_calls");
	CHECK_EQ(init(0), 0);
	CHECK_EQ(calls("cuGetProcAddress"), 1);
}

TEST(an_old_driver_has_no_second_resolver)
{
	const char *path = getenv("STANDIN_OLD_PATH");
	old_resolver old;
	void *found;

	if (path == NULL)
		CHECK_SKIP("STANDIN_OLD_PATH is not set");
	library = dlopen(path, RTLD_NOW);
	CHECK(library != NULL);
	CHECK(dlsym(library, "cuGetProcAddress_v2") == NULL);
	old = (old_resolver)dlsym(library, "cuGetProcAddress");
	CHECK_EQ(old("cuMemcpyHtoD", &found, 11050, 0), 0);
	CHECK(found == dlsym(library, "cuMemcpyHtoD_v2"));
	CHECK_EQ(old("cuGetProcAddress", &found, 12000, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(old("cuLibraryLoadData", &found, 11050, 0), CUDA_ERROR_NOT_FOUND);
}

CHECK_MAIN()
