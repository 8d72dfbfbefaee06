/*
 * host_code.c - sums up samples of host code by function.
 *
 * Samples without a function name count for their file.  NVIDIA's driver and tools export few
 * names, so an address in them tells no more than the file.
 */
#include "analyze/host_code.h"
#include "names/names.h"
#include "profile/merge.h"
#include "profile/sorted_lists.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

#define HOT_PERCENT 80 /* of the samples of a function, in its hot lines */

/* True if the frame's function has a reliable name. */
static bool has_name(const struct profile *profile, const struct profile_frame *frame)
{
	return frame->function != NULL && names_code(profile, frame) != NAMES_DRIVER;
}

static int compare_functions(const struct profile *profile, const struct profile_frame *a,
			     const struct profile_frame *b)
{
	bool a_named = has_name(profile, a), b_named = has_name(profile, b);

	if (a->module != b->module || !a_named || !b_named)
		return sorted_numbers(a->module, b->module) ?: a_named - b_named;
	return strcmp(a->function, b->function);
}

static int by_function(const void *left, const void *right, void *profile)
{
	const struct host_entry *a = left, *b = right;

	return compare_functions(profile, a->frame, b->frame);
}

static int by_self(const void *left, const void *right, void *profile)
{
	const struct host_function *a = *(struct host_function *const *)left,
				   *b = *(struct host_function *const *)right;

	return sorted_numbers(b->self, a->self) ?: sorted_numbers(b->total, a->total)
		?: compare_functions(profile, a->frame, b->frame);
}

static int64_t known(int64_t samples)
{
	return samples > 0 ? samples : 0;
}

int64_t host_code_samples(const struct profile_sample *sample)
{
	return known(profile_add(sample->first_thread, sample->other_threads));
}

void host_code_add_threads(const struct profile_sample *sample, int64_t *to)
{
	const int64_t *others = sample->threads;
	bool are_known = sample->other_threads <= 0 || others[0] >= 0;

	to[0] = profile_add(to[0], are_known ? sample->first_thread : host_code_samples(sample));
	for (size_t i = 1; i < HOST_CODE_THREADS; i++)
		to[i] = profile_add(to[i], known(others[i - 1]));
}

int64_t host_code_busiest(const struct profile *profile, const int64_t *threads)
{
	const size_t last = HOST_CODE_THREADS - 1;
	int64_t further = profile->sampling.threads_most - (int64_t)last;
	int64_t most = threads[last] / (further > 1 ? further : 1);

	for (size_t i = 0; i < last; i++)
		most = threads[i] > most ? threads[i] : most;
	return most;
}

static void collect(const struct profile *profile, host_code_pick pick, const void *arg,
		    struct host_code *code)
{
	size_t most = 0;

	for (size_t i = 0; i < profile->sample_count; i++)
		most += profile->samples[i].frames.count;
	code->entries = profile_allocate(profile, most + 1, sizeof(*code->entries));
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
				.leaf = frame == leaf ? sample : NULL,
			};
	}
	/* The caller of a leaf is the next entry, unless that is a leaf too. */
	code->entries[code->entry_count].leaf = profile->samples;
}

static void number_functions(const struct profile *profile, struct host_code *code)
{
	size_t *first = profile_allocate(profile, code->entry_count, sizeof(*first));

	code->functions = profile_allocate(profile, code->entry_count, sizeof(*code->functions));
	merge_find_first(profile, code->entries, code->entry_count, sizeof(*code->entries),
			 by_function, (void *)profile, first);
	for (size_t i = 0; i < code->entry_count; i++) {
		if (first[i] == i)
			code->functions[code->function_count].frame = code->entries[i].frame;
		code->entries[i].function =
			first[i] == i ? code->function_count++ : code->entries[first[i]].function;
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

		if (entry->leaf != NULL) {
			leaf = i;
			function->self = profile_add(function->self, entry->count);
			host_code_add_threads(entry->leaf, function->threads);
			function->before =
				profile_add(function->before, known(entry->leaf->before_cuda));
			function->after =
				profile_add(function->after, known(entry->leaf->after_cuda));
		}
		for (size_t j = leaf; j < i; j++)
			again |= code->entries[j].function == entry->function;
		if (!again)
			function->total = profile_add(function->total, entry->count);
	}
}

/* Entries that are leaves, in the order of the samples. */
struct leaves {
	const struct host_entry **items;
	size_t count;
};

