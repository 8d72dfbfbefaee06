/*
 * Paragraphs and tables on standard output that fit the terminal.
 *
 * Every text is printed as it is, so names in it are escaped before.  Where the locale is not of
 * UTF-8, characters beyond ASCII become "?".
 */
#ifndef HP_TOOLS_LAYOUT_H
#define HP_TOOLS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

/* What tells better from worse; the terminal's colors for it. */
enum layout_tone { LAYOUT_PLAIN, LAYOUT_BETTER, LAYOUT_WORSE };

/* `color`: auto, always, never, or NULL for auto.  Says what is wrong with it; 0 or -1. */
int layout_start(const char *color);

unsigned layout_columns(void);
bool layout_is_utf8(void);

/* The escape sequence that begins or ends the tone; "" without color. */
const char *layout_begin(enum layout_tone tone);
const char *layout_end(enum layout_tone tone);

/* A paragraph.  Lines after the first begin `hang` blanks in.  Ends with a new line. */
void layout_say(unsigned hang, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Each line of the text as a paragraph. */
void layout_lines(unsigned hang, const char *text);

/* A part of the line: "####", `tenths` of a percent of `columns`. */
const char *layout_bar(unsigned tenths, unsigned columns);

struct layout_column {
	const char *head;
	bool left;     /* aligned to the left; else to the right */
	bool flexible; /* is cut, or goes on in the next line, where the line is too long */
	unsigned drop; /* not 0: is left out where it must be, those of the highest number first */
};

#define LAYOUT_COLUMNS_MOST 24

/*
 * A table, whose rows are kept until it is printed.  NULL columns: no memory; all functions take
 * NULL.
 */
struct layout_table;
struct layout_table *layout_table(const struct layout_column *columns, size_t count);

/* The next cell of the present row. */
void layout_cell(struct layout_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void layout_tone(struct layout_table *table, enum layout_tone tone); /* of the latest cell */

/* Ends the row. */
void layout_row(struct layout_table *table);

/* A paragraph below the latest row; as layout_say(). */
void layout_note(struct layout_table *table, unsigned hang, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints and frees it.  `whole`: flexible cells are not cut, but go on in the next line. */
void layout_print(struct layout_table *table, bool whole);

#endif
