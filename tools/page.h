/*
 * The parts that a page of a report is put together from.
 *
 * Whatever text goes in comes out escaped; a page is well-formed XML too, without any script.
 */
#ifndef HP_TOOLS_PAGE_H
#define HP_TOOLS_PAGE_H

#include "profile.h"

#include <stdio.h>

/* From the document type to the opened body, with the style; then its end. */
void page_begin(FILE *to, const char *title);
void page_end(FILE *to);

/* Text between tags, or in an attribute. */
void page_text(FILE *to, const char *text);

/* <tag>text</tag> */
void page_element(FILE *to, const char *tag, const char *text);

/* A table that scrolls where it is too wide; columns whose name begins with < hold text. */
void page_table_begin(FILE *to, const char *const *columns, size_t count);
void page_row(FILE *to, const char *const *columns, size_t count, const char *const *cells);
void page_table_end(FILE *to);

/* The split of a wall time as one bar: as long as ns in proportion to the longest. */
void page_split_bar(FILE *to, const struct profile_split *split, int64_t ns, int64_t longest_ns);
void page_split_legend(FILE *to);

/* The states over the run's time; nothing where that is not known. */
void page_strip(FILE *to, const struct profile *profile);

/* A bar of `part` in proportion to `whole`, for a cell of its own below a row. */
void page_bar(FILE *to, const char *kind, int64_t part, int64_t whole);

/* Time by size of copy, and GB/s by size beside the peak of the link; nothing where no size is. */
void page_sizes_chart(FILE *to, const struct profile *profile);
void page_rates_chart(FILE *to, const struct profile *profile);

#endif
