/*
 * The width and the characters of the terminal that text is printed on.
 */
#ifndef HP_BASE_TERMINAL_H
#define HP_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#define TERMINAL_COLUMNS_LEAST 60
#define TERMINAL_COLUMNS_MOST  160

/*
 * Returns the width of lines: `text`, which is the value of COLUMNS or NULL, else the width of the
 * terminal behind `fd`, else `otherwise`; between the least and the most.
 */
unsigned terminal_columns(const char *text, int fd, unsigned otherwise);

/* True if the locale is of UTF-8, by the values of LC_ALL, LC_CTYPE and LANG; each may be NULL. */
bool terminal_is_utf8(const char *all, const char *ctype, const char *lang);

/* Returns how many columns the UTF-8 text takes. */
size_t terminal_width(const char *text);

/*
 * Returns how many bytes of `text` form a line of `columns` at most: whole words, or a part of the
 * first word if that is longer.  The blank between two lines is in neither.
 */
size_t terminal_fit(const char *text, size_t columns);

/* Replaces each character that is not ASCII by "?". */
void terminal_make_ascii(char *text);

#endif
