/*
 * What links of a page lead to: the lines of sources and the copy sites of the run that it shows
 * open.
 */
#ifndef HP_TOOLS_SHOW_PAGE_PAGE_LINKS_H
#define HP_TOOLS_SHOW_PAGE_PAGE_LINKS_H

#include "analyze/source_lines.h"

/* All zeros: nothing yet. */
struct page_links {
	const struct source_file *files; /* in the section of sources */
	size_t file_count;
	bool *sites; /* by copy site: a row of a table has it; NULL: none has */
	size_t site_count;
};

/* Returns the id of the frame's line.  False: the page does not show the line. */
bool page_links_line(const struct page_links *links, const struct profile_frame *frame, char *ret,
		     size_t room);

/* True if a row of the page is the anchor of that copy site. */
bool page_links_site(const struct page_links *links, int64_t site);

/* True if the row that is written is to be the anchor of its copy site: the first one. */
bool page_links_add_site(struct page_links *links, const struct profile *profile, int64_t site);

#endif
