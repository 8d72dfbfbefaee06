/*
 * target.c - writes to a temporary file, which replaces the requested file at the end.
 */
#include "target.h"
#include "hotpin.h"
#include "show.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const struct target *target, int error)
{
	hotpin_say("cannot write %s: %s", show_text(target->path, 200), strerror(error));
	return -error;
}

/* The file that a fatal signal must remove; NULL if there is none. */
static const char *volatile half_written;

static void remove_and_end(int number)
{
	const char *name = half_written;

	if (name != NULL)
		unlink(name);
	raise(number); /* SA_RESETHAND restored the default action, which ends the process */
}

static const int endings[] = { SIGINT, SIGTERM, SIGHUP };

/* Catches signals that end the process.  Exceeding a file size limit becomes an ordinary error. */
static void mind_signals(void)
{
	struct sigaction ours = { .sa_handler = remove_and_end, .sa_flags = SA_RESETHAND }, before;

	for (size_t i = 0; i < HP_LEN(endings); i++)
		if (sigaction(endings[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(endings[i], &ours, NULL);
	signal(SIGXFSZ, SIG_IGN);
}

/* Signals are blocked until the name of the new file is known. */
static int make_file(struct target *target)
{
	sigset_t ours, before;

	sigemptyset(&ours);
	for (size_t i = 0; i < HP_LEN(endings); i++)
		sigaddset(&ours, endings[i]);
	sigprocmask(SIG_BLOCK, &ours, &before);
	int file = mkostemp(target->written, O_CLOEXEC), error = errno;
	half_written = file >= 0 ? target->written : NULL;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return file;
}

/* A symbolic link is not followed here: only the link would be replaced. */
static bool is_one_of(const char *path, char *const *files, size_t count)
{
	struct stat ours, theirs;

	if (lstat(path, &ours) < 0 || !S_ISREG(ours.st_mode))
		return false;
	for (size_t i = 0; i < count; i++)
		if (stat(files[i], &theirs) == 0 && theirs.st_dev == ours.st_dev &&
		    theirs.st_ino == ours.st_ino)
			return true;
	return false;
}

int target_open(struct target *target, const char *path, char *const *files, size_t count)
{
	struct stat status;

	target->to = stdout;
	target->path = NULL;
	target->mode = 0;
	target->written[0] = '\0';
	if (path == NULL || strcmp(path, "-") == 0)
		return 0;
	target->path = path;
	if (is_one_of(path, files, count)) {
		hotpin_say("%s is also read, so it cannot be written; name another file",
			   show_text(path, 200));
		return -EEXIST;
	}
	mind_signals();
	/* A regular file must not replace a device or a pipe. */
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		if (S_ISDIR(status.st_mode))
			return fail(target, EISDIR);
		target->to = fopen(path, "we");
		return target->to == NULL ? fail(target, errno) : 0;
	}
	int length = snprintf(target->written, sizeof(target->written), "%s.XXXXXX", path);
	if (length >= (int)sizeof(target->written))
		return fail(target, ENAMETOOLONG);
	int file = make_file(target);
	target->to = file >= 0 ? fdopen(file, "w") : NULL;
	if (target->to != NULL)
		return 0;
	int error = errno;
	if (file >= 0) {
		close(file);
		unlink(target->written);
		half_written = NULL;
	}
	return fail(target, error);
}

void target_drop(struct target *target)
{
	if (target->path == NULL)
		return;
	fclose(target->to);
	if (target->written[0] != '\0')
		unlink(target->written);
	half_written = NULL;
}

int target_close(struct target *target)
{
	int error = 0;

	if (target->path == NULL)
		return 0; /* main() flushes and checks stdout */
	if (ferror(target->to) || fflush(target->to) != 0)
		error = errno != 0 ? errno : EIO;
	if (target->written[0] != '\0') {
		mode_t mask = umask(0);

		umask(mask);
		fchmod(fileno(target->to), target->mode != 0 ? target->mode : 0666 & ~mask);
	}
	if (fclose(target->to) != 0 && error == 0)
		error = errno;
	if (target->written[0] != '\0' && error == 0 && rename(target->written, target->path) < 0)
		error = errno;
	if (target->written[0] != '\0' && error != 0)
		unlink(target->written);
	half_written = NULL;
	return error != 0 ? fail(target, error) : 0;
}
