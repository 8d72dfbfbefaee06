/*
 * output.c - writes a file by base/save.h, through a stream.
 */
#include "system/output.h"
#include "system/messages.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const struct output *output, int error)
{
	hotpin_say("cannot write %s: %s", output->path, strerror(error));
	return -error;
}

/* The file that a fatal signal must remove; NULL if there is none. */
static struct hp_save *volatile half_written;

static void remove_and_end(int number)
{
	struct hp_save *save = half_written;

	if (save != NULL)
		hp_save_close(save, -EINTR);
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

int output_open(struct output *output, const char *path, char *const *files, size_t count,
		bool follow)
{
	output->to = stdout;
	output->path = NULL;
	output->mode = 0;
	if (path == NULL || strcmp(path, "-") == 0)
		return 0;
	output->path = path;
	if (is_one_of(path, files, count)) {
		hotpin_say("%s is also read, so it cannot be written; name another file", path);
		return -EEXIST;
	}
	mind_signals();
	/* A signal may arrive at any time from here on, also while a pipe waits for its reader. */
	output->save.file.fd = output->save.folder.fd = -1;
	half_written = &output->save;
	int error = hp_save_open(&output->save, path, S_IRUSR | S_IWUSR,
				 HP_SAVE_WAITS | (follow ? HP_SAVE_FOLLOWS : 0));
	if (error < 0) {
		half_written = NULL;
		return fail(output, -error);
	}
	int file = fcntl(output->save.file.fd, F_DUPFD_CLOEXEC, 0);
	output->to = file >= 0 ? fdopen(file, "w") : NULL;
	if (output->to != NULL)
		return 0;
	error = errno;
	hp_save_close(&output->save, -error);
	half_written = NULL;
	return fail(output, error);
}

void output_drop(struct output *output)
{
	if (output->path == NULL)
		return;
	fclose(output->to);
	hp_save_close(&output->save, -ECANCELED);
	half_written = NULL;
}

int output_close(struct output *output)
{
	int error = 0;

	if (output->path == NULL)
		return 0; /* main() flushes and checks stdout */
	if (ferror(output->to) || fflush(output->to) != 0)
		error = errno != 0 ? errno : EIO;
	if (output->save.folder.fd >= 0) {
		mode_t mask = umask(0);

		umask(mask);
		fchmod(fileno(output->to), output->mode != 0 ? output->mode : 0666 & ~mask);
	}
	if (fclose(output->to) != 0 && error == 0)
		error = errno;
	error = -hp_save_close(&output->save, -error);
	half_written = NULL;
	return error != 0 ? fail(output, error) : 0;
}
