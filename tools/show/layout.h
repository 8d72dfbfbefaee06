/*
 * Paragraphs on standard output that fit the terminal.
 *
 * Texts are printed unchanged, so callers escape names.  If the locale is not UTF-8, characters
 * beyond ASCII become "?".
 */
#ifndef HP_TOOLS_SHOW_LAYOUT_H
#define HP_TOOLS_SHOW_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Looks at the terminal.  Called first. */
void layout_start(void);

unsigned layout_columns(void);
bool layout_is_utf8(void);

/*
 * Prints a paragraph, with a newline at the end.  Lines after the first are indented by `hang`
 * blanks.
 */
void layout_say(unsigned hang, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints each line of text_add_line(), after `before`, as a paragraph; NULL: there are none. */
void layout_lines(unsigned hang, const char *before, const char *lines);

/* Prints the text in one line, which ends with ".." if it is too long. */
void layout_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns how many bytes of the text take so many columns. */
size_t layout_bytes(const char *text, size_t columns);

/* Returns a bar, "####", of `part` in proportion to `whole`, which takes `columns`. */
const char *layout_bar(int64_t part, int64_t whole, unsigned columns);

#endif
