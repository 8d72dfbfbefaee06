/*
 * test_jit.c - reads names from /tmp/perf-PID.map with any content.
 */
#include "trace/jit.h"

#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>

TEST(a_line)
{
	static const struct {
		const char *line;
		bool is_one;
		uint64_t start, bytes;
		const char *name;
	} rows[] = {
		{ "7f00 20 f", true, 0x7f00, 0x20, "f" },
		{ "0x7F00 0x20 py::a b:/x.py", true, 0x7f00, 0x20, "py::a b:/x.py" },
		{ "ffffffffffffffff 1 x", true, UINT64_MAX, 1, "x" },
		{ "0 0 x", true, 0, 0, "x" },
		{ "10000000000000000 1 x", false, 0, 0, "" },
		{ "7f00 20", false, 0, 0, "" },
		{ "7f00 20 ", false, 0, 0, "" },
		{ "7f00  20 f", false, 0, 0, "" },
		{ "0x 20 f", false, 0, 0, "" },
		{ "-1 20 f", false, 0, 0, "" },
		{ "", false, 0, 0, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t start = 0, bytes = 0;
		const char *name = "";

		CHECK_EQ(jit_line(rows[i].line, &start, &bytes, &name), rows[i].is_one);
		if (!rows[i].is_one)
			continue;
		CHECK_EQ(start, rows[i].start);
		CHECK_EQ(bytes, rows[i].bytes);
		CHECK(strcmp(name, rows[i].name) == 0);
	}
}

static const char *write_map(const char *text, size_t length)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/perf.map", getenv("TEST_FOLDER"));
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, text, length) == (ssize_t)length);
	close(fd);
	return path;
}

TEST(addresses_get_the_latest_name)
{
	static const char map[] = "100 10 first\n"
				  "garbage\n"
				  "110 10 second\n"
				  "fffffffffffffff0 10 last\n"
				  "108 4 later\n"
				  "200 10 unfinished";
	struct jit_name names[] = {
		{ 0xff, "" },  { 0x100, "" }, { 0x108, "" }, { 0x10c, "" },
		{ 0x11f, "" }, { 0x120, "" }, { 0x200, "" }, { UINT64_MAX, "" }
	};
	static const char *const expected[] = { "",       "first", "later", "first",
						"second", "",      "",      "last" };

	jit_read(write_map(map, sizeof(map) - 1), names, 8);
	for (size_t i = 0; i < 8; i++)
		CHECK(strcmp(names[i].name, expected[i]) == 0);
}

TEST(long_lines_are_cut)
{
	static char map[20000];
	struct jit_name names[] = { { 0x100, "" }, { 0x200, "" } };

	memset(map, 'x', sizeof(map));
	memcpy(map, "100 10 ", 7);
	memcpy(map + 15000, "\n200 10 y\n", 10);
	jit_read(write_map(map, 15010), names, 2);
	CHECK_EQ(strlen(names[0].name), JIT_NAME_ROOM - 1);
	CHECK(strcmp(names[1].name, "y") == 0);
}

/* /tmp is shared: another user could create any file there. */
TEST(only_a_file_of_this_user)
{
	static const char map[] = "100 10 f\n";
	struct jit_name names[] = { { 0x100, "" } };
	char path[4096], other[4200];

	snprintf(path, sizeof(path), "%s", write_map(map, sizeof(map) - 1));
	snprintf(other, sizeof(other), "%s.link", path);
	CHECK_EQ(symlink(path, other), 0);
	jit_read(other, names, 1);
	CHECK(names[0].name[0] == '\0');
	snprintf(other, sizeof(other), "%s.pipe", path);
	CHECK_EQ(mkfifo(other, 0600), 0);
	jit_read(other, names, 1);
	jit_read("/nowhere/perf.map", names, 1);
	if (geteuid() == 0) {
		CHECK_EQ(chown(path, 65534, 65534), 0);
		jit_read(path, names, 1);
		CHECK(names[0].name[0] == '\0');
		CHECK_EQ(chown(path, 0, 0), 0);
	}
	jit_read(path, names, 1);
	CHECK(strcmp(names[0].name, "f") == 0);
}

CHECK_MAIN()
