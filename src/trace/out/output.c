/*
 * output.c - writes reports: the table to the log, the JSON to a file.
 */
#define _GNU_SOURCE
#include "trace/out/output.h"
#include "base/log.h"
#include "base/options.h"
#include "base/parse.h"
#include "base/quiet.h"
#include "trace/out/emit_json.h"
#include "trace/out/emit_text.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Set while a thread uses the one writer of JSON.  It stays set while a file system stalls, and
 * after the last report, which a thread that hung must not replace.
 */
static atomic_flag is_writing = ATOMIC_FLAG_INIT;

/* Of the last JSON, by the thread that set is_writing. */
static struct outcome {
	char path[WRITER_PATH_MAX];
	bool renamed;
	int error;
} outcome;

void output_text(const struct report *report)
{
	struct writer writer;

	if (hp_options->profile == HP_PROFILE_OFF || (report->process.awaited && report->ended) ||
	    writer_open_memory(&writer) < 0)
		return;
	emit_text(report, &writer, hp_log_columns(report->process.columns));
	hp_log_write(writer.buffer, writer.used);
	writer_close(&writer);
}

/* Turns RUN.json into RUN-4711.json. */
static int add_pid(char *path, size_t room, long pid)
{
	char tail[256] = "";
	char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	char *dot = strrchr(name, '.');

	if (dot == NULL || dot == name)
		dot = path + strlen(path);
	if ((size_t)snprintf(tail, sizeof(tail), "-%ld%s", pid, dot) >= sizeof(tail) ||
	    (size_t)(dot - path) + strlen(tail) >= room)
		return -ENAMETOOLONG;
	memcpy(dot, tail, strlen(tail) + 1);
	return 0;
}

/* True for a file.  A pipe or a device would get more than one report. */
static bool is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) < 0 ? errno == ENOENT : S_ISREG(status.st_mode);
}

static uint64_t written_ns(const struct stat *status)
{
	return (uint64_t)status->st_mtim.tv_sec * 1000000000 + (uint64_t)status->st_mtim.tv_nsec;
}

/* Finds the path of the JSON.  On an error, `ret` holds HOTPIN_OUT itself, for messages. */
static int find_path(const struct process *process, char *ret, size_t room)
{
	int error = process_expand(process, hp_options->out, ret, room);

	if (error < 0)
		snprintf(ret, room, "%s", hp_options->out);
	return error;
}

/* True if another process has written the file since `hotpin run` started. */
static bool is_of_this_run(const struct report *report, const char *path)
{
	static char head[WRITER_BYTES / 2]; /* of the thread that set is_writing */
	struct stat status;
	char pid[40];

	if (report->process.run_began_ns == 0 || stat(path, &status) < 0 ||
	    !S_ISREG(status.st_mode) || written_ns(&status) < report->process.run_began_ns)
		return false;
	/* Another user may have replaced the file by a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	ssize_t length = read(fd, head, sizeof(head) - 1);
	close(fd);
	head[length > 0 ? length : 0] = '\0';
	snprintf(pid, sizeof(pid), "\"pid\": %ld,", report->process.pid);
	return strstr(head, pid) == NULL;
}

static bool is_young(const char *path, uint64_t since_ns)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       written_ns(&status) >= since_ns;
}

bool output_is_written(const struct process *process, uint64_t since_ns)
{
	struct process other = *process;
	char path[WRITER_PATH_MAX];
	glob_t found = { 0 };
	bool young = false;

	if (find_path(process, path, sizeof(path)) == 0 && is_young(path, since_ns))
		return true;
	/* A child's profile has another name if the name tells processes or times apart. */
	other.pid = HP_PATH_ANY;
	if (!process_had_children() || find_path(&other, path, sizeof(path)) < 0 ||
	    glob(path, GLOB_NOSORT, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++)
		young |= is_young(found.gl_pathv[i], since_ns);
	globfree(&found);
	return young;
}

static void write_json(const struct report *report, enum output_kind kind)
{
	char *path = outcome.path;
	static struct writer writer; /* of the thread that set is_writing */

	int error = find_path(&report->process, path, sizeof(outcome.path));
	outcome.renamed = error == 0 && is_of_this_run(report, path);
	if (outcome.renamed)
		error = add_pid(path, sizeof(outcome.path), report->process.pid);
	outcome.error = 0;
	if (kind != OUTPUT_END && !is_file(path))
		return;
	if (error == 0)
		error = writer_open(&writer, path);
	if (error == 0) {
		emit_json(report, &writer);
		error = writer_close(&writer);
	}
	outcome.error = error;
}

void output_warn(bool alone)
{
	if (outcome.renamed && !alone)
		hp_warn("HOTPIN_OUT: another process of this run has already written that "
			"file, so this profile is '%s'; add %%p to the name",
			outcome.path);
	if (outcome.error < 0) {
		errno = -outcome.error;
		hp_warn("HOTPIN_OUT: cannot write '%s' (%m), so this profile is lost; name a file "
			"that can be written",
			outcome.path);
	}
}

void output_stalled(const struct report *report)
{
	char path[WRITER_PATH_MAX];

	find_path(&report->process, path, sizeof(path));
	hp_warn("HOTPIN_OUT: writing '%s' takes too long, so the program ends without it and the "
		"file is old or incomplete; name a file on another file system",
		path);
}

bool output_json(const struct report *report, enum output_kind kind)
{
	if (atomic_flag_test_and_set(&is_writing))
		return false;
	struct hp_quiet quiet = hp_quiet_begin();
	write_json(report, kind);
	hp_quiet_end(&quiet);
	if (kind != OUTPUT_END)
		atomic_flag_clear(&is_writing);
	return true;
}
