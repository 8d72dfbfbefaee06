/*
 * test_window.c - the last part of a run: its sums, and that its memory stays small for a day.
 */
#include "trace/window.h"
#include "trace/emit_json.h"
#include "trace/hostcalls.h"
#include "trace/json.h"
#include "trace/sites.h"
#include "trace/writer.h"

#include "check.h"

#include <unistd.h>

static struct window window;

/* Makes a slice of a profile with one sum; returns the part of it inside the window. */
static uint64_t slice(uint64_t key, uint64_t value)
{
	uint64_t since = value - window_before(&window, key, value);

	window_end_slice(&window);
	return since;
}

TEST(a_window_has_its_last_slices)
{
	CHECK_EQ(window_init(&window, 2), 0);
	CHECK_EQ(slice(7, 10), 10);
	CHECK(!window_has_begun(&window));
	CHECK_EQ(slice(7, 25), 25);
	CHECK(window_has_begun(&window));
	CHECK_EQ(slice(7, 45), 35);
	CHECK_EQ(slice(7, 70), 45);
	/* A sum that did not exist was 0. */
	CHECK_EQ(slice(8, 5), 5);
	CHECK_EQ(slice(7, 100), 30);
}

TEST(a_profile_that_was_not_written_makes_the_window_longer)
{
	CHECK_EQ(window_init(&window, 1), 0);
	CHECK_EQ(slice(7, 10), 10);
	window_end_slice(&window);
	CHECK_EQ(slice(7, 30), 20);
	/* One sum more than there is room for. */
	for (uint64_t i = 0; i <= WINDOW_SUMS_MOST; i++)
		window_before(&window, i, 1);
	window_end_slice(&window);
	CHECK_EQ(slice(7, 50), 20);
}

/* Writes a list of two rows in a different order, with a maximum in each. */
static void put_rows(struct json *json, const char *const names[], const uint64_t sums[],
		     const uint64_t most[])
{
	json_open(json, NULL, "{");
	json_open(json, "rows", "[");
	for (size_t i = 0; i < 2; i++) {
		json_open(json, NULL, "{");
		json_text(json, "name", names[i]);
		json_sum(json, "count", sums[i]);
		json_most(json, "longest", most[i]);
		json_close(json, "}");
	}
	json_close(json, "]");
	json_close(json, "}");
}

TEST(rows_are_known_by_their_texts)
{
	struct writer writer;
	struct json json = { .writer = &writer, .window = &window };

	CHECK_EQ(window_init(&window, 1), 0);
	CHECK_EQ(writer_open_memory(&writer), 0);
	put_rows(&json, (const char *[]){ "a", "b" }, (uint64_t[]){ 10, 20 }, (uint64_t[]){ 5, 6 });
	window_end_slice(&window);
	writer.used = 0;
	json = (struct json){ .writer = &writer, .window = &window };
	put_rows(&json, (const char *[]){ "b", "a" }, (uint64_t[]){ 23, 17 }, (uint64_t[]){ 9, 5 });
	writer.buffer[writer.used] = '\0';
	CHECK(strstr(writer.buffer, "\"b\",\n\t\t\t\"count\": 3,\n\t\t\t\"longest\": 9") != NULL);
	/* The maximum may be from that time or from before. */
	CHECK(strstr(writer.buffer, "\"a\",\n\t\t\t\"count\": 7,\n\t\t\t\"longest\": null") !=
	      NULL);
	/* A row that lost its place starts again. */
	window_end_slice(&window);
	writer.used = 0;
	json = (struct json){ .writer = &writer, .window = &window };
	put_rows(&json, (const char *[]){ "b", "c" }, (uint64_t[]){ 2, 1 }, (uint64_t[]){ 1, 4 });
	writer.buffer[writer.used] = '\0';
	CHECK(strstr(writer.buffer, "\"b\",\n\t\t\t\"count\": 2,") != NULL);
	CHECK(strstr(writer.buffer, "\"c\",\n\t\t\t\"count\": 1,\n\t\t\t\"longest\": 4") != NULL);
	writer_close(&writer);
}

/* Makes a copy at one of 100,000 places of the program. */
static void copy_from(uint64_t place, uint64_t at_ns)
{
	struct frames_way way = { .depth = 3, .name = FRAMES_NAMELESS };
	const struct trace_copy copy = { .direction = TRACE_H2D,
					 .synchronous = true,
					 .bytes = 1000,
					 .enter_ns = at_ns,
					 .leave_ns = at_ns + 10 };

	way.hash = (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
	for (size_t i = 0; i < 3; i++)
		way.address[i] = (uintptr_t)(4096 * (place % (i + 1)) + place);
	hostcalls_copy(&copy);
	sites_copied(&copy, &way);
}

/* Returns the number after `key` in the file, and the file's size. */
static long long read_number(const char *path, const char *key, size_t *ret_bytes)
{
	static char text[8 << 20];
	FILE *file = fopen(path, "r");

	if (!CHECK(file != NULL))
		return -1;
	*ret_bytes = fread(text, 1, sizeof(text) - 1, file);
	text[*ret_bytes] = '\0';
	fclose(file);
	const char *at = strstr(text, key);
	return CHECK(at != NULL) ? atoll(at + strlen(key)) : -1;
}

static size_t marked_bytes(void)
{
	size_t bytes = 0;

	for (size_t i = 0; i < window.marks; i++)
		bytes += window.mark[i].count * sizeof(struct window_sum);
	return bytes;
}

/* A profile every quarter of an hour for a day, each of the last hour. */
TEST(a_day_in_windows_of_an_hour)
{
	enum { SLICES = 24 * 4, COPIES = 1050 };
	static struct cupti cupti;
	static struct report report = {
		.cupti = &cupti, .why_not = "", .stage = "", .sites = true
	};
	static struct split split;
	static struct split_span spans[1024];
	static struct writer writer;
	_Atomic uint32_t crowded = 0;
	char *path = check_path("window.json");
	uint64_t at_ns = 0, place = 0;
	size_t halfway = 0, bytes;

	CHECK_EQ(window_init(&window, 4) + hostcalls_start(&crowded) + sites_start(), 0);
	split_init(&split, spans, sizeof(spans) / sizeof(spans[0]), 0);
	report.window = &window;
	for (int i = 0; i < SLICES; i++) {
		for (int j = 0; j < COPIES; j++, place++)
			copy_from(place % 100000, at_ns += 857142857);
		hostcalls_drain(&split);
		hostcalls_read(&report.calls);
		report.split.wall_ns = at_ns;
		/* The last profile is written to a file, the others to memory. */
		if (i < SLICES - 1)
			CHECK_EQ(writer_open_memory(&writer), 0);
		else
			CHECK_EQ(writer_open(&writer, path), 0);
		emit_json(&report, &writer);
		int error = writer_close(&writer);
		CHECK(i < SLICES - 1 || error == 0);
		window_end_slice(&window);
		if (i == SLICES / 2)
			halfway = marked_bytes();
	}
	CHECK_EQ(read_number(path, "\"wall_ns\": ", &bytes), 4 * COPIES * 857142857ll);
	CHECK_EQ(read_number(path, "\"window_of_ns\": ", &bytes), (long long)at_ns);
	CHECK_EQ(read_number(path, "\"hotpin_copies\": ", &bytes), 4 * COPIES);
	CHECK(bytes < (size_t)2 << 20);
	CHECK(marked_bytes() < (size_t)2 << 20 && marked_bytes() <= halfway + halfway / 16);
	unlink(path);
}

CHECK_MAIN()