static int by_line(const void *left, const void *right, void *arg)
{
	const struct host_entry *a = *(const struct host_entry *const *)left,
				*b = *(const struct host_entry *const *)right;

	(void)arg;
	return sorted_numbers((int64_t)a->function, (int64_t)b->function)
		?: sorted_texts(a->frame->path, b->frame->path)
		?: sorted_numbers(a->frame->number, b->frame->number)
		?: sorted_texts(a->frame->line, b->frame->line);
}

/* Returns the function that called a leaf, which is the next entry's; SIZE_MAX: not known. */
static size_t caller_of(const struct host_entry *leaf)
{
	return leaf[1].leaf != NULL ? SIZE_MAX : leaf[1].function;
}

static int by_caller(const void *left, const void *right, void *arg)
{
	const struct host_entry *a = *(const struct host_entry *const *)left,
				*b = *(const struct host_entry *const *)right;

	(void)arg;
	return sorted_numbers((int64_t)a->function, (int64_t)b->function)
		       ?: sorted_numbers((int64_t)caller_of(a), (int64_t)caller_of(b));
}

/*
 * Sums up the leaves that `compare` calls equal.  Returns for each function the earliest leaf of
 * its largest sum, or NULL.
 */
static const struct host_entry **find_most(const struct profile *profile,
					   const struct host_code *code,
					   const struct leaves *leaves, merge_compare compare)
{
	size_t functions = code->function_count, count = leaves->count;
	const struct host_entry **found = profile_allocate(profile, functions, sizeof(*found));
	size_t *first = profile_allocate(profile, count, sizeof(*first));
	int64_t *sums = profile_allocate(profile, count, sizeof(*sums));
	int64_t *most = profile_allocate(profile, functions, sizeof(*most));

	merge_find_first(profile, leaves->items, count, sizeof(*leaves->items), compare, NULL,
			 first);
	for (size_t i = 0; i < count; i++)
		sums[first[i]] = profile_add(sums[first[i]], leaves->items[i]->count);
	for (size_t i = 0; i < count; i++) {
		const struct host_entry *leaf = leaves->items[i];
		size_t function = leaf->function;
		/* Of equal sums, one with a known caller is taken. */
		bool is_better = compare == by_caller && sums[i] > 0 &&
				 caller_of(leaf) != SIZE_MAX && sums[i] == most[function] &&
				 caller_of(found[function]) == SIZE_MAX;

		if (sums[i] > most[function] || is_better) {
			most[function] = sums[i];
			found[function] = leaf;
		}
	}
	return found;
}

/* Returns the fewest lines that have HOT_PERCENT of `all` samples, of leaves by their lines. */
static struct host_lines hot_lines(const struct host_entry *const *leaves, size_t count,
				   int64_t all)
{
	const __int128_t least = (__int128_t)all * HOT_PERCENT;
	struct host_lines lines = { 0, INT64_MAX };
	__int128_t sum = 0;
	size_t to = 0;

	for (size_t from = 0; from < count; sum -= leaves[from++]->count) {
		while (to < count && sum * 100 < least)
			sum += leaves[to++]->count;
		if (to == from || sum * 100 < least)
			break;
		int64_t first = leaves[from]->frame->number, last = leaves[to - 1]->frame->number;
		if (last - first < lines.last - lines.first)
			lines = (struct host_lines){ first, last };
	}
	return lines.first > 0 ? lines : (struct host_lines){ 0, 0 };
}

/* Finds the hot lines of each function in the file of its main line.  Sorts the leaves. */
static void find_hot_lines(struct host_code *code, struct leaves *leaves)
{
	size_t to;

	qsort_r(leaves->items, leaves->count, sizeof(*leaves->items), by_line, NULL);
	for (size_t from = 0; from < leaves->count; from = to) {
		const struct host_entry *const *first = leaves->items + from;
		struct host_function *function = &code->functions[first[0]->function];
		const char *path = first[0]->frame->path;

		for (to = from + 1; to < leaves->count &&
				    leaves->items[to]->function == first[0]->function &&
				    sorted_texts(leaves->items[to]->frame->path, path) == 0;)
			to++;
		if (path != NULL && function->line != NULL &&
		    sorted_texts(path, function->line->path) == 0)
			function->hot = hot_lines(first, to - from, function->self);
	}
}

