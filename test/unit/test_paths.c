/*
 * test_paths.c - paths of sources, in every form that compilers and users write.
 */
#include "check.h"
#include "names/source.h"

TEST(normal_paths)
{
	static const struct {
		const char *path, *normal;
	} rows[] = {
		{ "/a/b.c", "/a/b.c" },
		{ "/a/./b.c", "/a/b.c" },
		{ "/a//b.c", "/a/b.c" },
		{ "/a/x/../b.c", "/a/b.c" },
		{ "/a/x/y/../../b.c", "/a/b.c" },
		{ "/../a.c", "/a.c" },
		{ "/..", "/" },
		{ "/a/..", "/" },
		{ "/", "/" },
		{ "//", "/" },
		{ "/a/", "/a" },
		{ "a.c", "a.c" },
		{ "./a.c", "a.c" },
		{ "x/../a.c", "a.c" },
		{ "../a.c", "../a.c" },
		{ "../../a.c", "../../a.c" },
		{ "x/../../a.c", "../a.c" },
		{ "a/..b/c.c", "a/..b/c.c" },
		{ "a/b../../c.c", "a/c.c" },
		{ "..", ".." },
		{ ".", "" },
		{ "", "" },
		{ "x/..", "" },
		{ "...", "..." },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *path = paths_normal(rows[i].path);

		if (strcmp(path, rows[i].normal) != 0)
			printf("# %s became %s, not %s\n", rows[i].path, path, rows[i].normal);
		CHECK(strcmp(path, rows[i].normal) == 0);
	}
}

TEST(common_parts)
{
	static const struct {
		const char *a, *b;
		size_t parts;
	} rows[] = {
		{ "/src/heat.cu", "heat.cu", 1 },
		{ "/a/src/heat.cu", "src/heat.cu", 2 },
		{ "/a/src/heat.cu", "/b/src/heat.cu", 2 },
		{ "/x/heat.cu", "/x/heat.cu", 2 },
		{ "heat.cu", "heat.cu", 1 },
		{ "/a/xheat.cu", "yheat.cu", 0 },
		{ "/a/heat.cu", "eat.cu", 0 },
		{ "/src/abc/heat.cu", "/src/xbc/heat.cu", 1 },
		{ "abc/heat.cu", "bc/heat.cu", 1 },
		{ "/a/b.c", "/a/b.h", 0 },
		{ "", "a.c", 0 },
		{ "", "", 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t parts = paths_common_parts(rows[i].a, rows[i].b);

		if (parts != rows[i].parts)
			printf("# %s and %s: %zu\n", rows[i].a, rows[i].b, parts);
		CHECK(parts == rows[i].parts);
		CHECK(paths_common_parts(rows[i].b, rows[i].a) == parts);
	}
}

CHECK_MAIN()
