/*
 * python_lines.c - sums up samples of Python by line.
 */
#include "analyze/python_lines.h"
#include "names/names.h"
#include "profile/merge.h"
#include "profile/sorted_lists.h"

#include <stdlib.h>
#include <string.h>

/* Imports are one line. */
static int by_place(const void *left, const void *right, void *arg)
{
	const struct python_line *left_line = left, *right_line = right;
	const struct profile_frame *a = left_line->frame, *b = right_line->frame;

	(void)arg;
	if (left_line->is_import || right_line->is_import)
		return right_line->is_import - left_line->is_import;
	if (a == NULL || b == NULL)
		return (a != NULL) - (b != NULL);
	return strcmp(a->path, b->path) ?: sorted_numbers(a->number, b->number)
		?: strcmp(a->function, b->function);
}

static int by_cpu_time(const void *left, const void *right, void *arg)
{
	const struct python_line *a = left, *b = right;

	return sorted_numbers(b->cpu_ns, a->cpu_ns) ?: by_place(left, right, arg);
}

bool python_imports(const struct profile_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++)
		if (frames->items[i].is_python &&
		    strncmp(frames->items[i].path, "<frozen importlib", 17) == 0)
			return true;
	return false;
}

struct python_line *python_lines_of_rows(const struct profile *profile, size_t *ret_first)
{
	size_t rows = profile->python_count;
	struct python_line *lines = profile_allocate(profile, rows, sizeof(*lines));

	for (size_t i = 0; i < rows; i++) {
		const struct profile_python *row = &profile->python[i];
		const struct profile_frame *frame = names_frame(profile, &row->frames, false);

		lines[i] = (struct python_line){
			.frame = frame,
			.samples = row->samples,
			.cpu_ns = row->cpu_ns,
			.is_import = frame != NULL && names_is_system_source(frame->path) &&
				     python_imports(&row->frames),
		};
	}
	merge_find_first(profile, lines, rows, sizeof(*lines), by_place, NULL, ret_first);
	return lines;
}

size_t python_lines(const struct profile *profile, struct python_line **ret, int64_t *ret_all_ns)
{
	size_t rows = profile->python_count, count = 0;
	size_t *first = profile_allocate(profile, rows, sizeof(*first));
	struct python_line *lines = python_lines_of_rows(profile, first);

	*ret = lines;
	*ret_all_ns = 0;
	for (size_t i = 0; i < rows; i++) {
		struct python_line line = lines[i], *sum = &lines[first[first[i]]];

		*ret_all_ns = profile_add(*ret_all_ns, line.cpu_ns);
		if (first[i] == i) {
			first[i] = count;
			lines[count++] = line;
			continue;
		}
		sum->samples = profile_add(sum->samples, line.samples);
		sum->cpu_ns = profile_add(sum->cpu_ns, line.cpu_ns);
	}
	qsort_r(lines, count, sizeof(*lines), by_cpu_time, NULL);
	return count;
}
