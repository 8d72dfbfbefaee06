/*
 * test_parse.c - parses and refuses values of options; showing a value is the inverse of parsing
 * it.
 */
#include "base/parse.h"
#include "check.h"

#include <errno.h>

static const char sizes[] = "bytes, with K, M, G or T, or auto";

TEST(bool_reads_0_and_1_only)
{
	static const char *const refused[] = { "", "2", "01", "1 ", " 1", "yes", "true", "-1" };
	hp_bool_t value = true;

	CHECK(hp_parse_bool("0", "0|1", &value) == 0 && !value);
	CHECK(hp_parse_bool("1", "0|1", &value) == 0 && value);
	for (size_t i = 0; i < HP_LEN(refused); i++)
		CHECK(hp_parse_bool(refused[i], "0|1", &value) == -EINVAL && value);
}

TEST(word_is_whole_and_exact)
{
	static const char *const refused[] = {
		"", "of", "offf", "Off", "off|", "h2d ", "|", "all|x"
	};
	hp_word_t value = 77;

	CHECK(hp_parse_word("off", "off|h2d|all", &value) == 0 && value == 0);
	CHECK(hp_parse_word("h2d", "off|h2d|all", &value) == 0 && value == 1);
	CHECK(hp_parse_word("all", "off|h2d|all", &value) == 0 && value == 2);
	for (size_t i = 0; i < HP_LEN(refused); i++)
		CHECK(hp_parse_word(refused[i], "off|h2d|all", &value) == -EINVAL && value == 2);
}

TEST(size_has_units)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "256K", 256 << 10 },
		{ "256k", 256 << 10 },
		{ "64M", 64 << 20 },
		{ "3G", (uint64_t)3 << 30 },
		{ "007", 7 },
		{ "9223372036854775807", INT64_MAX },
		{ "8589934591G", (uint64_t)8589934591 << 30 },
		{ "1T", (uint64_t)1 << 40 },
		{ "5GB", (uint64_t)5 << 30 },
		{ "64MiB", 64 << 20 },
		{ "1kB", 1 << 10 },
		{ "auto", HP_AUTO },
	};
	static const char *const refused[] = {
		"",
		"K",
		"-1",
		"+1",
		" 1",
		"1 ",
		"1P",
		"1B",
		"1iB",
		"1KBB",
		"1KB ",
		"1Kb",
		"0x10",
		"1.5M",
		"AUTO",
		"auto ",
		"1e3",
		"banana",
		"9223372036854775808",
		"18446744073709551616",
		"8589934592G",
		"99999999999999999999999",
	};

	for (size_t i = 0; i < HP_LEN(good); i++) {
		hp_size_t value = 1234;

		CHECK_EQ(hp_parse_size(good[i].text, sizes, &value), 0);
		CHECK_EQ(value, good[i].bytes);
	}
	for (size_t i = 0; i < HP_LEN(refused); i++) {
		hp_size_t value = 1234;

		CHECK_EQ(hp_parse_size(refused[i], sizes, &value), -EINVAL);
		CHECK_EQ(value, 1234);
	}
}

TEST(auto_only_where_it_is_accepted)
{
	hp_size_t size = 5;
	hp_count_t count = 5;

	CHECK(hp_parse_size("auto", "bytes, with K, M, G or T", &size) == -EINVAL && size == 5);
	CHECK(hp_parse_count("auto", "a number", &count) == -EINVAL && count == 5);
	CHECK(hp_parse_count("auto", "a number, or auto", &count) == 0 && count == HP_AUTO);
}

TEST(count_has_no_units)
{
	hp_count_t value = 5;

	CHECK(hp_parse_count("0", "a number", &value) == 0 && value == 0);
	CHECK(hp_parse_count("16", "a number", &value) == 0 && value == 16);
	CHECK(hp_parse_count("32", "a number up to 32, or auto", &value) == 0 && value == 32);
	CHECK(hp_parse_count("33", "a number up to 32, or auto", &value) == -EINVAL);
	CHECK(hp_parse_count("16", "a number", &value) == 0 && value == 16);
	CHECK(hp_parse_count("16K", "a number", &value) == -EINVAL && value == 16);
	CHECK(hp_parse_count("", "a number", &value) == -EINVAL);
	CHECK(hp_parse_count("-1", "a number", &value) == -EINVAL);
	CHECK(hp_parse_count("9223372036854775808", "a number", &value) == -EINVAL && value == 16);
}

