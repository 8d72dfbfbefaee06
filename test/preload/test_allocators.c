/*
 * test_allocators.c - other allocators in the process: preloaded before or after the library,
 * linked as a library or into the program, or only a few functions.
 *
 * Built once for each way to link; each test states what is preloaded.
 */
#include "promote.h"

/* volatile, so that the compiler cannot replace the calls. */
static void *(*volatile my_malloc)(size_t) = malloc;
static void *(*volatile my_calloc)(size_t, size_t) = calloc;
static void *(*volatile my_realloc)(void *, size_t) = realloc;
static void *(*volatile my_reallocarray)(void *, size_t, size_t) = reallocarray;
static void (*volatile my_free)(void *) = free;

static const size_t sizes[] = { 1, 100, 5000, 200 * KIB, 256 * KIB, MIB + 17, 4 * MIB };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Changes every size to every other, by each function; the contents stay. */
static void *exercise(void *arg)
{
	for (size_t from = 0; from < SIZES; from++) {
		for (size_t to = 0; to < SIZES; to++) {
			size_t less = sizes[from] < sizes[to] ? sizes[from] : sizes[to];
			char *block = my_malloc(sizes[from]);

			fill(block, sizes[from], (unsigned)from);
			block = (from + to) % 2 ? my_realloc(block, sizes[to])
						: my_reallocarray(block, sizes[to], 1);
			CHECK(holds(block, less, (unsigned)from));
			memset(block, 1, sizes[to]);
			my_free(block);
		}
		char *zero = my_calloc(sizes[from], 1);
		CHECK(zero[0] == 0 && zero[sizes[from] - 1] == 0);
		my_free(zero);
	}
	return arg;
}

/* Functions of libc that return blocks of malloc(), which the program frees. */
static void from_libc(void)
{
	char *text = NULL, *line = NULL;
	size_t room = 0;
	FILE *file = tmpfile();

	CHECK(asprintf(&text, "%*d", 400 * 1024, 7) == 400 * 1024);
	fputs(text, file);
	rewind(file);
	CHECK(getline(&line, &room, file) == 400 * 1024);
	CHECK(strcmp(text, line) == 0);
	my_free(line);
	line = strdup(text);
	CHECK(strcmp(text, line) == 0);
	my_free(line);
	my_free(text);
	fclose(file);
}

static void aligned(void)
{
	for (size_t i = 0; i < SIZES; i++) {
		void *block = NULL;

		CHECK_EQ(posix_memalign(&block, 4096, sizes[i]), 0);
		CHECK((uintptr_t)block % 4096 == 0 && malloc_usable_size(block) >= sizes[i]);
		memset(block, 1, sizes[i]);
		block = my_realloc(block, sizes[i] + 1);
		my_free(block);
		block = aligned_alloc(64, sizes[i]);
		CHECK((uintptr_t)block % 64 == 0);
		memset(block, 1, sizes[i]);
		my_free(block);
	}
}

/* `ours`: large blocks come from our heap, and may be pinned.  Otherwise nothing is ever pinned. */
static void use_all(bool ours)
{
	/*
	 * A function has one address; in a program at a fixed address, that of the program's own
	 * PLT entry.
	 */
	if (dlopen("libc_malloc_debug.so.0", RTLD_LAZY | RTLD_NOLOAD) == NULL)
		CHECK(dlsym(RTLD_DEFAULT, "free") == (void *)free);
	exercise(NULL);
	from_libc();
	check_in_threads(4, exercise);

	begin();
	int most = 0;
	for (unsigned i = 0; i < 10; i++) {
		char *block = my_malloc(4 * MIB);

		fill(block, 4 * MIB, i);
		for (int n = 0; n < 10; n++)
			OK(cuMemcpyHtoD_v2(there, block, 4 * MIB));
		most = standin_pinned(block) > most ? standin_pinned(block) : most;
		memset(block, 0, 4 * MIB);
		OK(cuMemcpyDtoHAsync_v2(block, there, 4 * MIB, NULL));
		CHECK(holds(block, 4 * MIB, i));
		my_free(block);
	}
	CHECK_EQ(most != 0, ours && preloaded());
	/* The staging ring may be registered, too. */
	CHECK(standin_calls("cuMemHostRegister") <= 1 || (ours && preloaded()));
}

#if defined(LINKED) || defined(NOT_LINKED)

/* The source of malloc() without the library; "": the program itself. */
#ifdef NOT_LINKED
#define LINKED ""
#endif

TEST(linked)
{
#ifdef NOT_LINKED
	CHECK_SKIP("its development package is not installed");
#endif
	const char *from = preload_file_of(dlsym(RTLD_DEFAULT, "malloc"));
	const char *program = preload_file_of(use_all), *list = getenv("LD_PRELOAD");

	if (LINKED[0] == '\0')
		CHECK(strcmp(from, program) == 0);
	else if (list == NULL || strstr(list, OURS) == NULL)
		CHECK(strcmp(from, LINKED) == 0);
	aligned();
	use_all(false);
}

#else

static void need(const char *library)
{
	char why[100];

	snprintf(why, sizeof(why), "%s is not installed", library);
	if (dlopen(library, RTLD_LAZY | RTLD_NOLOAD) == NULL)
		CHECK_SKIP(why);
}

static void is_there(const char *library)
{
	CHECK(dlopen(library, RTLD_LAZY | RTLD_NOLOAD) != NULL);
}

/* The allocator serves all blocks, so none is pinned.  `needs` ends the test if it is missing. */
static void serves(void (*needs)(const char *), const char *library)
{
	needs(library);
	aligned();
	use_all(false);
}

