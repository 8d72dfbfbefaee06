/*
 * report_samples.c - the table of host code: samples summed up by function.
 *
 * Code without a name counts for its file.  NVIDIA's driver and tools export few of their names, so
 * an address in them says nothing but the file.
 */
#include "report_samples.h"
#include "names.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS         8
#define PLACE_WIDTH  40
#define CALLER_WIDTH 24
/* Twice what the library writes: of a file that claims more, lines and callers are not shown. */
#define ENTRIES_MOST 50000

struct entry {
	const struct profile_frame *frame; /* with a name, or any of its file */
	size_t function;
	int64_t count;
	bool leaf;
};

struct function {
	const struct profile_frame *frame;
	int64_t self, total, line_count, caller_count;
	const struct profile_frame *line, *caller; /* most of its own samples; NULL: none */
};

struct host_code {
	struct entry *entries; /* of all samples, leaf first */
	struct function *functions;
	size_t entry_count, function_count;
	int64_t all;
};

static const struct profile *sorted_of;

static bool has_name(const struct profile *profile, const struct profile_frame *frame)
{
	static const char *const nameless[] = { "libcuda.so", "libnvidia-", "libcupti.so" };
	const char *module = names_module(profile, frame);

	for (size_t i = 0; i < HP_LEN(nameless); i++)
		if (strncmp(module, nameless[i], strlen(nameless[i])) == 0)
			return false;
	return frame->function != NULL;
}

static int compare_functions(const struct profile_frame *a, const struct profile_frame *b)
{
	bool a_named = has_name(sorted_of, a), b_named = has_name(sorted_of, b);

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (!a_named || !b_named)
		return a_named - b_named;
	return strcmp(a->function, b->function);
}

static int by_function(const void *left, const void *right)
{
	const struct entry *const *a = left, *const *b = right;

	return compare_functions((*a)->frame, (*b)->frame);
}

static int by_self(const void *left, const void *right)
{
	const struct function *a = *(struct function *const *)left,
			      *b = *(struct function *const *)right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return compare_functions(a->frame, b->frame);
}

static int64_t count_of(const struct profile_sample *sample)
{
	int64_t count = profile_add(sample->first_thread, sample->other_threads);

	return count > 0 ? count : 0;
}

static void collect(struct profile *profile, struct host_code *code)
{
	size_t most = profile->sample_count * PROFILE_FRAMES_MOST;

	code->entries = profile_allocate(profile, most, sizeof(*code->entries));
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		code->all = profile_add(code->all, count_of(sample));
		for (size_t j = 0; j < sample->frames.count; j++)
			code->entries[code->entry_count++] = (struct entry){
				.frame = &sample->frames.items[j],
				.count = count_of(sample),
				.leaf = j == 0,
			};
	}
}

static void number_functions(struct profile *profile, struct host_code *code)
{
	struct entry **sorted = profile_allocate(profile, code->entry_count, sizeof(*sorted));

	code->functions = profile_allocate(profile, code->entry_count, sizeof(*code->functions));
	for (size_t i = 0; i < code->entry_count; i++)
		sorted[i] = &code->entries[i];
	sorted_of = profile;
	qsort(sorted, code->entry_count, sizeof(*sorted), by_function);
	for (size_t i = 0; i < code->entry_count; i++) {
		if (i == 0 || compare_functions(sorted[i]->frame, sorted[i - 1]->frame) != 0)
			code->functions[code->function_count++].frame = sorted[i]->frame;
		sorted[i]->function = code->function_count - 1;
	}
}

/* A recursive function is one function of its sample. */
static void sum_up(struct host_code *code)
{
	size_t leaf = 0;

	for (size_t i = 0; i < code->entry_count; i++) {
		const struct entry *entry = &code->entries[i];
		struct function *function = &code->functions[entry->function];
		bool again = false;

		if (entry->leaf) {
			leaf = i;
			function->self = profile_add(function->self, entry->count);
		}
		for (size_t j = leaf; j < i; j++)
			again |= code->entries[j].function == entry->function;
		if (!again)
			function->total = profile_add(function->total, entry->count);
	}
}

