/*
 * host_code.c - sums up samples of host code by function.
 *
 * Samples without a function name count for their file.  NVIDIA's driver and tools export few
 * names, so an address in them tells no more than the file.
 */
#include "analyze/host_code.h"
#include "names/names.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool host_code_has_name(const struct profile *profile, const struct profile_frame *frame)
{
	static const char *const nameless[] = { "libcuda.so", "libnvidia-", "libcupti.so" };
	const char *module = names_module(profile, frame);

	for (size_t i = 0; i < HP_LEN(nameless); i++)
		if (strncmp(module, nameless[i], strlen(nameless[i])) == 0)
			return false;
	return frame->function != NULL;
}

static int compare_functions(const struct profile *profile, const struct profile_frame *a,
			     const struct profile_frame *b)
{
	bool a_named = host_code_has_name(profile, a), b_named = host_code_has_name(profile, b);

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (!a_named || !b_named)
		return a_named - b_named;
	return strcmp(a->function, b->function);
}

static int by_function(const void *left, const void *right, void *profile)
{
	const struct host_entry *const *a = left, *const *b = right;

	return compare_functions(profile, (*a)->frame, (*b)->frame);
}

static int by_self(const void *left, const void *right, void *profile)
{
	const struct host_function *a = *(struct host_function *const *)left,
				   *b = *(struct host_function *const *)right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return compare_functions(profile, a->frame, b->frame);
}

int64_t host_code_samples(const struct profile_sample *sample)
{
	int64_t count = profile_add(sample->first_thread, sample->other_threads);

	return count > 0 ? count : 0;
}

static void collect(struct profile *profile, host_code_pick pick, const void *arg,
		    struct host_code *code)
{
	size_t most = 0;

	for (size_t i = 0; i < profile->sample_count; i++)
		most += profile->samples[i].frames.count;
	code->entries = profile_allocate(profile, most, sizeof(*code->entries));
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const struct profile_frames *frames = &sample->frames;
		const struct profile_frame *leaf =
			pick != NULL ? pick(profile, frames, arg) : frames->items;

		code->all = profile_add(code->all, host_code_samples(sample));
		if (leaf == NULL)
			continue;
		for (const struct profile_frame *frame = leaf;
		     frame < frames->items + frames->count; frame++)
			code->entries[code->entry_count++] = (struct host_entry){
				.frame = frame,
				.count = host_code_samples(sample),
				.leaf = frame == leaf,
			};
	}
}

static void number_functions(struct profile *profile, struct host_code *code)
{
	struct host_entry **sorted = profile_allocate(profile, code->entry_count, sizeof(*sorted));

	code->functions = profile_allocate(profile, code->entry_count, sizeof(*code->functions));
	for (size_t i = 0; i < code->entry_count; i++)
		sorted[i] = &code->entries[i];
	qsort_r(sorted, code->entry_count, sizeof(*sorted), by_function, profile);
	for (size_t i = 0; i < code->entry_count; i++) {
		if (i == 0 ||
		    compare_functions(profile, sorted[i]->frame, sorted[i - 1]->frame) != 0)
			code->functions[code->function_count++].frame = sorted[i]->frame;
		sorted[i]->function = code->function_count - 1;
	}
}

