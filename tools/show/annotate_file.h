/*
 * A source file with figures next to its lines.
 */
#ifndef HP_TOOLS_SHOW_ANNOTATE_FILE_H
#define HP_TOOLS_SHOW_ANNOTATE_FILE_H

#include "show/annotated_source.h"

#define ANNOTATE_WIDTH_MOST 1000

struct annotate_request {
	struct profile *profile;
	struct source_where where; /* no file: those with most time */
	size_t width;
};

/*
 * Prints the whole file if the user named it, otherwise the lines with most time.  False if its
 * source cannot be read; its figures are printed nevertheless.
 */
bool annotate_file(const struct annotate_request *request, const struct line_file *file);

/* Prints a paragraph in lines of `width`; those after the first are indented. */
void annotate_say(size_t width, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns text_name() of the path, or of its end if the path is too long. */
const char *annotate_path_end(const char *path, size_t columns);

#endif