/* The line that has most of its samples, and the function that calls it in most of them. */
static void look_closer(const struct host_code *code, struct function *function)
{
	for (size_t i = 0; code->entry_count <= ENTRIES_MOST && i < code->entry_count; i++) {
		const struct entry *entry = &code->entries[i], *caller = entry + 1;
		int64_t line_count = 0, caller_count = 0;
		bool called = i + 1 < code->entry_count && !caller->leaf;

		if (!entry->leaf || &code->functions[entry->function] != function)
			continue;
		for (size_t j = i; j < code->entry_count; j++) {
			const struct entry *other = &code->entries[j];

			if (!other->leaf || other->function != entry->function)
				continue;
			if (entry->frame->line != NULL && other->frame->line != NULL &&
			    strcmp(entry->frame->line, other->frame->line) == 0)
				line_count = profile_add(line_count, other->count);
			if (called && j + 1 < code->entry_count && !other[1].leaf &&
			    other[1].function == caller->function)
				caller_count = profile_add(caller_count, other->count);
		}
		if (line_count > function->line_count) {
			function->line_count = line_count;
			function->line = entry->frame;
		}
		if (caller_count > function->caller_count) {
			function->caller_count = caller_count;
			function->caller = caller->frame;
		}
	}
}

static const char *name_of(const struct profile *profile, const struct profile_frame *frame,
			   char *ret, size_t room, size_t columns)
{
	if (has_name(profile, frame) && frame->module >= 0)
		return names_place_short(profile, frame, ret, room, columns);
	snprintf(ret, room, "%s",
		 frame->function != NULL && frame->module < 0 ? frame->function
		 : frame->module >= 0                         ? names_module(profile, frame)
							      : "code in no file");
	return ret;
}

static void show_row(const struct profile *profile, const struct function *function, int64_t all,
		     bool all_columns)
{
	int64_t period_ns = 1000000000 / (profile->sampling.hz > 0 ? profile->sampling.hz : 1);
	const struct profile_frame *frame =
		function->line != NULL ? function->line : function->frame;
	char name[512];

	/* A damaged profile may claim any number. */
	int64_t most = INT64_MAX / period_ns;
	printf("  %-15s %11s %10s %10s %8s", "", show_count(function->self),
	       show_time(function->self < most ? function->self * period_ns : UNKNOWN),
	       show_time(function->total < most ? function->total * period_ns : UNKNOWN),
	       show_share(function->self, all));
	name_of(profile, frame, name, sizeof(name), all_columns ? 1000 : PLACE_WIDTH);
	printf("  %s", show_text(name, 1000));
	if (function->caller != NULL) {
		name_of(profile, function->caller, name, sizeof(name),
			all_columns ? 1000 : CALLER_WIDTH);
		printf(" < %s (likely)", show_text(name, 1000));
	}
	putchar('\n');
}

static void notes(const struct profile *profile)
{
	if (profile->sampling.in_turn)
		printf("  %s took turns, %s at a time: their times are too low\n",
		       show_several(profile->sampling.threads_most, "thread", "threads"),
		       show_count(profile->sampling.threads_at_once));
	if (profile->sampling.lost > 0 || profile->sampling.dropped > 0)
		printf("  %s lost, %s in no row\n",
		       show_several(profile->sampling.lost, "sample", "samples"),
		       show_count(profile->sampling.dropped));
	if (profile->sampling.threads_refused > 0)
		printf("  %s times a thread could not be sampled\n",
		       show_count(profile->sampling.threads_refused));
	if (profile->sampling.why != NULL)
		printf("  sampling ended: %s\n", show_text(profile->sampling.why, 200));
}

void report_samples(struct profile *profile, bool all)
{
	struct host_code code = { 0 };

	if (profile->samples == NULL && profile->sampling.why != NULL &&
	    !profile_used_no_device(profile))
		printf("\nhost code was not sampled: %s\n", show_text(profile->sampling.why, 200));
	if (profile->sample_count == 0)
		return;
	collect(profile, &code);
	number_functions(profile, &code);
	sum_up(&code);
	struct function **order = profile_allocate(profile, code.function_count, sizeof(*order));
	for (size_t i = 0; i < code.function_count; i++)
		order[i] = &code.functions[i];
	qsort(order, code.function_count, sizeof(*order), by_self);
	printf("\n%-17s %11s %10s %10s %8s\n", "host code", "samples", "self", "total", "share");
	size_t shown = all || code.function_count < ROWS ? code.function_count : ROWS;
	for (size_t i = 0; i < shown; i++) {
		look_closer(&code, order[i]);
		show_row(profile, order[i], code.all, all);
	}
	if (code.function_count > shown)
		printf("  and %zu more functions (--all)\n", code.function_count - shown);
	printf("  CPU time in user space, by %s samples; totals are lower bounds\n",
	       show_count(code.all));
	notes(profile);
}
