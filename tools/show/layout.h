/*
 * Paragraphs and tables on standard output that fit the terminal.
 *
 * Texts are printed unchanged, so callers escape names.  If the locale is not UTF-8, characters
 * beyond ASCII become "?".
 */
#ifndef HP_TOOLS_SHOW_LAYOUT_H
#define HP_TOOLS_SHOW_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

/* Tones, for which the terminal has a color. */
enum layout_tone { LAYOUT_PLAIN, LAYOUT_BETTER, LAYOUT_WORSE };

/* Sets the colors: auto, always, never, or NULL for auto.  Returns 0, or -1 after a message. */
int layout_start(const char *color);

unsigned layout_columns(void);
bool layout_is_utf8(void);

/* Return the escape sequence that begins or ends the tone; "" without color. */
const char *layout_begin(enum layout_tone tone);
const char *layout_end(enum layout_tone tone);

/*
 * Prints a paragraph, with a newline at the end.  Lines after the first are indented by `hang`
 * blanks.
 */
void layout_say(unsigned hang, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints each line of the text as a paragraph. */
void layout_lines(unsigned hang, const char *text);

/* Returns a bar, "####", whose length is `tenths` of a percent of `columns`. */
const char *layout_bar(unsigned tenths, unsigned columns);

struct layout_column {
	const char *head;
	bool left;     /* aligned to the left; else to the right */
	bool flexible; /* is cut or wrapped if the line is too long */
	unsigned drop; /* not 0: may be left out; the highest number goes first */
};

#define LAYOUT_COLUMNS_MOST 24

/*
 * Returns a table, which keeps its rows until it is printed.  NULL: no memory.  All functions
 * accept a NULL table.
 */
struct layout_table;
struct layout_table *layout_table(const struct layout_column *columns, size_t count);

/* Adds the next cell to the current row. */
void layout_cell(struct layout_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void layout_tone(struct layout_table *table, enum layout_tone tone); /* of the latest cell */

/* Ends the row. */
void layout_row(struct layout_table *table);

/* Adds a paragraph below the latest row, formatted as by layout_say(). */
void layout_note(struct layout_table *table, unsigned hang, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints and frees the table.  `whole`: flexible cells are wrapped, not cut. */
void layout_print(struct layout_table *table, bool whole);

#endif
