/*
 * test_units.c - formats of figures and names in output.
 */
#include "base/units.h"
#include "check.h"

#define SAYS(call, expected)                                                         \
	do {                                                                         \
		char buffer[UNITS_ROOM];                                             \
		const char *said = call;                                             \
                                                                                     \
		if (!CHECK(strcmp(said, expected) == 0))                             \
			printf("# " #call " says '%s', not '%s'\n", said, expected); \
	} while (0)

TEST(times)
{
	SAYS(units_time(buffer, 0), "0 ns");
	SAYS(units_time(buffer, 999), "999 ns");
	SAYS(units_time(buffer, 1000), "1.00 us");
	SAYS(units_time(buffer, 12345), "12.3 us");
	SAYS(units_time(buffer, 999499), "999 us");
	SAYS(units_time(buffer, 999500), "1.00 ms");
	SAYS(units_time(buffer, 9994999), "9.99 ms");
	SAYS(units_time(buffer, 9995000), "10.0 ms");
	SAYS(units_time(buffer, 99949999), "99.9 ms");
	SAYS(units_time(buffer, 99950000), "100 ms");
	SAYS(units_time(buffer, 4100000000), "4.10 s");
	SAYS(units_time(buffer, 86400000000000), "86400 s");
}

TEST(bytes_rates_counts)
{
	SAYS(units_bytes(buffer, 0), "0 B");
	SAYS(units_bytes(buffer, 1), "1 B");
	SAYS(units_bytes(buffer, 67108864), "67.1 MB");
	SAYS(units_bytes(buffer, 31500000000), "31.5 GB");
	SAYS(units_bytes(buffer, UINT64_MAX), "18446744 TB");
	SAYS(units_rate(buffer, 31500000000, 4010000000), "7.86");
	SAYS(units_rate(buffer, 55, 1), "55.0");
	SAYS(units_rate(buffer, 0, 5), "n/a");
	SAYS(units_rate(buffer, 5, 0), "n/a");
	SAYS(units_count(buffer, 0), "0");
	SAYS(units_count(buffer, 999), "999");
	SAYS(units_count(buffer, 4200), "4 200");
	SAYS(units_count(buffer, 1234567), "1 234 567");
	SAYS(units_tenths(buffer, 319), "31.9 %");
	SAYS(units_share(buffer, 1, 3), "33.3 %");
	SAYS(units_share(buffer, 3, 0), "n/a");
}

TEST(names_cannot_drive_a_terminal)
{
	char buffer[64];

#define ESCAPED(text, columns, expected) \
	CHECK(strcmp(units_escape(buffer, sizeof(buffer), text, columns), expected) == 0)
	ESCAPED("plain", 10, "plain");
	ESCAPED("a\x1b[31mb", 20, "a\\x1b[31mb");
	ESCAPED("line\nline", 20, "line\\x0aline");
	ESCAPED("gr\xc3\xbc\xc3\x9f", 10, "gr\xc3\xbc\xc3\x9f");
	ESCAPED("c1\xc2\x9b", 20, "c1\\xc2\\x9b");
	ESCAPED("\xff\xfe", 20, "\\xff\\xfe");
	ESCAPED("\xe2\x80\xae"
		"abc",
		20, "\\xe2\\x80\\xaeabc");
	ESCAPED("0123456789", 10, "0123456789");
	ESCAPED("0123456789a", 10, "01234567..");
	ESCAPED("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 3, "\xc3\xbc..");
	CHECK(strlen(units_escape(buffer, 16, "0123456789012345678901234567890", 99)) < 16);
#undef ESCAPED
}

TEST(printable)
{
	CHECK_EQ(units_printable("a", 1), 1);
	CHECK_EQ(units_printable("", 0), 0);
	CHECK_EQ(units_printable("\xc3", 1), 0);             /* cut short */
	CHECK_EQ(units_printable("\xc0\x80", 2), 0);         /* overlong */
	CHECK_EQ(units_printable("\xe0\x80\x80", 3), 0);     /* overlong */
	CHECK_EQ(units_printable("\xed\xa0\x80", 3), 0);     /* surrogate */
	CHECK_EQ(units_printable("\xf4\x90\x80\x80", 4), 0); /* beyond Unicode */
	CHECK_EQ(units_printable("\xf0\x9f\x98\x80", 4), 4);
	CHECK_EQ(units_printable("\xc2\xa0", 2), 2);
	CHECK_EQ(units_printable("\xd8\x9b", 2), 2);
	CHECK_EQ(units_printable("\xd8\x9c", 2), 0); /* Arabic letter mark */
}

TEST(tenths_sum_to_a_thousand)
{
	static const uint64_t parts[][5] = {
		{ 1, 1, 1, 0, 0 },
		{ 1, 2, 4, 8, 16 },
		{ 1, 0, 0, 0, 0 },
		{ 999, 1, 1, 1, 1 },
		{ 333, 333, 334, 1, 7 },
		{ UINT64_MAX / 8, UINT64_MAX / 8, 1, 2, 3 },
		/* More than 64 bits, which left a sum that is too small for these parts. */
		{ INT64_MAX, INT64_MAX, 16243345, 0, 0 },
	};
	unsigned tenths[5];

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		units_split_tenths(parts[i], 5, tenths);
		CHECK_EQ(tenths[0] + tenths[1] + tenths[2] + tenths[3] + tenths[4], 1000);
	}
	units_split_tenths((const uint64_t[]){ 1, 1, 1 }, 3, tenths);
	CHECK(tenths[0] == 334 && tenths[1] == 333 && tenths[2] == 333);
	/* 32.3, 64.5, 129.0, 258.1 and 516.1: the one that rounding reduces most is rounded up. */
	units_split_tenths((const uint64_t[]){ 1, 2, 4, 8, 16 }, 5, tenths);
	CHECK(tenths[0] == 32 && tenths[1] == 65 && tenths[2] == 129);
	units_split_tenths((const uint64_t[]){ 0, 0, 0 }, 3, tenths);
	CHECK(tenths[0] == 0 && tenths[1] == 0 && tenths[2] == 0);
}

CHECK_MAIN()
