/*
 * test_flips.c - another user changes what a name means, before each step of a write.
 *
 * The calls that look up names are replaced here.  Before the nth of them, the name changes from
 * one thing to another.  Each pair of things is tried with every n.
 */
#include "check.h"
#include "base/save.h"

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define OTHER 1 /* another user */
#define USER  2

/* What another user can find or put under a name: own things, and links to ours. */
enum thing {
	NOTHING,
	OUR_PIPE,
	THEIR_FILE,
	THEIR_PIPE,
	THEIR_FOLDER,
	LINK_TO_FILE,
	LINK_TO_NOTHING,
	LINK_TO_PIPE,
	LINK_TO_FOLDER,
	HARD_LINK,
	THINGS
};

static char name[400];
static enum thing next;
static unsigned calls, change_at; /* 0: never */
static uid_t writer;              /* root or USER */
static int pipes[2] = { -1, -1 }; /* the readers of OUR_PIPE and THEIR_PIPE */

/* A folder is moved, because a file may be in it.  Makes no call that is counted. */
static void take_away(void)
{
	static unsigned folders;
	char away[500];

	snprintf(away, sizeof(away), "%s/away-%u", check_folder(), folders++);
	if (unlink(name) < 0)
		rename(name, away);
}

static void put(enum thing thing)
{
	static const char *const targets[THINGS] = { [LINK_TO_FILE] = "file",
						     [LINK_TO_NOTHING] = "nothing",
						     [LINK_TO_PIPE] = "pipe",
						     [LINK_TO_FOLDER] = "inside" };

	take_away();
	if (targets[thing] != NULL)
		CHECK_EQ(symlink(check_path(targets[thing]), name), 0);
	if (thing == THEIR_FILE)
		CHECK_EQ(mknod(name, S_IFREG | 0666, 0), 0);
	if (thing == OUR_PIPE || thing == THEIR_PIPE)
		CHECK_EQ(mknod(name, S_IFIFO | 0666, 0), 0);
	if (thing == THEIR_FOLDER)
		CHECK_EQ(mkdir(name, 0755), 0);
	if (thing == HARD_LINK)
		CHECK_EQ(link(check_path("file"), name), 0);
	else if (thing != NOTHING)
		CHECK_EQ(lchown(name, thing == OUR_PIPE ? writer : OTHER, OTHER), 0);
	if (thing == OUR_PIPE || thing == THEIR_PIPE)
		pipes[thing == THEIR_PIPE] = open(name, O_RDONLY | O_NONBLOCK);
}

static void count_call(void)
{
	if (++calls != change_at)
		return;
	CHECK_EQ(seteuid(0), 0);
	put(next);
	CHECK_EQ(seteuid(writer), 0);
}

int openat(int at, const char *path, int flags, ...)
{
	va_list args;

	va_start(args, flags);
	mode_t mode = va_arg(args, mode_t);
	va_end(args);
	count_call();
	return (int)syscall(SYS_openat, at, path, flags, mode);
}

int fstatat(int at, const char *path, struct stat *ret, int flags)
{
	count_call();
	return (int)syscall(SYS_newfstatat, at, path, ret, flags);
}

ssize_t readlinkat(int at, const char *path, char *ret, size_t room)
{
	count_call();
	return syscall(SYS_readlinkat, at, path, ret, room);
}

int renameat(int from, const char *path, int to, const char *new_path)
{
	count_call();
	return (int)syscall(SYS_renameat2, from, path, to, new_path, 0L);
}

static bool is_precious(const char *path)
{
	char text[16];

	return strcmp(check_read(path, text, sizeof(text)), "precious") == 0;
}

static bool is_empty(int pipe)
{
	char byte;

	return pipe < 0 || read(pipe, &byte, 1) <= 0;
}

static void save(const char *path)
{
	struct hp_save save = { .file.fd = -1 };

	if (hp_save_open(&save, path, 0644, 0) == 0)
		hp_save_close(&save, write(save.file.fd, "profile", 7) == 7 ? 0 : -1);
}

static void append(const char *path)
{
	int fd = hp_save_append(path);

	if (fd < 0)
		return;
	CHECK_EQ(write(fd, "log", 3), 3);
	close(fd);
}

