/*
 * messages.c - writes messages that are fit for a terminal.
 */
#include "system/messages.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *hotpin_clean(const char *text)
{
	size_t room = 4 * strlen(text) + 4;
	char *clean = malloc(room);

	if (clean != NULL)
		units_escape(clean, room, text, room);
	return clean;
}

void hotpin_say(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	char *clean = text != NULL ? hotpin_clean(text) : NULL;
	fflush(stdout);
	fprintf(stderr, "hotpin: %s\n", clean != NULL ? clean : "not enough memory");
	free(text);
	free(clean);
}
