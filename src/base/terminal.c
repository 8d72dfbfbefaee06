/*
 * terminal.c - lines that fit the terminal.
 */
#include "base/terminal.h"
#include "base/parse.h"

#include <string.h>
#include <sys/ioctl.h>

unsigned terminal_columns(const char *text, int fd, unsigned otherwise)
{
	struct winsize size;
	hp_count_t columns = 0;

	if (text == NULL || strlen(text) > 5 || hp_parse_count(text, "", &columns) < 0)
		columns = 0;
	if (columns == 0)
		columns = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
									       : otherwise;
	return columns < TERMINAL_COLUMNS_LEAST  ? TERMINAL_COLUMNS_LEAST
	       : columns > TERMINAL_COLUMNS_MOST ? TERMINAL_COLUMNS_MOST
						 : (unsigned)columns;
}

/* "UTF-8", "utf8", "utf8@euro" */
static bool begins_utf8(const char *charset)
{
	const char *wanted = "utf8";

	for (; *wanted != '\0'; charset++) {
		if (*charset == '-')
			continue;
		if ((*charset | 0x20) != (*wanted | 0x20))
			return false;
		wanted++;
	}
	return true;
}

bool terminal_is_utf8(const char *all, const char *ctype, const char *lang)
{
	const char *values[] = { all, ctype, lang };

	for (size_t i = 0; i < HP_LEN(values); i++) {
		if (values[i] == NULL || values[i][0] == '\0')
			continue;
		const char *charset = strchr(values[i], '.');

		return charset != NULL && begins_utf8(charset + 1);
	}
	return false;
}

static bool is_start(char byte)
{
	return (byte & 0xc0) != 0x80;
}

size_t terminal_width(const char *text)
{
	size_t columns = 0;

	for (; *text != '\0'; text++)
		columns += is_start(*text);
	return columns;
}

size_t terminal_fit(const char *text, size_t columns)
{
	size_t used = 0, at, blank = 0;

	for (at = 0; text[at] != '\0'; at++) {
		used += is_start(text[at]);
		if (text[at] == ' ' && at > 0 && text[at - 1] != ' ')
			blank = at;
		if (used > columns)
			return blank > 0 || text[at] == ' ' ? blank : at;
	}
	return at;
}

void terminal_make_ascii(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x80)
			*to++ = *text;
		else if (is_start(*text))
			*to++ = '?';
	*to = '\0';
}
