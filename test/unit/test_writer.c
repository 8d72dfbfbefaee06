/*
 * test_writer.c - files that the profile is written to, in a program that closes descriptors, and
 * how often a running program writes them.
 */
#include "trace/out/writer.h"
#include "trace/out/output.h"

#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct writer writer;

static off_t bytes_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 ? status.st_size : -1;
}

/* Counts the files in the test's folder besides `data`. */
static int left_behind(void)
{
	DIR *folder = opendir(check_folder());
	int count = 0;

	for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
		count += entry->d_name[0] != 'd' && strcmp(entry->d_name, ".") != 0 &&
			 strcmp(entry->d_name, "..") != 0;
	closedir(folder);
	return count;
}

static void write_more_than_a_buffer(void)
{
	for (size_t i = 0; i <= WRITER_BYTES; i += 8)
		writer_bytes(&writer, "profile\n", 8);
}

TEST(a_file_of_the_program_at_that_number)
{
	int data = open(check_path("data"), O_WRONLY | O_CREAT, 0600);
	CHECK(data >= 0);
	const char *path = check_path("run.json");
	CHECK_EQ(writer_open(&writer, path), 0);
	/* As closefrom(3) and open(2) of another thread. */
	CHECK_EQ(dup2(data, writer.save.file.fd), writer.save.file.fd);
	write_more_than_a_buffer();
	CHECK_EQ(writer_close(&writer), -EBADF);
	CHECK_EQ(bytes_of(data), 0);
	CHECK_EQ(bytes_of(writer.save.file.fd), 0); /* still open */
	CHECK(left_behind() == 0);
}

TEST(closed_by_the_program)
{
	const char *path = check_path("run.json");

	CHECK_EQ(writer_open(&writer, path), 0);
	close(writer.save.file.fd);
	write_more_than_a_buffer();
	CHECK_EQ(writer_close(&writer), -EBADF);
	CHECK(left_behind() == 0);
}

/* As a daemon does, which then opens files of its own. */
TEST(all_closed_by_the_program)
{
	const char *path = check_path("run.json");

	CHECK_EQ(writer_open(&writer, path), 0);
	for (int fd = STDERR_FILENO + 1; fd < 64; fd++)
		close(fd);
	for (int fd = STDERR_FILENO + 1; fd < 10; fd++)
		CHECK_EQ(open("/", O_RDONLY), fd);
	CHECK_EQ(writer_close(&writer), -EBADF);
	for (int fd = STDERR_FILENO + 1; fd < 10; fd++)
		CHECK(fcntl(fd, F_GETFD) >= 0);
}

/* What the program prints must not reach the profile. */
TEST(a_closed_standard_output)
{
	const char *path = check_path("run.json");
	int output = dup(STDOUT_FILENO);

	close(STDOUT_FILENO);
	int error = writer_open(&writer, path);
	bool is_closed = write(STDOUT_FILENO, "program\n", 8) < 0;
	dup2(output, STDOUT_FILENO);
	CHECK_EQ(error, 0);
	CHECK(is_closed);
	write_more_than_a_buffer();
	CHECK_EQ(writer_close(&writer), 0);
}

TEST(no_number_above_the_standard_streams)
{
	const char *path = check_path("run.json");
	int output = dup(STDOUT_FILENO);
	struct rlimit before, few;

	getrlimit(RLIMIT_NOFILE, &before);
	few = (struct rlimit){ STDERR_FILENO + 1, before.rlim_max };
	close(STDOUT_FILENO);
	setrlimit(RLIMIT_NOFILE, &few);
	int error = writer_open(&writer, path);
	setrlimit(RLIMIT_NOFILE, &before);
	dup2(output, STDOUT_FILENO);
	CHECK(error < 0);
	CHECK(left_behind() == 0);
}

#define SECOND 1000000000ull

/* At first twice a second, after an hour every minute, and never less often. */
TEST(a_profile_is_never_much_older_than_the_run)
{
	CHECK_EQ(output_interval_ns(SECOND), SECOND / 2);
	CHECK_EQ(output_interval_ns(1000 * SECOND), 20 * SECOND);
	CHECK_EQ(output_interval_ns(3600 * SECOND), 60 * SECOND);
	CHECK_EQ(output_interval_ns(UINT64_MAX), 60 * SECOND);
}

/* A day of profiles of 598 kB each, with 1,024 sites. */
TEST(a_day_writes_about_a_gigabyte)
{
	uint64_t at = 0, reports = 0;

	for (; at < 86400 * SECOND; at += output_interval_ns(at))
		reports++;
	CHECK(reports * 598000 < 1100000000);
}

CHECK_MAIN()
