/*
 * test_host_code.c - sums up samples of host code by function and as a tree, for any file, in few
 * steps.
 *
 * A step is a comparison of two names, which the linker redirects to this file.
 */
#include "check.h"
#include "analyze/host_code.h"
#include "show/page/html.h"
#include "show/page/page.h"

#include <stdlib.h>
#include <string.h>

/* Replaces the assets of the page. */
const char page_style[] = "", page_policy[] = "";
const char page_script[] = "";

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);

static size_t steps;

int __wrap_strcmp(const char *a, const char *b)
{
	steps++;
	return __real_strcmp(a, b);
}

/* Returns the function of frame `depth` of chain `i` of `count`; 0 is the leaf. */
typedef int (*shape_fn)(int i, int depth, int count);

static void add(struct profile *profile, const int *functions, size_t depth, int64_t samples)
{
	struct profile_sample *sample = &profile->samples[profile->sample_count++];

	*sample = (struct profile_sample){
		.frames = { profile_allocate(profile, depth, sizeof(struct profile_frame)), depth },
		.first_thread = samples,
	};
	for (size_t i = 0; i < depth; i++) {
		char *name = profile_allocate(profile, 16, 1);

		snprintf(name, 16, "f%d", functions[i]);
		sample->frames.items[i] = (struct profile_frame){
			.module = UNKNOWN,
			.offset = functions[i],
			.function = name,
			.line = name,
			.path = "a.c",
			.number = functions[i],
		};
	}
}

static char *icicle_of(struct profile *profile)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	html_icicle(to, profile);
	fclose(to);
	return text;
}

static size_t steps_of(shape_fn shape, size_t depth, int count)
{
	struct profile profile = { .sampling.hz = 199 };
	struct host_code code;
	int functions[PROFILE_FRAMES_MOST];

	profile.samples = profile_allocate(&profile, (size_t)count, sizeof(*profile.samples));
	for (int i = 0; i < count; i++) {
		for (size_t j = 0; j < depth; j++)
			functions[j] = shape(i, (int)j, count);
		add(&profile, functions, depth, 1 + i % 3);
	}
	steps = 0;
	free(icicle_of(&profile));
	host_code_sum(&profile, NULL, NULL, &code);
	profile_close(&profile);
	return steps;
}

static int each(int i, int depth, int count)
{
	return depth * count + i;
}

static int one_leaf(int i, int depth, int count)
{
	(void)count;
	return depth == 0 ? -1 : i;
}

static int one_caller(int i, int depth, int count)
{
	(void)count;
	return depth == 0 ? i : -1;
}

static int mixed(int i, int depth, int count)
{
	return (int)((unsigned)(i + 1) * 2654435761u * (unsigned)(depth + 7) % (unsigned)count);
}

/* Four times as many chains take about four times as many steps, not sixteen. */
TEST(steps_grow_with_the_chains)
{
	static const struct {
		shape_fn shape;
		size_t depth;
	} shapes[] = { { each, 1 },
		       { each, PROFILE_FRAMES_MOST },
		       { one_leaf, 2 },
		       { one_caller, 2 },
		       { mixed, PROFILE_FRAMES_MOST } };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		size_t few = steps_of(shapes[i].shape, shapes[i].depth, 1000);
		size_t many = steps_of(shapes[i].shape, shapes[i].depth, 4000);

		CHECK(few > 0);
		CHECK(many < 7 * few);
	}
}

