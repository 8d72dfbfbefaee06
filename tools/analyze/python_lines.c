/*
 * python_lines.c - sums up samples of Python by line.
 */
#include "analyze/python_lines.h"
#include "names/names.h"
#include "profile/texts.h"

#include <stdlib.h>
#include <string.h>

/* Imports are one line. */
static int by_place(const void *left, const void *right)
{
	const struct python_line *left_line = left, *right_line = right;
	const struct profile_frame *a = left_line->frame, *b = right_line->frame;
	int order;

	if (left_line->is_import || right_line->is_import)
		return right_line->is_import - left_line->is_import;
	if (a == NULL || b == NULL)
		return (a != NULL) - (b != NULL);
	order = strcmp(a->path, b->path);
	if (order == 0)
		order = (a->number > b->number) - (a->number < b->number);
	return order != 0 ? order : strcmp(a->function, b->function);
}

static int by_cpu_time(const void *left, const void *right)
{
	const struct python_line *a = left, *b = right;

	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns > b->cpu_ns ? -1 : 1;
	return by_place(left, right);
}

bool python_imports(const struct profile_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++)
		if (frames->items[i].is_python &&
		    strncmp(frames->items[i].path, "<frozen importlib", 17) == 0)
			return true;
	return false;
}

static struct python_line line_of(const struct profile *profile, const struct profile_python *row)
{
	const struct profile_frame *frame = names_frame(profile, &row->frames, false);

	return (struct python_line){
		.frame = frame,
		.samples = row->samples,
		.cpu_ns = row->cpu_ns,
		.is_import = frame != NULL && names_is_system_source(frame->path) &&
			     python_imports(&row->frames),
	};
}

size_t python_lines(const struct profile *profile, struct python_line **ret, int64_t *ret_all_ns)
{
	/* The memory of a profile grows; its data stay as they are. */
	struct python_line *lines =
		profile_allocate((struct profile *)profile, profile->python_count, sizeof(*lines));
	size_t count = 0;

	*ret = lines;
	*ret_all_ns = 0;
	for (size_t i = 0; i < profile->python_count; i++) {
		const struct profile_python *row = &profile->python[i];

		lines[i] = line_of(profile, row);
		*ret_all_ns = profile_add(*ret_all_ns, row->cpu_ns);
	}
	qsort(lines, profile->python_count, sizeof(*lines), by_place);
	for (size_t i = 0; i < profile->python_count; i++) {
		if (count > 0 && by_place(&lines[i], &lines[count - 1]) == 0) {
			lines[count - 1].samples =
				profile_add(lines[count - 1].samples, lines[i].samples);
			lines[count - 1].cpu_ns =
				profile_add(lines[count - 1].cpu_ns, lines[i].cpu_ns);
		} else {
			lines[count++] = lines[i];
		}
	}
	qsort(lines, count, sizeof(*lines), by_cpu_time);
	return count;
}