/* A caller that is known for few samples says nothing about the others. */
static void find_lines_and_callers(const struct profile *profile, struct host_code *code)
{
	struct leaves leaves = {
		profile_allocate(profile, profile->sample_count, sizeof(*leaves.items)), 0
	};

	for (size_t i = 0; i < code->entry_count; i++)
		if (code->entries[i].leaf != NULL)
			leaves.items[leaves.count++] = &code->entries[i];
	const struct host_entry **lines = find_most(profile, code, &leaves, by_line);
	const struct host_entry **callers = find_most(profile, code, &leaves, by_caller);
	for (size_t i = 0; i < code->function_count; i++) {
		if (lines[i] != NULL)
			code->functions[i].line = lines[i]->frame;
		if (callers[i] != NULL && caller_of(callers[i]) != SIZE_MAX)
			code->functions[i].caller = callers[i][1].frame;
	}
	find_hot_lines(code, &leaves);
}

const char *host_code_name(const struct profile *profile, const struct profile_frame *frame,
			   size_t columns)
{
	struct profile_frame whole = *frame;

	/* A row stands for the function, not for one place in it. */
	if (whole.function != NULL)
		whole.offset = UNKNOWN;
	if (has_name(profile, frame) && frame->module >= 0)
		return names_place(profile, &whole, columns);
	return frame->module >= 0        ? names_module(profile, frame)
	       : frame->function != NULL ? frame->function
					 : "code in no file";
}

int64_t host_code_ns(const struct profile *profile, int64_t samples)
{
	if (samples < 0 || profile->sampling.hz <= 0)
		return UNKNOWN;
	/* A damaged profile may have any number of samples. */
	__int128_t ns = (__int128_t)samples * 1000000000 / profile->sampling.hz;
	return ns < INT64_MAX ? (int64_t)ns : UNKNOWN;
}

void host_code_sum(const struct profile *profile, host_code_pick pick, const void *arg,
		   struct host_code *ret)
{
	memset(ret, 0, sizeof(*ret));
	collect(profile, pick, arg, ret);
	number_functions(profile, ret);
	sum_up(ret);
	find_lines_and_callers(profile, ret);
	ret->order = profile_allocate(profile, ret->function_count, sizeof(*ret->order));
	for (size_t i = 0; i < ret->function_count; i++)
		ret->order[i] = &ret->functions[i];
	qsort_r(ret->order, ret->function_count, sizeof(*ret->order), by_self, (void *)profile);
}

static int by_names(const void *left, const void *right)
{
	const struct host_chain *a = left, *b = right;

	for (size_t i = 0; i < a->count && i < b->count; i++) {
		int order = strcmp(a->names[i], b->names[i]);

		if (order != 0)
			return order;
	}
	return sorted_numbers((int64_t)a->count, (int64_t)b->count);
}

/* `files`: the names in brackets that were made before, by module. */
static const char *chain_name(const struct profile *profile, const struct profile_frame *frame,
			      const char **files)
{
	if ((frame->module < 0 || has_name(profile, frame)) && frame->function != NULL &&
	    frame->function[0] != '\0')
		return frame->function;
	if (frame->module < 0)
		return "[unknown]";
	if (files[frame->module] == NULL)
		files[frame->module] = text_made("[%s]", names_module(profile, frame));
	return files[frame->module];
}

struct host_chain *host_chains(const struct profile *profile, size_t *ret_count)
{
	struct host_chain *chains =
		profile_allocate(profile, profile->sample_count, sizeof(*chains));
	const char **files = profile_allocate(profile, profile->module_count, sizeof(*files));
	size_t count = 0;

	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_frames *frames = &profile->samples[i].frames;

		chains[i].count = frames->count;
		chains[i].samples = host_code_samples(&profile->samples[i]);
		for (size_t j = 0; j < frames->count; j++)
			chains[i].names[j] =
				chain_name(profile, &frames->items[frames->count - 1 - j], files);
	}
	qsort(chains, profile->sample_count, sizeof(*chains), by_names);
	for (size_t i = 0; i < profile->sample_count; i++)
		if (count > 0 && by_names(&chains[count - 1], &chains[i]) == 0)
			chains[count - 1].samples =
				profile_add(chains[count - 1].samples, chains[i].samples);
		else
			chains[count++] = chains[i];
	*ret_count = count;
	return chains;
}
