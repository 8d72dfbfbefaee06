/*
 * test_trust.c - profiles and logs in folders where other users have prepared traps.
 *
 * Tests with another user's files run only as root.  test_flips.c has each kind of such a file.
 */
#include "check.h"
#include "base/log.h"
#include "base/options.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define OTHER 1 /* another user */

static char folder[256], shared[300], target[300], message[4096];

static const char *in(const char *where, const char *name)
{
	static char paths[4][512];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", where, name);
	return path;
}

static bool file_says(const char *path, const char *text)
{
	char found[256];

	return strcmp(check_read(path, found, sizeof(found)), text) == 0;
}

/* Creates a folder like /tmp, and next to it a file that must not change. */
static void begin_in(const char *parent)
{
	snprintf(folder, sizeof(folder), "%.230s/trust-XXXXXX", parent);
	CHECK(mkdtemp(folder) != NULL);
	chmod(folder, 0755);
	snprintf(shared, sizeof(shared), "%s/shared", folder);
	CHECK_EQ(mkdir(shared, 0700), 0);
	CHECK_EQ(chmod(shared, 01777), 0);
	snprintf(target, sizeof(target), "%s/target", folder);
	check_write(target, "precious");
}

static void begin(void)
{
	CHECK_EQ(chmod(check_folder(), 0755), 0);
	begin_in(check_folder());
}

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	CHECK_SKIP("only root can make another user's files");
}

static bool is_regular(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 100;
}

/* Writes a profile to `out`; its message is in `message`. */
static void profile_to(const char *out)
{
	char option[600];

	snprintf(option, sizeof(option), "HOTPIN_OUT=%s", out);
	hp_options_load((char *[]){ option, "HOTPIN_CUPTI=off", NULL });
	CHECK_EQ(hp_log_open(in(folder, "log")), 0);
	trace_start(&(struct trace_facts){ .device = "none" });
	trace_finish();
	check_read(in(folder, "log"), message, sizeof(message));
}

static void check_refused(void)
{
	CHECK(strstr(message, "cannot write '") != NULL);
	CHECK(strstr(message, "Permission denied") != NULL);
	CHECK(file_says(target, "precious"));
}

TEST_AFTER(symlink_to_a_file, begin())
{
	CHECK_EQ(symlink(target, in(shared, "run.json")), 0);
	profile_to(in(shared, "run.json"));
	CHECK(file_says(target, "precious"));
	CHECK(is_regular(in(shared, "run.json")));
}

TEST(symlink_below_dev)
{
	char command[300];

	if (access("/dev/shm", W_OK) < 0)
		CHECK_SKIP("there is no /dev/shm");
	begin_in("/dev/shm");
	CHECK_EQ(symlink(target, in(shared, "run.json")), 0);
	profile_to(in(shared, "run.json"));
	CHECK(file_says(target, "precious"));
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	CHECK_EQ(system(command), 0);
}

TEST_AFTER(symlink_of_our_own_to_a_pipe, begin())
{
	char bytes[16];

	CHECK_EQ(mkfifo(in(folder, "pipe"), 0600), 0);
	int reader = open(in(folder, "pipe"), O_RDONLY | O_NONBLOCK);
	CHECK_EQ(symlink("../pipe", in(shared, "run.json")), 0);
	profile_to(in(shared, "run.json"));
	CHECK(read(reader, bytes, sizeof(bytes)) > 0);
}

TEST_AFTER(pipe_of_our_own, begin())
{
	char bytes[16];

	CHECK_EQ(mkfifo(in(shared, "run.json"), 0600), 0);
	int reader = open(in(shared, "run.json"), O_RDONLY | O_NONBLOCK);
	profile_to(in(shared, "run.json"));
	CHECK(read(reader, bytes, sizeof(bytes)) > 0);
}

TEST_AFTER(folder_that_another_user_has_linked, begin())
{
	need_root();
	CHECK_EQ(mkdir(in(folder, "inside"), 0755), 0);
	CHECK_EQ(symlink(in(folder, "inside"), in(shared, "runs")), 0);
	/* Links in root's folder are trusted if root or we own them; this one has another owner. */
	CHECK_EQ(lchown(in(shared, "runs"), OTHER, OTHER), 0);
	profile_to(in(shared, "runs/run.json"));
	check_refused();
	CHECK(access(in(folder, "inside/run.json"), F_OK) < 0);
	CHECK_EQ(hp_log_open(in(shared, "runs/log")), -EACCES);
}

TEST_AFTER(folder_that_we_have_linked, begin())
{
	CHECK_EQ(mkdir(in(folder, "inside"), 0755), 0);
	CHECK_EQ(symlink(in(folder, "inside"), in(shared, "runs")), 0);
	profile_to(in(shared, "runs/run.json"));
	CHECK(is_regular(in(folder, "inside/run.json")));
}

TEST_AFTER(mode_is_what_umask_leaves, begin())
{
	struct stat status;

	umask(027);
	profile_to(in(shared, "run.json"));
	CHECK_EQ(stat(in(shared, "run.json"), &status), 0);
	CHECK_EQ(status.st_mode & 07777, 0640);
	CHECK_EQ(hp_log_open(in(shared, "log")), 0);
	CHECK_EQ(stat(in(shared, "log"), &status), 0);
	CHECK_EQ(status.st_mode & 07777, 0640);
}

/* Only our marks are replaced, and none reaches printf(). */
TEST_AFTER(strange_marks, begin())
{
	profile_to(in(shared, "%n%s%x%%%1$s.json"));
	CHECK(is_regular(in(shared, "%n%s%x%%1$s.json")));
}

TEST_AFTER(strange_marks_in_a_message, begin())
{
	profile_to(in(shared, "none/%n%s%x%s%s%s"));
	CHECK(strstr(message, "shared/none/%n%s%x%s%s%s'") != NULL);
}

TEST_AFTER(log_by_our_own_symlink, begin())
{
	CHECK_EQ(symlink(in(folder, "fresh"), in(shared, "log")), 0);
	CHECK_EQ(hp_log_open(in(shared, "log")), 0);
	CHECK_EQ(access(in(folder, "fresh"), F_OK), 0);
}

TEST_AFTER(log_by_a_hard_link, begin())
{
	CHECK_EQ(link(target, in(shared, "log")), 0);
	CHECK_EQ(hp_log_open(in(shared, "log")), -EACCES);
}

TEST_AFTER(log_that_is_another_users, begin())
{
	need_root();
	check_write(in(shared, "log"), "");
	CHECK_EQ(chmod(in(shared, "log"), 0666), 0);
	CHECK_EQ(chown(in(shared, "log"), OTHER, OTHER), 0);
	CHECK_EQ(hp_log_open(in(shared, "log")), -EACCES);
}

TEST_AFTER(log_that_is_there_already, begin())
{
	check_write(in(shared, "log"), "before\n");
	CHECK_EQ(hp_log_open(in(shared, "log")), 0);
	CHECK_EQ(hp_log_write("after\n", 6), 0);
	CHECK(file_says(in(shared, "log"), "before\nafter\n"));
}

TEST_AFTER(log_to_a_pipe_that_nobody_reads, begin())
{
	CHECK_EQ(mkfifo(in(folder, "log"), 0600), 0);
	CHECK_EQ(hp_log_open(in(folder, "log")), -ENXIO);
}

CHECK_MAIN()
