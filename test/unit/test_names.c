/*
 * test_names.c - shortens a place to few columns; the line number, which readers need most, stays.
 */
#include "check.h"
#include "names/names.h"
#include "profile/texts.h"

static const struct row {
	const char *function, *line;
	size_t columns;
	const char *shown;
} rows[] = {
	{ "main", "a.c:1", 40, "main at a.c:1" },
	{ "upload(void*, void const*, unsigned long)", "truth.cu:202", 60,
	  "upload(void*, void const*, unsigned long) at truth.cu:202" },
	{ "upload(void*, void const*, unsigned long)", "truth.cu:202", 40,
	  "upload(..) at truth.cu:202" },
	{ "step(int) [clone .constprop.0]", "a.cu:5", 40, "step(int) at a.cu:5" },
	{ "step(float*, float*) [clone .isra.0] [clone .cold]", "a.cu:5", 24,
	  "step(..) at a.cu:5" },
	{ "la::grid<int (*)(int)>::operator()(double, double) const", "a.cc:7", 48,
	  "la::grid<int (*)(int)>::operator()(..) at a.cc:7" },
	{ "la::grid<int (*)(int)>::operator()(double, double) const", "a.cc:7", 24,
	  "la::grid<int.. at a.cc:7" },
	{ "(anonymous namespace)::f(long, long)", "a.cc:7", 40,
	  "(anonymous namespace)::f(..) at a.cc:7" },
	{ "a_function_of_c_with_a_long_name", "a.c:7", 24, "a_function_of.. at a.c:7" },
	{ "f(int)", "a_file_with_a_long_name.cu:1234", 10,
	  "f(..) at a_file_with_a_long_name.cu:1234" },
	{ "))))((((((", "a.c:7", 8, "))))((((.. at a.c:7" },
	{ "abcdefg\xc3\xb6hijklm", "a.c:7", 18, "abcdefg.. at a.c:7" },
	{ "", "a.c:7", 4, " at a.c:7" },
};

TEST(the_line_stays)
{
	static const struct profile profile;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct profile_frame frame = { .module = UNKNOWN,
					       .function = rows[i].function,
					       .line = rows[i].line };

		const char *seen = names_place(&profile, &frame, rows[i].columns);
		if (strcmp(seen, rows[i].shown) != 0)
			printf("# %s, not %s\n", seen, rows[i].shown);
		CHECK(strcmp(seen, rows[i].shown) == 0);
	}
}

TEST(what_has_no_name)
{
	static struct profile_module modules[] = { { .path = "/usr/bin/app" } };
	static const struct profile profile = { .modules = modules, .module_count = 1 };
	struct profile_frame frame = { .module = 0, .offset = 0x77 };

	CHECK(strcmp(names_place(&profile, &frame, 4), "app+0x77") == 0);
	/* Several places in one function are several rows. */
	frame.function = "main";
	CHECK(strcmp(names_place(&profile, &frame, 40), "main in app+0x77") == 0);
	frame.offset = UNKNOWN;
	CHECK(strcmp(names_place(&profile, &frame, 40), "main in app") == 0);
	CHECK(strcmp(names_place(&profile, NULL, 4), "?") == 0);
}

/* The line of a launch is that of <<<>>>, not that of nvcc's stub or of the kernel. */
static const struct launch {
	const char *functions[4], *place;
} launches[] = {
	{ { "__cudart123", "__device_stub__Z5scalePfi(float*, int)", "scale(float*, int)", "main" },
	  "main" },
	{ { "cudaLaunchKernel", "__device_stub__ZN1n5scaleIfEEvPT_(float*)",
	    "void n::scale<float>(float*)", "step" },
	  "step" },
	/* The compiler has replaced the call of the stub by a jump. */
	{ { "cudaLaunchKernel", "__device_stub__Z5scalePfi(float*, int)", "step(float*)", "main" },
	  "step(float*)" },
	{ { "cudaLaunchKernel", "__device_stub__Z5scalePfi(float*, int)", NULL, "main" }, NULL },
	/* A program may call the runtime itself. */
	{ { "cudaLaunchKernel", "scale(float*, int)", "main", "_start" }, "scale(float*, int)" },
};

TEST(a_launch)
{
	static const struct profile profile;

	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++) {
		struct profile_frame items[4];
		struct profile_frames frames = { items, 4 };
		const char *place = launches[i].place;
		bool in_cuda;

		for (size_t j = 0; j < 4; j++)
			items[j] = (struct profile_frame){ .module = UNKNOWN,
							   .function = launches[i].functions[j],
							   .path = "a.cu" };
		const struct profile_frame *frame = names_frame(&profile, &frames, false);
		CHECK(place == NULL ? frame->function == NULL
				    : strcmp(frame->function, place) == 0);
		CHECK(names_source_frame(&profile, &frames, &in_cuda) == frame && in_cuda);
	}
}

