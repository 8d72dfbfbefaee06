/*
 * host_code.c - samples summed up by function.
 *
 * Code without a name counts for its file.  NVIDIA's driver and tools export few of their names, so
 * an address in them says nothing but the file.
 */
#include "host_code.h"
#include "names.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Twice what the library writes: of a file that claims more, lines and callers are not looked for.
 */
#define ENTRIES_MOST 50000

static const struct profile *sorted_of;

bool host_code_has_name(const struct profile *profile, const struct profile_frame *frame)
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
	bool a_named = host_code_has_name(sorted_of, a), b_named = host_code_has_name(sorted_of, b);

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (!a_named || !b_named)
		return a_named - b_named;
	return strcmp(a->function, b->function);
}

static int by_function(const void *left, const void *right)
{
	const struct host_entry *const *a = left, *const *b = right;

	return compare_functions((*a)->frame, (*b)->frame);
}

static int by_self(const void *left, const void *right)
{
	const struct host_function *a = *(struct host_function *const *)left,
				   *b = *(struct host_function *const *)right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return compare_functions(a->frame, b->frame);
}

int64_t host_code_samples(const struct profile_sample *sample)
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

void host_code_look_closer(const struct host_code *code, struct host_function *function)
{
	for (size_t i = 0; code->entry_count <= ENTRIES_MOST && i < code->entry_count; i++) {
		const struct host_entry *entry = &code->entries[i], *caller = entry + 1;
		int64_t line_count = 0, caller_count = 0;
		bool called = i + 1 < code->entry_count && !caller->leaf;

		if (!entry->leaf || &code->functions[entry->function] != function)
			continue;
		for (size_t j = i; j < code->entry_count; j++) {
			const struct host_entry *other = &code->entries[j];

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

const char *host_code_name(const struct profile *profile, const struct profile_frame *frame,
			   char *ret, size_t room, size_t columns)
{
	struct profile_frame whole = *frame;

	/* A row is a function, not one of its places. */
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
	/* A damaged profile may claim any number. */
	__int128_t ns = (__int128_t)samples * 1000000000 / profile->sampling.hz;
	return ns < INT64_MAX ? (int64_t)ns : UNKNOWN;
}

void host_code_sum(struct profile *profile, struct host_code *ret)
{
	memset(ret, 0, sizeof(*ret));
	collect(profile, ret);
	number_functions(profile, ret);
	sum_up(ret);
	ret->order = profile_allocate(profile, ret->function_count, sizeof(*ret->order));
	for (size_t i = 0; i < ret->function_count; i++)
		ret->order[i] = &ret->functions[i];
	qsort(ret->order, ret->function_count, sizeof(*ret->order), by_self);
}
