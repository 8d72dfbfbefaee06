/*
 * jit.c - reads the map in pieces, up to FILE_MOST.
 */
#define _GNU_SOURCE
#include "trace/jit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST ((size_t)64 << 20)

/* Reads hexadecimal digits, with or without 0x, and the blank after them. */
static bool read_number(const char **at, uint64_t *ret)
{
	const char *text = *at;
	unsigned digits = 0;

	*ret = 0;
	if (text[0] == '0' && text[1] == 'x')
		text += 2;
	for (; digits <= 16; text++, digits++) {
		char c = *text;

		if (c >= '0' && c <= '9')
			*ret = *ret << 4 | (uint64_t)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			*ret = *ret << 4 | (uint64_t)((c | 32) - 'a' + 10);
		else
			break;
	}
	if (digits == 0 || digits > 16 || *text != ' ')
		return false;
	*at = text + 1;
	return true;
}

bool jit_line(const char *line, uint64_t *ret_start, uint64_t *ret_bytes, const char **ret_name)
{
	if (!read_number(&line, ret_start) || !read_number(&line, ret_bytes) || *line == '\0')
		return false;
	*ret_name = line;
	return true;
}

size_t jit_name_at(const struct jit_name *names, size_t count, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void take_line(const char *line, struct jit_name *names, size_t count)
{
	uint64_t start, bytes;
	const char *name;

	if (!jit_line(line, &start, &bytes, &name))
		return;
	for (size_t at = jit_name_at(names, count, start);
	     at < count && names[at].address - start < bytes; at++) {
		size_t length = strnlen(name, JIT_NAME_ROOM - 1);

		memcpy(names[at].name, name, length);
		names[at].name[length] = '\0';
	}
}

static void read_lines(int fd, struct jit_name *names, size_t count)
{
	char text[4096];
	size_t used = 0, all = 0;
	ssize_t more;

	while (all < FILE_MOST && (more = read(fd, text + used, sizeof(text) - 1 - used)) > 0) {
		char *line = text, *end;

		all += (size_t)more;
		used += (size_t)more;
		text[used] = '\0';
		while ((end = memchr(line, '\n', used - (size_t)(line - text))) != NULL) {
			*end = '\0';
			take_line(line, names, count);
			line = end + 1;
		}
		used -= (size_t)(line - text);
		memmove(text, line, used);
		/*
		 * Of a line that is too long, the first part counts as a line, and the rest is
		 * ignored.
		 */
		if (used == sizeof(text) - 1) {
			take_line(text, names, count);
			used = 0;
		}
	}
}

void jit_read(const char *path, struct jit_name *names, size_t count)
{
	struct stat status;
	int saved = errno;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_uid == geteuid())
		read_lines(fd, names, count);
	if (fd >= 0)
		close(fd);
	errno = saved;
}
