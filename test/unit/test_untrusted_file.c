/*
 * test_untrusted_file.c - opens files whose names are attacks: nothing but a regular file is ever
 * opened.
 */
#include "system/untrusted_file.h"
#include "check.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static char folder[PATH_MAX];

/* Returns the path of a name in the test's folder, which is the current one afterwards. */
static const char *at(const char *name)
{
	static char path[2 * PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", check_folder());
	CHECK(chdir(folder) == 0);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* Returns the error of opening the path, or whether its text is "text". */
static int opened(const char *path)
{
	struct untrusted_file file;
	char text[8] = "";
	int error = untrusted_file_open(path, &file);

	if (error < 0)
		return error;
	CHECK_EQ(read(file.fd, text, sizeof(text)), 4);
	CHECK_EQ(file.status.st_size, 4);
	close(file.fd);
	return strcmp(text, "text") == 0;
}

TEST(a_file_by_any_way)
{
	const char *path = at("here/there/file");
	struct untrusted_file file;

	CHECK(mkdir("here", 0755) == 0 && mkdir("here/there", 0755) == 0);
	check_write("here/there/file", "text");
	CHECK_EQ(symlink("there/file", "here/link"), 0);
	CHECK_EQ(symlink(path, "absolute"), 0);
	CHECK_EQ(symlink("here/there/../there", "folder"), 0);
	CHECK_EQ(symlink("folder/", "further"), 0);
	const char *const ways[] = { path,
				     "here/there/file",
				     "./here//there/./file",
				     "here/../here/there/file",
				     "here/link",
				     "absolute",
				     "further/file",
				     "here/there/../../folder/../link" };
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!CHECK_EQ(opened(ways[i]), 1))
			printf("# by %s\n", ways[i]);
		CHECK(untrusted_file_open(ways[i], &file) == 0 && strcmp(file.path, path) == 0);
		close(file.fd);
	}
	CHECK_EQ(opened("here/there/none"), -ENOENT);
	CHECK_EQ(opened("here/there/file/none"), -ENOTDIR);
	CHECK_EQ(opened("none/file"), -ENOENT);
	CHECK_EQ(opened(""), -ENOENT);
	for (const char *const *way = (const char *const[]){ "/", ".", "..", "here", NULL };
	     *way != NULL; way++)
		CHECK_EQ(opened(*way), -EINVAL);
}

/* The path of a file that is not there is known as far as it leads, links followed. */
TEST(a_path_that_leads_nowhere)
{
	struct untrusted_file file;
	char from_root[NAME_MAX + 8] = "/";

	at("");
	CHECK(mkdir("here", 0755) == 0 && symlink("here", "link") == 0);
	CHECK_EQ(untrusted_file_open("link/none", &file), -ENOENT);
	CHECK(strcmp(file.path, at("here/none")) == 0);
	CHECK_EQ(untrusted_file_open("link/none/file", &file), -ENOENT);
	CHECK(strcmp(file.path, at("here/none")) == 0);
	memset(from_root + 1, 'x', NAME_MAX + 1);
	CHECK_EQ(untrusted_file_open(from_root, &file), -ENAMETOOLONG);
	CHECK_EQ(strlen(file.path), NAME_MAX + 1);
	CHECK(strncmp(file.path, from_root, NAME_MAX + 1) == 0);
	CHECK_EQ(untrusted_file_open("here", &file), -EINVAL);
	CHECK(strcmp(file.path, at("here")) == 0);
}

TEST(paths_without_end)
{
	char name[PATH_MAX + 8], half[PATH_MAX];

	at("");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK_EQ(opened(name), -ENAMETOOLONG);
	CHECK_EQ(symlink("b", "a"), 0);
	CHECK_EQ(symlink("a", "b"), 0);
	CHECK_EQ(opened("a"), -ELOOP);
	/* Each turn makes the path longer, up to what fits. */
	memset(half, '/', sizeof(half));
	strcpy(half + PATH_MAX - 8, "c");
	CHECK_EQ(symlink(half, "c"), 0);
	CHECK(symlink("grows/x/x/x/x/x/x/x/x", "grows") == 0 && opened("grows") < 0);
	for (size_t i = 0; i + 3 < sizeof(name); i += 2)
		memcpy(name + i, "c/", 3);
	CHECK(opened(name) < 0);
}

/* Returns the number of times that something in the folder is opened by untrusted_file_open(). */
static int opens(const char *path)
{
	char events[4096];
	int watch = inotify_init1(IN_NONBLOCK), count = 0;

	CHECK(watch >= 0 && inotify_add_watch(watch, folder, IN_OPEN) >= 0);
	opened(path);
	ssize_t bytes = read(watch, events, sizeof(events));
	for (ssize_t i = 0; i < bytes;) {
		const struct inotify_event *event = (const void *)(events + i);

		count++;
		i += (ssize_t)(sizeof(*event) + event->len);
	}
	close(watch);
	return count;
}

