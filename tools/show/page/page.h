/*
 * The building blocks of a report's page.
 *
 * All text is escaped.  A page is also well-formed XML, and works without scripts.
 */
#ifndef HP_TOOLS_SHOW_PAGE_PAGE_H
#define HP_TOOLS_SHOW_PAGE_PAGE_H

#include "analyze/source_lines.h"

#include <stdio.h>

/* The style sheet, the script, and the policy that lists their hashes; embed.py generates them. */
extern const char page_style[], page_script[], page_policy[];

/* Write the start of a page up to the open body, with the style; and the end, with the script. */
void page_begin(FILE *to, const char *title);
void page_end(FILE *to);

/* Opens a file whose text *ret gets when it is closed; the caller frees the text. */
FILE *page_in_memory(char **ret);

/* A page whose sections are written. */
struct page {
	FILE *to;
	FILE *nav;                 /* gets a link to each section */
	struct profile *profile;   /* the run that it shows */
	struct source_lines lines; /* of that run; links lead to those of the main files */
};

/* Begins a section with that id.  `of` follows the title, or is NULL. */
void page_section(struct page *page, const char *id, const char *title, const char *of);
void page_section_end(struct page *page);

/* Returns the id of the frame's line.  NULL: the page does not show the line. */
const char *page_line(const struct page *page, const struct profile_frame *frame);

/* Writes text between tags, or in an attribute. */
void page_text(FILE *to, const char *text);

/* Writes <tag>text</tag>. */
void page_element(FILE *to, const char *tag, const char *text);

/* Writes each line of text_add_line() so; NULL: there are none. */
void page_lines(FILE *to, const char *tag, const char *lines);

/* Writes a paragraph that explains what is next to it. */
#define PAGE_SOFT "p class=\"soft\""
void page_soft(FILE *to, const char *text);

/* Writes a color and its meaning, as a list item. */
void page_swatch(FILE *to, const char *kind, const char *text);

/* Returns a part of the whole in hundredths of a percent, at most the whole. */
long page_share(int64_t part, int64_t whole);

/* Writes the states over the run's time; nothing if they are not known. */
void page_strip(FILE *to, const struct profile *profile);

/* Writes a bar of `part` in proportion to `whole`. */
void page_bar(FILE *to, const char *kind, int64_t part, int64_t whole);

#endif
