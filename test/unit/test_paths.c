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

CHECK_MAIN()
