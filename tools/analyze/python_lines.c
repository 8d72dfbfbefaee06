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

static struct python_line line_of(const struct profile *profile, const struct profile_python **row)
{
	const struct profile_frames *frames = &(*row)->frames;
	const struct profile_frame *frame = names_frame(profile, frames, false);

	return (struct python_line){
		.frame = frame,
		.samples = (*row)->samples,
		.cpu_ns = (*row)->cpu_ns,
		.is_import = frame != NULL && names_is_system_source(frame->path) &&
			     python_imports(frames),
		.rows = row,
		.row_count = 1,
	};
}

/* Adds the next line of the order, with its row, to the line before. */
static void add(struct python_line *to, const struct python_line *line)
{
	to->samples = profile_add(to->samples, line->samples);
	to->cpu_ns = profile_add(to->cpu_ns, line->cpu_ns);
	to->row_count++;
}

size_t python_lines(const struct profile *profile, struct python_line **ret, int64_t *ret_all_ns)
{
	/* The memory of a profile grows; its data stay as they are. */
	struct profile *owner = (struct profile *)profile;
	size_t rows = profile->python_count, count = 0;
	struct python_line *lines = profile_allocate(owner, rows, sizeof(*lines));
	const struct profile_python **in_file = profile_allocate(owner, rows, sizeof(*in_file));
	const struct profile_python **by_line = profile_allocate(owner, rows, sizeof(*by_line));

	*ret = lines;
	*ret_all_ns = 0;
	for (size_t i = 0; i < rows; i++) {
		in_file[i] = &profile->python[i];
		lines[i] = line_of(profile, &in_file[i]);
		*ret_all_ns = profile_add(*ret_all_ns, lines[i].cpu_ns);
	}
	qsort(lines, rows, sizeof(*lines), by_place);
	for (size_t i = 0; i < rows; i++) {
		by_line[i] = *lines[i].rows;
		if (count > 0 && by_place(&lines[i], &lines[count - 1]) == 0) {
			add(&lines[count - 1], &lines[i]);
		} else {
			lines[count] = lines[i];
			lines[count++].rows = &by_line[i];
		}
	}
	qsort(lines, count, sizeof(*lines), by_cpu_time);
	return count;
}