/*
 * Allocators after ours serve small blocks, and also keep large ones: a program that knows its
 * allocator may use that allocator's own functions on them.
 */
#define PRELOADED(id, library)                                                         \
	CASE_WITH(id##_before_us, ("LD_PRELOAD=" library ":@"), serves(need, library)) \
	CASE_WITH(id##_behind_us, ("LD_PRELOAD=@:" library), serves(need, library))

PRELOADED(jemalloc, "libjemalloc.so.2")
PRELOADED(tcmalloc, "libtcmalloc_minimal.so.4")
PRELOADED(mimalloc, "libmimalloc.so.2")

/*
 * Since glibc 2.34 mtrace() is in this library, with the checks on.  It exports its functions only
 * under old versions: dlsym() does not find them, but programs are bound to them.
 */
static void with_libcs_own(void)
{
	need("libc_malloc_debug.so.0");
	aligned();
	use_all(false);
	char *volatile block = my_malloc(100);
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		fclose(stderr);
		/*
		 * Only this library detects it: it follows a chain of lengths to its own byte,
		 * which depends on the address and may be 0.
		 */
		memset(block, block[100] == 0 ? 0xff : 0, 100);
		block[100] = 1;
		my_free(block);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

CASE_WITH(libcs_own_before_us,
	  ("GLIBC_TUNABLES=glibc.malloc.check=3", "LD_PRELOAD=libc_malloc_debug.so.0:@"),
	  with_libcs_own())
CASE_WITH(libcs_own_behind_us,
	  ("GLIBC_TUNABLES=glibc.malloc.check=3", "LD_PRELOAD=@:libc_malloc_debug.so.0"),
	  with_libcs_own())

/*
 * jemalloc's own functions on blocks of malloc(), as in folly: jemalloc knows each block, the
 * contents stay, and it may reuse blocks that it freed.
 */
TEST_WITH(an_extended_interface, "LD_PRELOAD=@:libjemalloc.so.2")
{
	need("libjemalloc.so.2");
	void (*give)(void *, size_t, int) =
		(void (*)(void *, size_t, int))dlsym(RTLD_DEFAULT, "sdallocx");
	size_t (*size_of)(const void *, int) =
		(size_t(*)(const void *, int))dlsym(RTLD_DEFAULT, "sallocx");
	void *(*change)(void *, size_t, int) =
		(void *(*)(void *, size_t, int))dlsym(RTLD_DEFAULT, "rallocx");

	if (!CHECK(give != NULL && size_of != NULL && change != NULL))
		return;
	for (size_t i = 0; i < SIZES; i++) {
		char *block = my_malloc(sizes[i]), *kept = my_malloc(sizes[i]);

		fill(block, sizes[i], 1);
		fill(kept, sizes[i], 2);
		CHECK(size_of(block, 0) >= sizes[i]);
		CHECK_EQ(malloc_usable_size(block), size_of(block, 0));
		block = change(block, 2 * sizes[i], 0);
		CHECK(block != NULL && holds(block, sizes[i], 1));
		give(block, 2 * sizes[i], 0);
		/* The neighbor is unchanged, and blocks can be allocated and freed as before. */
		block = my_malloc(2 * sizes[i]);
		fill(block, 2 * sizes[i], 3);
		CHECK(holds(kept, sizes[i], 2));
		my_free(kept);
		CHECK(holds(block, 2 * sizes[i], 3));
		my_free(block);
	}
}

/* malloc(), calloc(), realloc() and free() by libc's internal names, as tracers use them. */
CASE_WITH(a_tracer_before_us, ("LD_PRELOAD=libtracer.so:@"), is_there("libtracer.so");
	  use_all(false))

TEST_WITH(a_tracer_behind_us, "LD_PRELOAD=@:libtracer.so")
{
	const int *calls = dlsym(RTLD_DEFAULT, "tracer_calls");
	int before = *calls;

	aligned();
	use_all(false);
	CHECK(*calls > before + 100);
}

/* Intercepts only free(). */
CASE_WITH(a_tracer_of_free_before_us, ("LD_PRELOAD=libtracer_free.so:@"),
	  serves(is_there, "libtracer_free.so"))
CASE_WITH(a_tracer_of_free_behind_us, ("LD_PRELOAD=@:libtracer_free.so"),
	  serves(is_there, "libtracer_free.so"))

/* Intercepts only malloc(): blocks that it does not serve are freed by our free(). */
CASE_WITH(a_tracer_of_malloc_before_us, ("LD_PRELOAD=libtracer_malloc.so:@"),
	  serves(is_there, "libtracer_malloc.so"))

/* Uses memory of its own, without malloc_usable_size() or aligned allocation. */
CASE_WITH(a_poor_one_before_us, ("LD_PRELOAD=libpoor.so:@"), is_there("libpoor.so"); use_all(false))

/* The first call that reaches us is not one that libc can answer. */
TEST_WITH(only_what_they_lack, "LD_PRELOAD=libpoor.so:@")
{
	char *block = my_reallocarray(my_malloc(100), MIB, 1);

	fill(block, MIB, 1);
	block = my_reallocarray(block, 2, MIB);
	CHECK(holds(block, MIB, 1));
	my_free(block);
}

/* Without other allocators: the same program, and blocks are pinned. */
CASE(alone, aligned(); use_all(true))

TEST_WITH(two_of_them, "LD_PRELOAD=libjemalloc.so.2:@:libtcmalloc_minimal.so.4")
{
	need("libjemalloc.so.2");
	need("libtcmalloc_minimal.so.4");
	aligned();
	use_all(false);
}

#endif

PRELOAD_MAIN()
