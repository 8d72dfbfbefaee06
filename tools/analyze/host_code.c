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

static void collect(struct profile *profile, struct host_code *code)
{
	size_t most = 0;

	for (size_t i = 0; i < profile->sample_count; i++)
		most += profile->samples[i].frames.count;
	code->entries = profile_allocate(profile, most, sizeof(*code->entries));
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		code->all = profile_add(code->all, host_code_samples(sample));
		for (size_t j = 0; j < sample->frames.count; j++)
			code->entries[code->entry_count++] = (struct host_entry){
				.frame = &sample->frames.items[j],
				.count = host_code_samples(sample),
				.leaf = j == 0,
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

/* Groups the leaves of the samples by function, each group in the order of the samples. */
static void collect_leaves(struct profile *profile, struct host_code *code)
{
	size_t at = 0;

	code->leaves = profile_allocate(profile, profile->sample_count, sizeof(*code->leaves));
	for (size_t i = 0; i < code->entry_count; i++)
		if (code->entries[i].leaf)
			code->functions[code->entries[i].function].leaf_count++;
	for (size_t i = 0; i < code->function_count; i++) {
		code->functions[i].leaves = code->leaves + at;
		at += code->functions[i].leaf_count;
		code->functions[i].leaf_count = 0;
	}
	for (size_t i = 0; i < code->entry_count; i++) {
		struct host_function *function = &code->functions[code->entries[i].function];

		if (code->entries[i].leaf)
			function->leaves[function->leaf_count++] = &code->entries[i];
	}
}

static int by_line(const void *left, const void *right)
{
	const struct host_entry *a = *(const struct host_entry *const *)left,
				*b = *(const struct host_entry *const *)right;
	int order = strcmp(a->frame->line, b->frame->line);

	return order != 0 ? order : (a > b) - (a < b);
}

/* Sorts leaves that have callers; the caller is the next entry. */
static int by_caller(const void *left, const void *right)
{
	const struct host_entry *a = *(const struct host_entry *const *)left,
				*b = *(const struct host_entry *const *)right;

	if (a[1].function != b[1].function)
		return a[1].function < b[1].function ? -1 : 1;
	return (a > b) - (a < b);
}

/*
 * Sorts `count` leaves by `compare`, which breaks ties by their order, and sums up the groups that
 * `is_same` forms.  Returns the first leaf of the group with the largest sum; of equal ones, the
 * earlier.  NULL: there is none.
 */
static const struct host_entry *largest(
	const struct host_entry **leaves, size_t count, int (*compare)(const void *, const void *),
	bool (*is_same)(const struct host_entry *, const struct host_entry *), int64_t *ret_sum)
{
	const struct host_entry *found = NULL;

	*ret_sum = 0;
	if (count > 0)
		qsort(leaves, count, sizeof(*leaves), compare);
	for (size_t first = 0, next; first < count; first = next) {
		int64_t sum = 0;

		for (next = first; next < count && is_same(leaves[first], leaves[next]); next++)
			sum = profile_add(sum, leaves[next]->count);
		if (sum > *ret_sum || (sum == *ret_sum && found != NULL && leaves[first] < found)) {
			*ret_sum = sum;
			found = leaves[first];
		}
	}
	return found;
}

static bool is_same_line(const struct host_entry *a, const struct host_entry *b)
{
	return strcmp(a->frame->line, b->frame->line) == 0;
}

static bool is_same_caller(const struct host_entry *a, const struct host_entry *b)
{
	return a[1].function == b[1].function;
}

void host_code_look_closer(const struct host_code *code, struct host_function *function)
{
	const struct host_entry *end = code->entries + code->entry_count;
	const struct host_entry **chosen = calloc(function->leaf_count + 1, sizeof(*chosen));
	size_t count = 0;
	int64_t lost = 0; /* samples without a caller */

	for (size_t i = 0; chosen != NULL && i < function->leaf_count; i++)
		if (function->leaves[i]->frame->line != NULL)
			chosen[count++] = function->leaves[i];
	const struct host_entry *line =
		largest(chosen, count, by_line, is_same_line, &function->line_count);
	function->line = line != NULL ? line->frame : NULL;
	count = 0;
	for (size_t i = 0; chosen != NULL && i < function->leaf_count; i++) {
		if (function->leaves[i] + 1 < end && !function->leaves[i][1].leaf)
			chosen[count++] = function->leaves[i];
		else
			lost = profile_add(lost, function->leaves[i]->count);
	}
	const struct host_entry *called =
		largest(chosen, count, by_caller, is_same_caller, &function->caller_count);
	/* A caller that is known for few samples says nothing about the others. */
	function->caller =
		called != NULL && function->caller_count >= lost ? called[1].frame : NULL;
	free(chosen);
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

void host_code_sum(struct profile *profile, struct host_code *ret)
{
	memset(ret, 0, sizeof(*ret));
	collect(profile, ret);
	number_functions(profile, ret);
	sum_up(ret);
	collect_leaves(profile, ret);
	ret->order = profile_allocate(profile, ret->function_count, sizeof(*ret->order));
	for (size_t i = 0; i < ret->function_count; i++)
		ret->order[i] = &ret->functions[i];
	qsort_r(ret->order, ret->function_count, sizeof(*ret->order), by_self, profile);
	while (ret->own_count < ret->function_count && ret->order[ret->own_count]->self > 0)
		ret->own_count++;
}
