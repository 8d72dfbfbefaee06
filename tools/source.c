/*
 * source.c - finds and reads source files.
 *
 * Paths come from profiles and debug information, so a path may lead to a device, a pipe or a file
 * of any size.
 */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MOST ((size_t)16 << 20)

/* The file may grow or shrink while it is read. */
static int read_text(int file, size_t bytes, struct source *ret)
{
	char *text = malloc(bytes + 1);
	size_t done = 0;
	ssize_t got = 1;

	if (text == NULL)
		return -ENOMEM;
	while (done < bytes && got > 0) {
		got = read(file, text + done, bytes - done);
		if (got < 0) {
			int error = errno;

			free(text);
			return -error;
		}
		done += (size_t)got;
	}
	text[done] = '\0';
	ret->text = text;
	ret->bytes = done;
	return 0;
}

static int open_at(const char *path, struct source *ret)
{
	struct stat status;
	/* Opening a device or a pipe must not block. */
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error = 0;

	if (file < 0)
		return -errno;
	if (fstat(file, &status) < 0)
		error = -errno;
	else if (!S_ISREG(status.st_mode))
		error = -EINVAL;
	else if (status.st_size > (off_t)BYTES_MOST)
		error = -EFBIG;
	else
		error = read_text(file, (size_t)status.st_size, ret);
	close(file);
	if (error < 0)
		return error;
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	ret->modified = status.st_mtime;
	return 0;
}

/* Tries longer ends of the path first. */
static int open_below(const char *compiled, const char *const *folders, size_t folder_count,
		      struct source *ret)
{
	char path[4096];

	for (const char *end = compiled; end != NULL; end = strchr(end, '/')) {
		end += strspn(end, "/");
		/* Such a path would leave the folder. */
		if (strncmp(end, "../", 3) == 0)
			continue;
		for (size_t i = 0; i < folder_count; i++) {
			int length = snprintf(path, sizeof(path), "%s/%s", folders[i], end);

			if (length > 0 && (size_t)length < sizeof(path) && open_at(path, ret) == 0)
				return 0;
		}
	}
	return -ENOENT;
}

int source_open(const char *compiled, const char *const *folders, size_t folder_count,
		const char *given, struct source *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (open_below(compiled, folders, folder_count, ret) == 0)
		return 0;
	int error = open_at(compiled, ret);
	if (error < 0 && given != NULL && open_at(given, ret) == 0)
		return 0;
	return error;
}

void source_close(struct source *source)
{
	free(source->text);
	memset(source, 0, sizeof(*source));
}

bool source_next_line(const struct source *source, size_t *at, const char **ret, size_t *ret_bytes)
{
	if (*at >= source->bytes)
		return false;
	const char *line = source->text + *at;
	const char *end = memchr(line, '\n', source->bytes - *at);

	*ret = line;
	*ret_bytes = end != NULL ? (size_t)(end - line) : source->bytes - *at;
	*at += *ret_bytes + 1;
	return true;
}