TEST(characters_of_several_bytes)
{
	static const struct profile profile;
	static char name[4 * 300 + 1];
	struct profile_frame frame = { .module = UNKNOWN, .function = name, .line = "a.c:7" };

	for (size_t i = 0; i < sizeof(name) - 1; i += 4)
		memcpy(name + i, "\xf0\x9f\x9a\x80", 4);
	const char *seen = names_place(&profile, &frame, 700);
	CHECK(strcmp(seen + strlen(seen) - 11, ".. at a.c:7") == 0);
	CHECK((strlen(seen) - 11) % 4 == 0);
}

TEST(texts_live)
{
	const char *first = text_time(870000), *lines = NULL;

	for (int i = 0; i < 1000; i++)
		text_add_line(&lines, "%s", text_name("a\nline", i < 900 ? 40 : 4));
	CHECK(strcmp(first, "870 us") == 0);
	for (int i = 0; i < 1000; i++)
		CHECK(strcmp(text_take_line(&lines), i < 900 ? "a\\x0aline" : "a..") == 0);
	CHECK(text_take_line(&lines) == NULL);
}

TEST(a_name_of_a_megabyte)
{
	static const struct profile profile;
	size_t length = 1 << 20;
	char *name = malloc(length + 1);
	struct profile_frame frame = { .module = UNKNOWN, .function = name, .line = "a.c:7" };

	memset(name, 'x', length);
	name[length] = '\0';
	const char *seen = names_place(&profile, &frame, 40);
	CHECK(strcmp(seen + strlen(seen) - 11, ".. at a.c:7") == 0);
	CHECK(strlen(seen) == 40);
	free(name);
}

TEST(the_frame_with_a_source)
{
	static struct profile_module modules[] = { { .path = "/usr/bin/app" },
						   { .path = "/lib/libc.so.6" },
						   { .path = "/usr/lib/libcuda.so.1" },
						   { .path = "/usr/lib/libcudart.so.13" } };
	static const struct profile profile = { .modules = modules, .module_count = 4 };
	static const char *const header = "/usr/include/c++/12/bits/stl_algo.h";
	static const struct {
		struct profile_frame frames[4];
		size_t count;
		int found;
		bool in_cuda;
	} cases[] = {
		{ { { .path = "/a.c" }, { .path = "/b.c" } }, 2, 0, false },
		{ { { .path = NULL }, { .path = "/b.c" } }, 2, 1, false },
		{ { { .module = 1, .path = "malloc.c" }, { .path = "/b.c" } }, 2, 1, false },
		{ { { .module = 2 }, { .module = 3 }, { .path = "/b.c" } }, 3, 2, true },
		{ { { .function = "cudaMemcpy", .path = "/c.c" }, { .path = "/b.c" } },
		  2,
		  1,
		  true },
		{ { { .path = header }, { .path = "/b.c" } }, 2, 1, false },
		{ { { .path = header }, { .path = NULL } }, 2, 0, false },
		{ { { .path = header }, { .module = 2 } }, 2, 0, false },
		{ { { .path = "/a.c" }, { .module = 2 } }, 2, 0, false },
		{ { { .module = 2 }, { .path = NULL } }, 2, -1, true },
		{ { { .path = NULL } }, 1, -1, false },
		{ { { .path = NULL } }, 0, -1, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile_frames frames = { (struct profile_frame *)cases[i].frames,
						 cases[i].count };
		bool in_cuda = !cases[i].in_cuda;
		const struct profile_frame *frame = names_source_frame(&profile, &frames, &in_cuda);

		if ((frame != NULL ? frame - frames.items : -1) != cases[i].found)
			printf("# case %zu\n", i);
		CHECK((frame != NULL ? frame - frames.items : -1) == cases[i].found);
		CHECK(in_cuda == cases[i].in_cuda);
	}
}

TEST(sources_of_others)
{
	CHECK(names_is_system_source("/usr/include/stdio.h"));
	CHECK(names_is_system_source("/opt/gcc/include/c++/13/vector"));
	CHECK(names_is_system_source("/usr/local/cuda-13.0/include/thrust/copy.h"));
	CHECK(!names_is_system_source("/home/me/usr/include/a.h"));
	CHECK(!names_is_system_source("src/a.c"));
}

CHECK_MAIN()
