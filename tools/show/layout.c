/*
 * layout.c - prints paragraphs that fit the terminal.
 */
#include "show/layout.h"
#include "profile/texts.h"
#include "base/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USUAL 80

/* Facts of standard output. */
static unsigned columns_now;
static bool utf8;

void layout_start(void)
{
	columns_now = terminal_columns(getenv("COLUMNS"), STDOUT_FILENO, USUAL);
	utf8 = terminal_is_utf8(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"));
}

unsigned layout_columns(void)
{
	return columns_now;
}

bool layout_is_utf8(void)
{
	return utf8;
}

size_t layout_bytes(const char *text, size_t columns)
{
	size_t at = 0, used = 0;

	for (; text[at] != '\0'; at++) {
		used += (text[at] & 0xc0) != 0x80;
		if (used > columns)
			break;
	}
	return at;
}

void layout_say(unsigned hang, const char *format, ...)
{
	unsigned indent = 0;
	va_list args;

	va_start(args, format);
	char *at = text_of(format, args);
	va_end(args);
	if (!utf8)
		terminal_make_ascii(at);
	do {
		size_t bytes = terminal_fit(at, columns_now - indent);

		printf("%*s%.*s\n", (int)indent, "", (int)bytes, at);
		at += bytes + strspn(at + bytes, " ");
		indent = hang;
	} while (*at != '\0');
}

void layout_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *line = text_of(format, args);
	va_end(args);
	if (!utf8)
		terminal_make_ascii(line);
	size_t wide = terminal_width(line);
	printf("%.*s%s\n", (int)layout_bytes(line, columns_now - (wide > columns_now ? 2 : 0)),
	       line, wide > columns_now ? ".." : "");
}

void layout_lines(unsigned hang, const char *before, const char *lines)
{
	for (const char *line; (line = text_take_line(&lines)) != NULL;)
		layout_say(hang, "%s%s", before, line);
}

const char *layout_bar(int64_t part, int64_t whole, unsigned columns)
{
	const char *bar = "";
	int64_t marks = part > 0 && whole > 0
				? (int64_t)(((__int128_t)part * columns + whole / 2) / whole)
				: 0;

	for (marks = marks < columns ? marks : columns; marks > 0; marks--)
		bar = text_made("%s%s", bar, utf8 ? "\xe2\x96\x88" : "#");
	return bar;
}