TEST(others_are_not_even_opened)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	const char *const others[] = { "pipe", "device", "socket", "folder", "to_pipe" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	at("");
	check_write("file", "text");
	CHECK(mkfifo("pipe", 0666) == 0 && mkdir("folder", 0755) == 0);
	CHECK_EQ(symlink("pipe", "to_pipe"), 0);
	CHECK_EQ(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_EQ(opens("file"), 1);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		/* Only root can make a device: here, /dev/null. */
		if (strcmp(others[i], "device") == 0 && mknod("device", S_IFCHR | 0666, 0x103) < 0)
			continue;
		CHECK_EQ(opened(others[i]), -EINVAL);
		if (!CHECK_EQ(opens(others[i]), 0))
			printf("# %s\n", others[i]);
	}
	close(fd);
}

TEST(who_may_read_and_who_may_write)
{
	struct untrusted_file file;
	const struct {
		mode_t folder, file;
		bool reachable, trusted;
	} rows[] = {
		{ 0755, 0644, true, true },   { 0700, 0644, false, true },
		{ 0755, 0600, true, true },   { 01777, 0644, true, true },
		{ 0755, 0664, true, true },   { 0755, 0646, true, false },
		{ 01777, 0666, true, false }, { 0754, 0644, false, true },
	};
	const char *path = at("part/file");

	CHECK(chmod(folder, 0755) == 0 && mkdir("part", 0755) == 0);
	check_write("part/file", "text");
	/* The folders above may be anything. */
	CHECK_EQ(untrusted_file_open(path, &file), 0);
	bool reachable = file.is_reachable;
	close(file.fd);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK(chmod("part", rows[i].folder) == 0 && chmod(path, rows[i].file) == 0);
		CHECK_EQ(untrusted_file_open(path, &file), 0);
		CHECK_EQ(file.is_reachable, rows[i].reachable && reachable);
		if (!CHECK_EQ(untrusted_file_is_safe(&file), rows[i].trusted))
			printf("# row %zu\n", i);
		CHECK(untrusted_file_is_readable(&file));
		close(file.fd);
	}
	if (geteuid() != 0)
		return;
	CHECK(chmod("part", 0755) == 0 && chmod(path, 0644) == 0 && chown(path, 1, 1) == 0);
	CHECK_EQ(untrusted_file_open(path, &file), 0);
	CHECK(!untrusted_file_is_safe(&file));
	/* Root reads what everybody may read. */
	CHECK_EQ(untrusted_file_is_readable(&file), reachable);
	close(file.fd);
	CHECK_EQ(chmod(path, 0640), 0);
	CHECK_EQ(untrusted_file_open(path, &file), 0);
	CHECK(!untrusted_file_is_readable(&file));
	close(file.fd);
}

static int requests[2]; /* the automounter's pipe */

/* Opens a path as a process that is not the automounter.  Returns the error; 1: it asks for one. */
static int opened_by_others(const char *path)
{
	struct pollfd asked = { .fd = requests[0], .events = POLLIN };
	int status;
	pid_t child = fork();

	if (child == 0) {
		setpgid(0, 0);
		int result = opened(path);
		_exit(result < 0 ? -result : 0);
	}
	while (waitpid(child, &status, WNOHANG) == 0)
		if (poll(&asked, 1, 1) > 0)
			kill(child, SIGKILL);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : 1;
}

TEST(nothing_is_mounted)
{
	char options[128];

	at("");
	check_write("file", "text");
	CHECK(mkdir("net", 0755) == 0 && symlink("net/host/file", "link") == 0 &&
	      pipe(requests) == 0);
	snprintf(options, sizeof(options), "fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect",
		 requests[1], (int)getpgrp());
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "net", "autofs", 0, options) < 0) {
		CHECK(true);
		printf("# skipped: no automounter can be made here (%m)\n");
		return;
	}
	CHECK_EQ(opened_by_others("net/host/file"), -EREMOTE);
	CHECK_EQ(opened_by_others("link"), -EREMOTE);
	CHECK_EQ(opened_by_others("net/host"), -EREMOTE);
	CHECK_EQ(opened_by_others("net"), -EINVAL);
	/* As the automounter, this process may mount. */
	CHECK(mkdir("net/a b", 0755) == 0 && mount("none", "net/a b", "tmpfs", 0, NULL) == 0);
	check_write("net/a b/file", "text");
	CHECK_EQ(opened_by_others("net/a b/file"), 0);
	CHECK_EQ(opened_by_others("net/../net/a b/../../file"), 0);
	CHECK_EQ(opened_by_others("net/a/file"), -EREMOTE);
	CHECK(umount("net/a b") == 0 && umount2("net", MNT_DETACH) == 0);
}

CHECK_MAIN()