/* A sample counts once for a recursive function. */
static void sum_up(struct host_code *code)
{
	size_t leaf = 0;

	for (size_t i = 0; i < code->entry_count; i++) {
		const struct host_entry *entry = &code->entries[i];
		struct host_function *function = &code->functions[entry->function];
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

static int by_line(const void *left, const void *right)
{
	const struct host_entry *a = *(const struct host_entry *const *)left,
				*b = *(const struct host_entry *const *)right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return strcmp(a->frame->line != NULL ? a->frame->line : "",
		      b->frame->line != NULL ? b->frame->line : "");
}

/* The caller is the next entry. */
static int by_caller(const void *left, const void *right)
{
	const struct host_entry *a = *(const struct host_entry *const *)left,
				*b = *(const struct host_entry *const *)right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return (a[1].function > b[1].function) - (a[1].function < b[1].function);
}

/* Leaves of one function that `compare` calls equal. */
struct group {
	const struct host_entry *first;
	int64_t sum;
};

/* Writes the group with the largest sum of each function; of equal ones, the earliest. */
static void find_largest(const struct host_entry **leaves, size_t count,
			 int (*compare)(const void *, const void *), struct group *ret)
{
	if (count > 0)
		qsort(leaves, count, sizeof(*leaves), compare);
	for (size_t i = 0, next; i < count; i = next) {
		struct group group = { leaves[i], 0 }, *largest = &ret[leaves[i]->function];

		for (next = i; next < count && compare(&leaves[i], &leaves[next]) == 0; next++) {
			group.first = leaves[next] < group.first ? leaves[next] : group.first;
			group.sum = profile_add(group.sum, leaves[next]->count);
		}
		if (group.sum > largest->sum ||
		    (group.sum == largest->sum && largest->first != NULL &&
		     group.first < largest->first))
			*largest = group;
	}
}

static void find_lines(struct profile *profile, struct host_code *code)
{
	const struct host_entry **leaves =
		profile_allocate(profile, profile->sample_count, sizeof(*leaves));
	struct group *lines = profile_allocate(profile, code->function_count, sizeof(*lines));
	size_t count = 0;

	for (size_t i = 0; i < code->entry_count; i++)
		if (code->entries[i].leaf)
			leaves[count++] = &code->entries[i];
	find_largest(leaves, count, by_line, lines);
	for (size_t i = 0; i < code->function_count; i++)
		if (lines[i].first != NULL)
			code->functions[i].line = lines[i].first->frame;
}

/* A caller that is known for few samples says nothing about the others. */
static void find_callers(struct profile *profile, struct host_code *code)
{
	const struct host_entry **leaves =
		profile_allocate(profile, profile->sample_count, sizeof(*leaves));
	struct group *callers = profile_allocate(profile, code->function_count, sizeof(*callers));
	int64_t *lost = profile_allocate(profile, code->function_count, sizeof(*lost));
	size_t count = 0;

	for (size_t i = 0; i < code->entry_count; i++) {
		const struct host_entry *entry = &code->entries[i];

		if (entry->leaf && i + 1 < code->entry_count && !entry[1].leaf)
			leaves[count++] = entry;
		else if (entry->leaf)
			lost[entry->function] = profile_add(lost[entry->function], entry->count);
	}
	find_largest(leaves, count, by_caller, callers);
	for (size_t i = 0; i < code->function_count; i++)
		if (callers[i].first != NULL && callers[i].sum >= lost[i])
			code->functions[i].caller = callers[i].first[1].frame;
}

const char *host_code_name(const struct profile *profile, const struct profile_frame *frame,
			   char *ret, size_t room, size_t columns)
{
	struct profile_frame whole = *frame;

	/* A row stands for the function, not for one place in it. */
	if (whole.function != NULL)
		whole.offset = UNKNOWN;
	if (host_code_has_name(profile, frame) && frame->module >= 0)
		return names_place_short(profile, &whole, ret, room, columns);
	snprintf(ret, room, "%s",
		 frame->function != NULL && frame->module < 0 ? frame->function
		 : frame->module >= 0                         ? names_module(profile, frame)
							      : "code in no file");
	return ret;
}

int64_t host_code_ns(const struct profile *profile, int64_t samples)
{
	if (samples < 0 || profile->sampling.hz <= 0)
		return UNKNOWN;
	/* A damaged profile may have any number of samples. */
	__int128_t ns = (__int128_t)samples * 1000000000 / profile->sampling.hz;
	return ns < INT64_MAX ? (int64_t)ns : UNKNOWN;
}

void host_code_sum(struct profile *profile, host_code_pick pick, const void *arg,
		   struct host_code *ret)
{
	memset(ret, 0, sizeof(*ret));
	collect(profile, pick, arg, ret);
	number_functions(profile, ret);
	sum_up(ret);
	find_lines(profile, ret);
	find_callers(profile, ret);
	ret->order = profile_allocate(profile, ret->function_count, sizeof(*ret->order));
	for (size_t i = 0; i < ret->function_count; i++)
		ret->order[i] = &ret->functions[i];
	qsort_r(ret->order, ret->function_count, sizeof(*ret->order), by_self, profile);
}
