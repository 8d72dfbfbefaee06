/*
 * target.c - a temporary file beside the one that is asked for, renamed at the end.
 */
#include "target.h"
#include "hotpin.h"
#include "show.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const struct target *target, int error)
{
	hotpin_say("cannot write %s: %s", show_text(target->path, 200), strerror(error));
	return -error;
}

int target_open(struct target *target, const char *path)
{
	struct stat status;

	target->to = stdout;
	target->path = NULL;
	target->written[0] = '\0';
	if (path == NULL || strcmp(path, "-") == 0)
		return 0;
	target->path = path;
	/* A device or a pipe must not be replaced by a file. */
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		if (S_ISDIR(status.st_mode))
			return fail(target, EISDIR);
		target->to = fopen(path, "we");
		return target->to == NULL ? fail(target, errno) : 0;
	}
	int length = snprintf(target->written, sizeof(target->written), "%s.XXXXXX", path);
	if (length >= (int)sizeof(target->written))
		return fail(target, ENAMETOOLONG);
	int file = mkostemp(target->written, O_CLOEXEC);
	target->to = file >= 0 ? fdopen(file, "w") : NULL;
	if (target->to != NULL)
		return 0;
	int error = errno;
	if (file >= 0) {
		close(file);
		unlink(target->written);
	}
	return fail(target, error);
}

int target_close(struct target *target)
{
	int error = 0;

	if (target->path == NULL)
		return 0; /* main() looks after stdout */
	if (ferror(target->to) || fflush(target->to) != 0)
		error = errno != 0 ? errno : EIO;
	if (target->written[0] != '\0') {
		mode_t mask = umask(0);

		umask(mask);
		fchmod(fileno(target->to), 0666 & ~mask);
	}
	if (fclose(target->to) != 0 && error == 0)
		error = errno;
	if (target->written[0] != '\0' && error == 0 && rename(target->written, target->path) < 0)
		error = errno;
	if (error == 0)
		return 0;
	if (target->written[0] != '\0')
		unlink(target->written);
	return fail(target, error);
}