/* Writes to `path`, where the name becomes `to` before call `at`. */
static void try(void (*write_to)(const char *), const char *path, enum thing from, enum thing to,
		unsigned at)
{
	int reader = open(check_path("pipe"), O_RDONLY | O_NONBLOCK);
	int failures = check_failures;

	change_at = 0;
	put(from);
	next = to;
	calls = 0;
	change_at = at;
	CHECK_EQ(seteuid(writer), 0);
	write_to(path);
	CHECK_EQ(seteuid(0), 0);
	change_at = 0;
	CHECK(is_precious(check_path("file")));
	CHECK(is_precious(check_path("inside/run.json")));
	CHECK(access(check_path("nothing"), F_OK) < 0);
	CHECK(is_empty(reader));
	CHECK(is_empty(pipes[1]));
	close(reader);
	close(pipes[0]);
	close(pipes[1]);
	pipes[0] = pipes[1] = -1;
	if (check_failures > failures)
		printf("# from %d to %d before call %u\n", from, to, at);
	take_away();
}

/* The next change may let a write go on that this one ended, so there is one try more than calls.
 */
static void try_all(void (*write_to)(const char *), const char *path)
{
	unsigned made = 0;

	for (int from = NOTHING; from < THINGS; from++) {
		try(write_to, path, (enum thing)from, NOTHING, 0);
		unsigned unchanged = calls;

		for (int to = NOTHING; to < THINGS; to++) {
			calls = from != to ? unchanged : 0;
			for (unsigned at = 1; at <= calls + 1; at++) {
				try(write_to, path, (enum thing)from, (enum thing)to, at);
				made += calls;
			}
		}
	}
	CHECK(made > 1000);
}

/* A folder like /tmp; `owner` is a user who can put things there.  The rest is the writer's. */
static void begin(mode_t mode, uid_t owner, uid_t user)
{
	if (geteuid() != 0)
		CHECK_SKIP("only root can make another user's files");
	/* In memory, if this process may mount: thousands of files are made. */
	if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		mount("none", check_folder(), "tmpfs", 0, NULL);
	CHECK_EQ(chmod(check_folder(), 0755), 0);
	CHECK_EQ(mkdir(check_path("shared"), 0755), 0);
	CHECK_EQ(chmod(check_path("shared"), mode), 0);
	CHECK_EQ(chown(check_path("shared"), owner, owner), 0);
	CHECK_EQ(mkdir(check_path("inside"), 0755), 0);
	CHECK_EQ(mkfifo(check_path("pipe"), 0600), 0);
	check_write(check_path("file"), "precious");
	check_write(check_path("inside/run.json"), "precious");
	static const char *const ours[] = { "inside", "pipe", "file", "inside/run.json" };
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		CHECK_EQ(chown(check_path(ours[i]), user, user), 0);
	writer = user;
	if (seteuid(user) < 0 || faccessat(AT_FDCWD, check_path("inside"), X_OK, AT_EACCESS) < 0)
		CHECK_SKIP("the folder of the test is closed to other users");
	CHECK_EQ(seteuid(0), 0);
}

static void try_name(mode_t mode, uid_t owner, uid_t user)
{
	begin(mode, owner, user);
	snprintf(name, sizeof(name), "%s", check_path("shared/run.json"));
	try_all(save, name);
	try_all(append, name);
}

/* The name is a part of the path. */
static void try_folder(mode_t mode, uid_t owner, uid_t user)
{
	char path[500];

	begin(mode, owner, user);
	snprintf(name, sizeof(name), "%s", check_path("shared/runs"));
	snprintf(path, sizeof(path), "%s/run.json", name);
	try_all(save, path);
	try_all(append, path);
}

CASE(name_in_a_sticky_folder_by_root, try_name(01777, 0, 0))
CASE(name_in_a_sticky_folder_by_a_user, try_name(01777, 0, USER))
CASE(name_in_a_folder_of_all_by_root, try_name(0777, 0, 0))
CASE(name_in_their_folder_by_root, try_name(0755, OTHER, 0))
CASE(folder_in_a_sticky_folder_by_root, try_folder(01777, 0, 0))
CASE(folder_in_a_sticky_folder_by_a_user, try_folder(01777, 0, USER))
CASE(folder_in_their_folder_by_root, try_folder(0755, OTHER, 0))

CHECK_MAIN()