TEST(text_up_to_its_room)
{
	char longest[HP_TEXT_MAX + 1];
	hp_text_t value = "kept";

	memset(longest, 'x', HP_TEXT_MAX);
	longest[HP_TEXT_MAX] = '\0';
	CHECK_EQ(hp_parse_text(longest, "", value), -ENAMETOOLONG);
	CHECK(strcmp(value, "kept") == 0);
	longest[HP_TEXT_MAX - 1] = '\0';
	CHECK_EQ(hp_parse_text(longest, "", value), 0);
	CHECK_EQ(strlen(value), HP_TEXT_MAX - 1);
	CHECK(hp_parse_text("", "", value) == 0 && value[0] == '\0');
}

TEST(parsers_leave_errno_alone)
{
	hp_size_t size;
	hp_bool_t flag;

	errno = ENOTTY;
	hp_parse_size("99999999999999999999999", sizes, &size);
	hp_parse_bool("x", "0|1", &flag);
	CHECK_EQ(errno, ENOTTY);
}

static const struct hp_path_facts facts = {
	.pid = 4711, .host = "node/7", .time = "20261121-034915", .rank = "3"
};

static void expands(const char *pattern, const char *expected)
{
	char path[64];

	CHECK_EQ(hp_path_expand(pattern, &facts, path, sizeof(path)), 0);
	if (!CHECK(strcmp(path, expected) == 0))
		printf("# %s became %s, expected %s\n", pattern, path, expected);
}

TEST(path_marks)
{
	expands("", "");
	expands("/tmp/run.json", "/tmp/run.json");
	expands("%p", "4711");
	expands("a%hb", "anode_7b");
	expands("%t-%r", "20261121-034915-3");
	expands("100%%", "100%");
	expands("%%p", "%p");
	expands("%x%", "%x%");
	expands("%", "%");
	expands("/%p/%p", "/4711/4711");
}

TEST(path_for_glob)
{
	const struct hp_path_facts any = {
		.pid = HP_PATH_ANY, .host = "n*", .time = "20261121-034915", .rank = "3"
	};
	char path[64];

	CHECK_EQ(hp_path_expand("a[1]/b?\\-%p-%t-%h-%r%%", &any, path, sizeof(path)), 0);
	CHECK(strcmp(path, "a\\[1]/b\\?\\\\-*-*-n\\*-3%") == 0);
	CHECK_EQ(hp_path_expand("12[", &any, path, 4), -ENAMETOOLONG);
	CHECK_EQ(hp_path_expand("%h-%r", &(struct hp_path_facts){ .pid = HP_PATH_ANY }, path,
				sizeof(path)),
		 0);
	CHECK(strcmp(path, "*-*") == 0);
}

TEST(path_that_does_not_fit)
{
	char path[8] = "kept";

	CHECK_EQ(hp_path_expand("1234567", &facts, path, sizeof(path)), 0);
	CHECK_EQ(hp_path_expand("12345678", &facts, path, sizeof(path)), -ENAMETOOLONG);
	CHECK_EQ(hp_path_expand("1234%p", &facts, path, sizeof(path)), -ENAMETOOLONG);
	CHECK_EQ(hp_path_expand("", &facts, path, 0), -ENAMETOOLONG);
}

TEST(capture)
{
	static const char *const good[] = { "all", "profiler-api", "nvtx:step",
					    "nvtx:nvtx:", "nvtx:two words" };
	static const char *const bad[] = { "", "nvtx", "nvtx:", "All", "profiler", "step" };

	for (size_t i = 0; i < HP_LEN(good); i++) {
		hp_capture_t value;

		/* The whole run is the empty text. */
		CHECK_EQ(hp_parse_capture(good[i], "", value), 0);
		if (!CHECK(strcmp(value, i == 0 ? "" : good[i]) == 0))
			printf("# %s: %s\n", good[i], value);
	}
	for (size_t i = 0; i < HP_LEN(bad); i++) {
		hp_capture_t value = "kept";

		if (!CHECK(hp_parse_capture(bad[i], "", value) < 0 && strcmp(value, "kept") == 0))
			printf("# %s\n", bad[i]);
	}
}

CHECK_MAIN()
