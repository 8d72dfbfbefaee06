/*
 * test_rows.c - the function that a caller gets for every name, version and flag that a driver can
 * be asked for: our wrapper of exactly the function that the driver returned, or the driver's own.
 *
 * Runs on any driver, the stand-in or a device's.  The table is compiled in.  The driver's own
 * answers are obtained by dlvsym(), which the library does not intercept.
 */
#include "preload.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

static const struct row {
	const char *symbol, *base;
	int version, flags;
} rows[] = {
#define ENTRY(symbol, base, version, flags) { #symbol, #base, version, flags },
#include "entry.def"
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Names of our wrappers, and whether they are returned; see src/real/driver.def. */
static const struct own {
	const char *symbol;
	bool passes;
} owns[] = {
#define PASS                       true
#define COPY                       false
#define ENQUEUE                    false
#define WAIT                       false
#define OBSERVE                    false
#define MEMORY                     false
#define CAPTURE                    false
#define LIFE                       false
#define SETTLE                     false
#define LOCAL                      false
#define DRIVER(symbol, class, ...) { #symbol, class },
#define WRAPPED                    DRIVER
#define EXPOSES                    DRIVER
#include "real/driver.def"
};

typedef void *(*dlsym_fn)(void *handle, const char *name);
typedef CUresult (*resolve_fn)(const char *name, void **ret, int version, cuuint64_t flags);
typedef CUresult (*resolve_v2_fn)(const char *name, void **ret, int version, cuuint64_t flags,
				  CUdriverProcAddressQueryResult *status);

static void *driver, *library;
static dlsym_fn native;
static resolve_fn resolve, native_resolve;
static resolve_v2_fn resolve_v2, native_resolve_v2;

/* The driver's own function of each row, NULL if this driver lacks it. */
static void *function[ROWS];

static bool open_driver(void)
{
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (driver == NULL)
		return false;
	native = (dlsym_fn)dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34");
	if (native == NULL)
		native = (dlsym_fn)dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5");
	library = dlopen(getenv("PRELOAD_SO"), RTLD_NOW | RTLD_NOLOAD);
	resolve = (resolve_fn)dlsym(driver, "cuGetProcAddress");
	resolve_v2 = (resolve_v2_fn)dlsym(driver, "cuGetProcAddress_v2");
	native_resolve = (resolve_fn)native(driver, "cuGetProcAddress");
	native_resolve_v2 = (resolve_v2_fn)native(driver, "cuGetProcAddress_v2");
	((CUresult(*)(unsigned))native(driver, "cuInit"))(0);
	for (size_t i = 0; i < ROWS; i++)
		function[i] = native(driver, rows[i].symbol);
	return native != NULL && resolve_v2 != NULL;
}

/* Ends the test if there is no driver; it fails then if the stand-in must be there. */
static void need_driver(void)
{
	if (open_driver())
		return;
	if (getenv("PRELOAD_PATH") == NULL)
		CHECK_SKIP("no driver");
	CHECK(!"no driver");
	check_end_here();
}

/* Returns the name of the driver function at `address`, or NULL. */
static const char *symbol_at(const void *address)
{
	for (size_t i = 0; i < ROWS; i++)
		if (function[i] == address)
			return rows[i].symbol;
	return NULL;
}

/* True if a caller may get `got` when the driver answered `given`. */
static bool fits(void *got, void *given)
{
	const char *symbol = given != NULL ? symbol_at(given) : NULL;

	if (!preloaded() || symbol == NULL)
		return got == given;
	for (size_t i = 0; i < sizeof(owns) / sizeof(owns[0]); i++)
		if (strcmp(owns[i].symbol, symbol) == 0)
			return got == (owns[i].passes ? given : native(library, symbol));
	/* A name outside of our table settles deferred copies first. */
	return preload_is_in(got, OURS);
}

static void compare(const struct row *row, int version, cuuint64_t flags)
{
	void *const untouched = (void *)8;
	void *got = untouched, *given = untouched;
	CUdriverProcAddressQueryResult said = 77, meant = 77;
	CUresult rc = resolve_v2(row->base, &got, version, flags, &said);
	CUresult expected = native_resolve_v2(row->base, &given, version, flags, &meant);

	if (!CHECK_EQ(rc, expected) || !CHECK_EQ(said, meant) || !CHECK(fits(got, given)))
		printf("# %s, version %d, flags %d: %p, the driver says %p\n", row->base, version,
		       (int)flags, got, given);
	if (native_resolve == NULL)
		return;
	got = given = untouched;
	rc = resolve(row->base, &got, version, flags);
	expected = native_resolve(row->base, &given, version, flags);
	if (!CHECK_EQ(rc, expected) || !CHECK(fits(got, given)))
		printf("# %s, version %d, flags %d, first form\n", row->base, version, (int)flags);
}

TEST_AFTER(every_row, need_driver())
{
	for (size_t i = 0; i < ROWS; i++)
		compare(&rows[i], rows[i].version, (cuuint64_t)rows[i].flags);
}

TEST_AFTER(every_name_at_every_age, need_driver())
{
	static const int versions[] = { 0, 2000, 3020, 6050, 7000, 11030, 12000, 13000, 990000 };

	for (size_t i = 0; i < ROWS; i++)
		for (size_t at = 0; at < sizeof(versions) / sizeof(versions[0]); at++)
			for (cuuint64_t flags = 0; flags <= 4; flags++)
				compare(&rows[i], versions[at], flags);
}

TEST_AFTER(every_export, need_driver())
{
	for (size_t i = 0; i < ROWS; i++)
		if (!CHECK(fits(dlsym(driver, rows[i].symbol), function[i])))
			printf("# %s\n", rows[i].symbol);
}

/* Unusual requests: cudart's first is the name "" at version 0; names with suffixes, and NULL. */
TEST_AFTER(odd_questions, need_driver())
{
	static const char *const names[] = { "", "cu", "cuMemcpyHtoD_v2", "cuNoSuchThing", "puts" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct row row = { names[i], names[i], 0, 0 };
		void *got = NULL, *given = NULL;

		compare(&row, 0, 0);
		compare(&row, 12000, 0);
		CHECK_EQ(resolve_v2(names[i], &got, 0, 0, NULL),
			 native_resolve_v2(names[i], &given, 0, 0, NULL));
		CHECK(got == given);
	}
	/* A device's driver dereferences both without a check (580.159). */
	if (dlsym(driver, "standin_calls") == NULL)
		return;
	CHECK_EQ(resolve_v2("cuInit", NULL, 12000, 0, NULL),
		 native_resolve_v2("cuInit", NULL, 12000, 0, NULL));
	void *got;
	CHECK_EQ(resolve_v2(NULL, &got, 12000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
}

PRELOAD_MAIN()
