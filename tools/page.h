/*
 * The parts that a page of a report is put together from.
 *
 * All text is escaped; a page is well-formed XML too, without any script.
 */
#ifndef HP_TOOLS_PAGE_H
#define HP_TOOLS_PAGE_H

#include "profile.h"

#include <stdio.h>

/* The style sheet, the policy that names all hashes, and the scripts: made by embed.py. */
extern const char page_style[], page_policy[];
extern const char *const page_scripts[]; /* up to NULL */

/* From the document type to the opened body, with the style; then its end, with the scripts. */
void page_begin(FILE *to, const char *title);
void page_end(FILE *to);

/* A section of the list in page.c by its id, once a page; `of` follows its title, or is NULL. */
void page_section(FILE *to, const char *id, const char *of);
void page_section_end(FILE *to);
const char *page_section_title(const char *id);
bool page_has_section(const char *id);

/* A part of a run: a section where the run is the opened one, else a title. */
void page_part(FILE *to, bool opened, const char *id);
void page_part_end(FILE *to, bool opened);

/* Links to the sections that were begun so far. */
void page_nav(FILE *to);

/* The next row of a table is that of a site of copies, which page_has_anchor() then tells. */
#define PAGE_ANCHORS 65536
void page_anchor(int64_t site);
bool page_has_anchor(int64_t site);

/* The first cell of the next row leads to the element of that id. */
#define PAGE_ID 64
void page_link(const char *id);

/* Text between tags, or in an attribute. */
void page_text(FILE *to, const char *text);

/* A JSON string that no script element ends. */
void page_json(FILE *to, const char *text);

/* <tag>text</tag> */
void page_element(FILE *to, const char *tag, const char *text);

/* A table that scrolls where it is too wide; columns whose name begins with < hold text. */
void page_table_begin(FILE *to, const char *const *columns, size_t count);
void page_row(FILE *to, const char *const *columns, size_t count, const char *const *cells);
void page_table_end(FILE *to);

/*
 * A list that may be long: before row `index` of `rows`, those after the first ones are folded;
 * then the end.
 */
#define PAGE_ROWS_MOST 200
#define PAGE_ROWS_OPEN 15
void page_table_fold(FILE *to, const char *const *columns, size_t count, size_t index, size_t rows);
void page_table_close(FILE *to, size_t rows);

/*
 * Such a list of `shown` rows of `count` cells, without columns that say nothing in any row: "n/a",
 * 0 or empty.
 */
#define PAGE_COLUMNS_MOST 16
void page_list(FILE *to, const char *const *columns, size_t count, const char *const *cells,
	       size_t shown, size_t rows);

/* The split of a wall time as one bar: as long as ns in proportion to the longest. */
void page_split_bar(FILE *to, const struct profile_split *split, int64_t ns, int64_t longest_ns);

/* Each state that is known and not 0: its color, name, time and share. */
void page_split_legend(FILE *to, const struct profile_split *split, int64_t wall_ns);

/* A color and what it means, in a list. */
void page_swatch(FILE *to, const char *kind, const char *text);

/* The classes of the states, in the order of show_parts. */
extern const char *const page_part_kinds[];

/* A part of the whole in hundredths of a percent, never more than all of it. */
long page_share(int64_t part, int64_t whole);

/* The states over the run's time; nothing where that is not known. */
void page_strip(FILE *to, const struct profile *profile);

/* The times at the quarters of an axis. */
void page_ticks(FILE *to, int64_t end_ns);

/* A bar of `part` in proportion to `whole`. */
void page_bar(FILE *to, const char *kind, int64_t part, int64_t whole);

/* Time and GB/s by size of copy; nothing where there are not two sizes. */
void page_sizes_chart(FILE *to, const struct profile *profile);
void page_rates_chart(FILE *to, const struct profile *profile);

/* GB/s of the copies of each site by their size; links to the rows, which were written before. */
void page_sites_chart(FILE *to, const struct profile *profile);

#endif