TEST(callers_are_above_what_they_call)
{
	struct profile profile = { .sampling.hz = 1000 };

	profile.samples = profile_allocate(&profile, 5, sizeof(*profile.samples));
	add(&profile, (const int[]){ 3, 2, 1 }, 3, 10);
	add(&profile, (const int[]){ 2, 9 }, 2, 5);
	add(&profile, (const int[]){ 2, 1 }, 2, 20);
	add(&profile, (const int[]){ 4, 2, 1 }, 3, 40);
	add(&profile, (const int[]){ 1 }, 1, 25);
	char *page = icicle_of(&profile);
	/* Two functions f2: one called by f1, with 70 samples, and one called by f9. */
	static const char *const order[] = {
		"all samples: 100.0 %", "f1: 95.0 %", "f2: 70.0 %", "f4: 40.0 %",
		"f3: 10.0 %",           "f9: 5.0 %",  "f2: 5.0 %"
	};
	const char *at = page;
	for (size_t i = 0; i < sizeof(order) / sizeof(*order) && at != NULL; i++) {
		at = strstr(at, order[i]);
		CHECK(at != NULL);
	}
	CHECK(at != NULL && strstr(at + 1, "<foreignObject") == NULL);
	free(page);
	profile_close(&profile);
}

/* The line and the caller with most of a function's own samples; of equal ones the first. */
TEST(line_and_caller_of_most)
{
	struct profile profile = { .sampling.hz = 1000 };
	struct host_code code;

	profile.samples = profile_allocate(&profile, 5, sizeof(*profile.samples));
	add(&profile, (const int[]){ 1, 2 }, 2, 10);
	add(&profile, (const int[]){ 1, 3 }, 2, 4);
	add(&profile, (const int[]){ 1, 3 }, 2, 6);
	add(&profile, (const int[]){ 1 }, 1, 100);
	add(&profile, (const int[]){ 4, 1 }, 2, 1000);
	for (size_t i = 0; i < 4; i++)
		profile.samples[i].frames.items[0].line = i == 1 || i == 3 ? "a.c:7" : "a.c:5";
	host_code_sum(&profile, NULL, NULL, &code);
	CHECK_EQ(code.function_count, 4);
	CHECK(strcmp(code.order[1]->frame->function, "f1") == 0);
	CHECK(strcmp(code.order[1]->line->line, "a.c:7") == 0);
	/* As many samples have no caller as have this one, or one more. */
	static const struct {
		int64_t lost;
		bool is_known;
	} rows[] = { { 0, true }, { 10, true }, { 11, false }, { 100, false } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		profile.samples[3].first_thread = rows[i].lost;
		host_code_sum(&profile, NULL, NULL, &code);
		if (!CHECK((code.order[1]->caller != NULL) == rows[i].is_known))
			printf("# row %zu\n", i);
		if (code.order[1]->caller != NULL)
			CHECK(strcmp(code.order[1]->caller->function, "f2") == 0);
	}
	profile_close(&profile);
}

/* The fewest lines of the main line's file that have 80 % of a function's own samples. */
TEST(hot_lines)
{
	static const struct {
		int64_t numbers[4], samples[4], first, last;
	} rows[] = {
		{ { 9, 5, 6, 7 }, { 1, 10, 69, 20 }, 6, 7 },
		{ { 1, 2, 3, 4 }, { 25, 25, 25, 25 }, 1, 4 },
		{ { 4, 90, 5, 91 }, { 39, 11, 40, 10 }, 4, 90 },
		{ { 7, 7, 7, 8 }, { 30, 30, 30, 10 }, 7, 7 },
		{ { 0, 0, 0, 0 }, { 1, 1, 1, 1 }, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile profile = { .sampling.hz = 1000 };
		struct host_code code;

		profile.samples = profile_allocate(&profile, 4, sizeof(*profile.samples));
		for (size_t j = 0; j < 4; j++) {
			add(&profile, (const int[]){ 1 }, 1, rows[i].samples[j]);
			profile.samples[j].frames.items[0].number = rows[i].numbers[j];
		}
		host_code_sum(&profile, NULL, NULL, &code);
		CHECK_EQ(code.order[0]->hot.first, rows[i].first);
		CHECK_EQ(code.order[0]->hot.last, rows[i].last);
		profile_close(&profile);
	}
}

CHECK_MAIN()
