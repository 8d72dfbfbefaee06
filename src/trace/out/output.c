/*
 * output.c - writes reports: the table to the log, the JSON to a file.
 *
 * An intermediate report costs the thread that reads records some milliseconds, more for a program
 * with many kernels.  The thread spends at most a fiftieth of its time on reports.
 */
#define _GNU_SOURCE
#include "trace/out/output.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "base/parse.h"
#include "base/quiet.h"
#include "trace/out/emit.h"
#include "trace/out/validity.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS 1000000000u
#define PATIENCE  50
#define LEAST_NS  500000000u
#define MOST_NS   (60 * (uint64_t)SECOND_NS)
#define SLACK_NS  100000000u /* turns of the reading thread are not exact */

static const struct report *_Atomic constant; /* in every report; NULL: none is wanted yet */

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

/* Writes the table. */
static void write_text(const struct report *report)
{
	struct writer writer;

	if (hp_options->profile == HP_PROFILE_OFF || report->process.awaited ||
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

/* A report that others may follow goes to a file only, as that of a program without CUDA. */
static void write_json(const struct report *report)
{
	char *path = outcome.path;
	static struct writer writer; /* of the thread that set is_writing */

	int error = find_path(&report->process, path, sizeof(outcome.path));
	outcome.renamed = error == 0 && is_of_this_run(report, path);
	if (outcome.renamed)
		error = add_pid(path, sizeof(outcome.path), report->process.pid);
	outcome.error = 0;
	if ((!report->ended || report->no_device) && !is_file(path))
		return;
	if (error == 0)
		error = writer_open(&writer, path);
	if (error == 0) {
		emit_json(report, &writer);
		error = writer_close(&writer);
	}
	outcome.error = error;
}

/* Writes the JSON, without a signal to the program.  False: another thread writes it. */
static bool write_json_once(const struct report *report)
{
	if (atomic_flag_test_and_set(&is_writing))
		return false;
	struct hp_quiet quiet = hp_quiet_begin();
	write_json(report);
	hp_quiet_end(&quiet);
	if (!report->ended)
		atomic_flag_clear(&is_writing);
	return true;
}

/* Not in the thread that writes, which does not have the program's stderr. */
static void warn(const struct report *report)
{
	if (outcome.renamed && !report->no_device)
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

static void warn_of_stall(const struct report *report)
{
	char path[WRITER_PATH_MAX];

	find_path(&report->process, path, sizeof(path));
	hp_warn("HOTPIN_OUT: writing '%s' takes too long, so the program ends without it and the "
		"file is old or incomplete; name a file on another file system",
		path);
}

/* Adds what is known until `ended_ns`. */
static void gather(struct report *report, uint64_t ended_ns)
{
	static struct split finished; /* of the thread that reads records, or that has ended it */
	struct aggregate *device = report->collected.device;

	report->ended_ns = ended_ns;
	process_mark_end(&report->process);
	operations_read(&report->operations);
	if (device != NULL) {
		finished = device->split;
		split_finish(&finished, ended_ns, &report->split);
		report->ranges = &finished;
	}
	validity_check(report);
}

uint64_t output_interval_ns(uint64_t elapsed_ns)
{
	uint64_t part = elapsed_ns / PATIENCE;

	return part < LEAST_NS ? LEAST_NS : part > MOST_NS ? MOST_NS : part;
}

void output_begin(const struct report *base)
{
	atomic_store(&constant, base);
	/* At once: if the program crashes, its user must not find the file of an earlier run. */
	if (hp_options->out[0] != '\0')
		collect_wake();
}

void output_look(const struct collect_result *so_far, uint64_t until_ns)
{
	static struct report report;
	static uint64_t due_ns; /* 0: at once */
	const struct report *base = atomic_load(&constant);
	uint64_t now_ns = hp_now_ns();

	if (base == NULL || hp_options->out[0] == '\0' || now_ns < due_ns)
		return;
	report = *base;
	report.ended = false;
	report.warnings = 0;
	report.collected = *so_far;
	gather(&report, until_ns);
	write_json_once(&report);
	uint64_t pause_ns = (hp_now_ns() - now_ns) * PATIENCE;
	uint64_t interval_ns = output_interval_ns(now_ns - base->began_ns);
	due_ns = now_ns + (pause_ns > interval_ns ? pause_ns : interval_ns) - SLACK_NS;
}

static struct report *last;
static _Atomic bool written;

static void write_last(void)
{
	atomic_store(&written, write_json_once(last));
}

void output_end(struct report *report, uint64_t ended_ns)
{
	report->ended = true;
	gather(report, ended_ns);
	write_text(report);
	if (hp_options->out[0] == '\0')
		return;
	last = report;
	if (collect_last(write_last, writer_progress) == -EBUSY)
		write_last();
	if (atomic_load(&written))
		warn(report);
	else
		warn_of_stall(report);
}
