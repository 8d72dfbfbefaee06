/*
 * The lines of a source with their figures, for the terminal and the page.
 */
#ifndef HP_TOOLS_SHOW_ANNOTATED_SOURCE_H
#define HP_TOOLS_SHOW_ANNOTATED_SOURCE_H

#include "analyze/line_sums.h"
#include "names/source.h"

enum annotate_column {
	ANNOTATE_COPIES,
	ANNOTATE_BYTES,
	ANNOTATE_AT_CALL,
	ANNOTATE_LAUNCHES,
	ANNOTATE_KERNELS,
	ANNOTATE_HOST,
	ANNOTATE_COLUMNS
};

extern const char *const annotate_headings[ANNOTATE_COLUMNS];

/* True if the profile has figures for that column. */
bool annotate_has(const struct profile *profile, enum annotate_column column);

/* Returns the text of a figure; "" if it is 0 or unknown. */
const char *annotate_figure(const struct profile *profile, const struct line_sum *sum,
			    enum annotate_column column);

/* Adds a folder of --source.  Says on stderr if there is no such folder. */
void annotate_add_folder(struct source_where *where, const char *folder);

struct annotate_line {
	int64_t number;
	const struct line_row *row; /* NULL: no figures */
	const char *text;           /* not escaped; NULL: not known */
};

struct annotate_lines {
	const char *why;             /* why the source is not shown; NULL: it is */
	const char *path;            /* where the source was found */
	const char *older;           /* the program or library that is older than the source */
	bool is_cut;                 /* the source ends before the last lines */
	int64_t last;                /* the largest number that has figures */
	struct annotate_line *items; /* by number */
	size_t count;
};

/* Chooses the lines of the file.  The lists are the profile's. */
void annotate_lines_read(struct profile *profile, const struct line_file *file,
			 const struct source_where *where, struct annotate_lines *ret);

#endif
