/*
 * paths.c - compares and shortens paths as text, without access to files.
 */
#include "names/paths.h"

#include <stdbool.h>
#include <string.h>

void paths_normalize(char *path)
{
	bool absolute = path[0] == '/';
	char *to = path + absolute, *first = to;

	for (char *part = to, *next; part != NULL; part = next) {
		next = strchr(part, '/');
		if (next != NULL)
			*next++ = '\0';
		size_t length = strlen(part);
		bool up = strcmp(part, "..") == 0;
		bool drop =
			length == 0 || strcmp(part, ".") == 0 || (up && absolute && to == first);

		if (up && to > first) {
			/* ".." removes the previous part, unless that is ".." too. */
			char *last = to - 1;
			while (last > first && last[-1] != '/')
				last--;
			if (to - last != 3 || strncmp(last, "..", 2) != 0) {
				to = last;
				drop = true;
			}
		}
		if (drop)
			continue;
		memmove(to, part, length);
		to += length;
		*to++ = '/';
	}
	to[to > first ? -1 : 0] = '\0';
}

size_t paths_common_parts(const char *a, const char *b)
{
	const char *at = a + strlen(a), *bt = b + strlen(b);
	size_t parts = 0;

	for (; at > a && bt > b && at[-1] == bt[-1]; at--, bt--)
		parts += at[-1] == '/';
	/* The part where the paths begin to differ counts if it is complete in both. */
	return parts + ((at == a || at[-1] == '/') && (bt == b || bt[-1] == '/') &&
			(*at != '\0' && *at != '/'));
}
