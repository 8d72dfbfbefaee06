/*
 * messages.c - writes messages that are fit for a terminal.
 */
#include "system/messages.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hotpin_say(const char *format, ...)
{
	char *text, *clean = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	size_t room = text != NULL ? 4 * strlen(text) + 4 : 0;
	if (room > 0)
		clean = malloc(room);
	fflush(stdout);
	fprintf(stderr, "hotpin: %s\n",
		clean != NULL ? units_escape(clean, room, text, room) : "not enough memory");
	free(text);
	free(clean);
}
