/*
 * target.c - a temporary file during the one that is asked for, renamed at the end.
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

/* What a signal that ends us must not leave behind; NULL: nothing. */
static const char *volatile half_written;

static void remove_and_end(int number)
{
	const char *name = half_written;

	if (name != NULL)
		unlink(name);
	raise(number); /* SA_RESETHAND: it ends us now */
}

static const int endings[] = { SIGINT, SIGTERM, SIGHUP };

/* A file at its size limit is an error like any other, not the end by a signal. */
static void mind_signals(void)
{
	struct sigaction ours = { .sa_handler = remove_and_end, .sa_flags = SA_RESETHAND }, before;

	for (size_t i = 0; i < HP_LEN(endings); i++)
		if (sigaction(endings[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(endings[i], &ours, NULL);
	signal(SIGXFSZ, SIG_IGN);
}

/* A signal comes before there is the file, or when its name is known. */
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

/* A link is replaced, not what it leads to. */
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
	if (target->written[0] != '\0' && error != 0)
		unlink(target->written);
	half_written = NULL;
	return error != 0 ? fail(target, error) : 0;
}
