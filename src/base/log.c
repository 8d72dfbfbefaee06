/*
 * log.c - lines for the user.
 *
 * A program may close its stderr and open a data file at the same number.  So the file of stderr is
 * remembered at the start, and nothing is written once the descriptor names another.
 */
#include "base/log.h"
#include "base/options.h"
#include "base/quiet.h"
#include "base/save.h"
#include "base/terminal.h"
#include "base/thread.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Written by hp_log_open() before threads exist, then constant. */
static struct hp_file log_file = { .fd = STDERR_FILENO };

int hp_log_open(const char *path)
{
	int fd = STDERR_FILENO, error = 0;

	if (path != NULL && path[0] != '\0') {
		int opened = hp_save_append(path);

		if (opened < 0)
			error = opened;
		else
			fd = opened;
	}
	/* If stderr is closed at the start, a later file of that number is the program's. */
	if (hp_trust_remember(fd, &log_file) < 0)
		log_file.fd = -1;
	return error;
}

int hp_log_write(const char *text, unsigned long length)
{
	int saved = errno, result = 0;
	/* The caller may hold one of hotpin's locks. */
	hp_uncancellable_begin();
	struct hp_quiet quiet = hp_quiet_begin();

	/* Before hp_log_open() there is no inode to compare. */
	if (log_file.inode != 0 ? !hp_trust_names(&log_file) : log_file.fd < 0)
		result = -EBADF;
	while (result == 0 && length > 0) {
		ssize_t done = write(log_file.fd, text, length);

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
	unsigned columns = terminal_columns(text, log_file.fd, 80);

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
	line[length] = '\0';
	units_clean(line);
	line[length++] = '\n';
	hp_log_write(line, length);
	errno = saved;
}
