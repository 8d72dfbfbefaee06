/*
 * procfile.c - reads small files by openat(2) and read(2).
 *
 * The kernel generates such a file as it is read: one read() with enough room gets it whole.
 */
#define _GNU_SOURCE
#include "base/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_ROOM 1024

/* Joins the pieces.  False: too long. */
static bool join(char path[PATH_ROOM], const char *const *pieces)
{
	size_t used = 0;

	for (; *pieces != NULL; pieces++) {
		size_t length = strlen(*pieces);

		if (used + length >= PATH_ROOM)
			return false;
		memcpy(path + used, *pieces, length);
		used += length;
	}
	path[used] = '\0';
	return true;
}

bool hp_procfile_read(char *buffer, size_t room, const char *const *pieces)
{
	char path[PATH_ROOM];
	int saved = errno;
	long length = -1;

	if (!join(path, pieces))
		return false;
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = syscall(SYS_read, fd, buffer, room - 1);
		syscall(SYS_close, fd);
	}
	errno = saved;
	if (length < 0)
		return false;
	buffer[length] = '\0';
	return true;
}

uint64_t hp_procfile_number(const char *text)
{
	uint64_t value = 0;

	if (*text < '0' || *text > '9')
		return UINT64_MAX;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return UINT64_MAX;
	}
	return value;
}

const char *hp_procfile_field(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (; text != NULL && *text != '\0'; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (strncmp(text, name, length) == 0 && strchr(": \t", text[length]) != NULL)
			return text[length] != '\0' ? text + length + strspn(text + length, ": \t")
						    : NULL;
	}
	return NULL;
}

/* "some avg10=0.25 avg60=..." */
unsigned hp_procfile_stall(const char *const *pieces)
{
	static const char begin[] = "some avg10=";
	char text[256];

	if (!hp_procfile_read(text, sizeof(text), pieces) ||
	    strncmp(text, begin, sizeof(begin) - 1) != 0)
		return 0;

	const char *at = text + sizeof(begin) - 1;
	unsigned hundredths = 0;
	int decimals = -1;
	for (; decimals < 2 && ((*at >= '0' && *at <= '9') || *at == '.'); at++) {
		if (*at == '.') {
			decimals = 0;
			continue;
		}
		hundredths = hundredths * 10 + (unsigned)(*at - '0');
		decimals += decimals >= 0;
	}
	for (decimals = decimals < 0 ? 0 : decimals; decimals < 2; decimals++)
		hundredths *= 10;
	return hundredths <= 10000 ? hundredths : 10000;
}
