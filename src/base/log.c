/*
 * log.c - lines for the user.
 *
 * A program may close its stderr and open a data file at the same number.  So the identity of fd 2
 * is remembered at the start, and nothing is written there once it has changed.
 */
#include "base/log.h"
#include "base/sections.h"
#include "base/options.h"
#include "base/quiet.h"
#include "base/terminal.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Written by hp_log_open() before threads exist, then constant. */
static int log_fd = STDERR_FILENO;
static bool known;
static dev_t known_device;
static ino_t known_inode;

int hp_log_open(const char *path)
{
	int error = 0;
	struct stat status;

	if (path != NULL && path[0] != '\0') {
		int fd = hp_trust_append(path, true);

		/* The file must not get the number of a stream that was closed at the start. */
		if (fd >= 0 && fd <= STDERR_FILENO) {
			int low = fd;

			fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
			if (fd < 0)
				fd = -errno;
			close(low);
		}
		if (fd < 0)
			error = fd;
		else
			log_fd = fd;
	}
	/* If stderr is closed at the start, a later file of that number is the program's. */
	if (fstat(log_fd, &status) < 0) {
		log_fd = -1;
	} else {
		known = true;
		known_device = status.st_dev;
		known_inode = status.st_ino;
	}
	return error;
}

static bool is_unchanged(void)
{
	struct stat status;

	return fstat(log_fd, &status) == 0 &&
	       (!known || (status.st_dev == known_device && status.st_ino == known_inode));
}

int hp_log_write(const char *text, unsigned long length)
{
	int saved = errno, result = 0;
	/* The caller may hold one of hotpin's locks. */
	hp_uncancellable_begin();
	struct hp_quiet quiet = hp_quiet_begin();

	if (!is_unchanged())
		result = -EBADF;
	while (result == 0 && length > 0) {
		ssize_t done = write(log_fd, text, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			result = -errno;
			break;
		}
		text += done;
		length -= (unsigned long)done;
	}
	hp_quiet_end(&quiet);
	hp_uncancellable_end();
	errno = saved;
	return result;
}

unsigned hp_log_columns(const char *text)
{
	int saved = errno;
	unsigned columns = terminal_columns(text, log_fd, 80);

	errno = saved;
	return columns;
}

void hp_log(enum hp_level level, const char *format, ...)
{
	static const char *const words[] = { "error", "warn", "info", "debug" };
	char line[512];
	int saved = errno;

	if (level > (enum hp_level)hp_options->log && level != HP_ERROR)
		return;

	int head = snprintf(line, sizeof(line), "hotpin[%ld] %s: ", (long)getpid(), words[level]);
	va_list args;
	va_start(args, format);
	int body = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, args);
	va_end(args);

	size_t length = (size_t)head + (body > 0 ? (size_t)body : 0);
	if (length > sizeof(line) - 2)
		length = sizeof(line) - 2;
	/* Names that the user or the program chose may contain terminal escapes. */
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[length++] = '\n';
	hp_log_write(line, length);
	errno = saved;
}
