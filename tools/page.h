/*
 * The building blocks of a report's page.
 *
 * All text is escaped.  A page is also well-formed XML, and works without scripts.
 */
#ifndef HP_TOOLS_PAGE_H
#define HP_TOOLS_PAGE_H

#include "profile.h"

#include <stdio.h>

/* The style sheet, the policy that lists all hashes, and the scripts; embed.py generates them. */
extern const char page_style[], page_policy[];
extern const char *const page_scripts[]; /* ends with NULL */

/* Write the start of a page up to the open body, with the style; and the end, with the scripts. */
void page_begin(FILE *to, const char *title);
void page_end(FILE *to);

/*
 * Begins the section of that id in page.c's list, once a page.  `of` follows its title, or is NULL.
 */
void page_section(FILE *to, const char *id, const char *of);
void page_section_end(FILE *to);
const char *page_section_title(const char *id);
bool page_has_section(const char *id);

/* Begins a part of a run: a section if the run is the open one, else a title. */
void page_part(FILE *to, bool opened, const char *id);
void page_part_end(FILE *to, bool opened);

/* Writes links to the sections that have begun. */
void page_nav(FILE *to);

/* Writes text between tags, or in an attribute. */
void page_text(FILE *to, const char *text);

/* Writes <tag>text</tag>. */
void page_element(FILE *to, const char *tag, const char *text);

/* Write a table that scrolls if it is too wide.  Columns whose name begins with < hold text. */
void page_table_begin(FILE *to, const char *const *columns, size_t count);
void page_row(FILE *to, const char *const *columns, size_t count, const char *const *cells);

/*
 * Writes a row that is the anchor of a copy site, if it is the first one and `site` is not UNKNOWN.
 * Its first cell is a link to the element `link`; "": none.
 */
#define PAGE_ANCHORS 65536
#define PAGE_ID      64
void page_row_of(FILE *to, const char *const *columns, size_t count, const char *const *cells,
		 int64_t site, const char *link);

/* True if a row is the anchor of that site. */
bool page_has_anchor(int64_t site);

void page_table_end(FILE *to);

/*
 * Write a long list.  Called before row `index` of `rows`: folds the rows after PAGE_ROWS_OPEN.
 * page_table_close() ends the list.
 */
#define PAGE_ROWS_MOST 200
#define PAGE_ROWS_OPEN 15
void page_table_fold(FILE *to, const char *const *columns, size_t count, size_t index, size_t rows);
void page_table_close(FILE *to, size_t rows);

/*
 * Writes a long list of `shown` rows of `count` cells.  Omits columns that are "n/a", 0 or empty in
 * all rows.
 */
#define PAGE_COLUMNS_MOST 16
void page_list(FILE *to, const char *const *columns, size_t count, const char *const *cells,
	       size_t shown, size_t rows);

/* Writes the split of a wall time as one bar, with a length of ns in proportion to longest_ns. */
void page_split_bar(FILE *to, const struct profile_split *split, int64_t ns, int64_t longest_ns);

/* Writes the color, name, time and share of each state that is known and not 0. */
void page_split_legend(FILE *to, const struct profile_split *split, int64_t wall_ns);

/* Writes a color and its meaning, as a list item. */
void page_swatch(FILE *to, const char *kind, const char *text);

/* The classes of the states, in the order of show_parts. */
extern const char *const page_part_kinds[];

/* Returns a part of the whole in hundredths of a percent, at most the whole. */
long page_share(int64_t part, int64_t whole);

/* Writes the states over the run's time; nothing if they are not known. */
void page_strip(FILE *to, const struct profile *profile);

/* Writes a bar of `part` in proportion to `whole`. */
void page_bar(FILE *to, const char *kind, int64_t part, int64_t whole);

/* Writes time and GB/s by copy size; nothing if there are fewer than two sizes. */
void page_sizes_chart(FILE *to, const struct profile *profile);
void page_rates_chart(FILE *to, const struct profile *profile);

/* Writes GB/s of each site's copies by size, with links to the rows, which must precede it. */
void page_sites_chart(FILE *to, const struct profile *profile);

#endif
