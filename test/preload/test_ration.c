/*
 * test_ration.c - processes that limit their address space, or lock all of it, after they have used
 * memory of the library, or that limit their system calls.
 */
#undef _FILE_OFFSET_BITS /* both names of each function are needed */
#include "memory.h"
#include "preload.h"
#include "sizes.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define ORDINARY 65534

static void *nothing(void *arg)
{
	return arg;
}

/* Checks what a limit of 1 GiB leaves room for. */
static void check_room(void)
{
	pthread_t thread;
	char line[16] = "", *block = malloc(100 * MIB);

	if (CHECK(block != NULL))
		memset(block, 1, 100 * MIB);
	CHECK(mmap(NULL, 100 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	      MAP_FAILED);
	if (CHECK_EQ(pthread_create(&thread, NULL, nothing, NULL), 0))
		pthread_join(thread, NULL);
	FILE *child = popen("echo child", "r");
	if (CHECK(child != NULL)) {
		CHECK(fgets(line, sizeof(line), child) != NULL && strcmp(line, "child\n") == 0);
		pclose(child);
	}
	errno = 0;
	CHECK(malloc(2 * GIB) == NULL && errno == ENOMEM);
	for (int i = 0; i < 100; i++)
		CHECK(malloc(MIB) != NULL);
}

/* Earlier memory survives all of it. */
static void with_limit(int way, int resource)
{
	struct rlimit limit = { GIB, GIB }, old;
	struct rlimit64 limit64 = { GIB, GIB };
	char *kept = malloc(3 * MIB), *freed = malloc(8 * MIB), *last = malloc(2 * MIB);

	memset(kept, 3, 3 * MIB);
	memset(last, 4, 2 * MIB);
	free(freed);
	switch (way) {
	case 0:
		CHECK_EQ(setrlimit(resource, &limit), 0);
		break;
	case 1:
		CHECK_EQ(setrlimit64(resource, &limit64), 0);
		break;
	case 2:
		CHECK_EQ(prlimit(0, resource, &limit, &old), 0);
		CHECK(old.rlim_cur == RLIM_INFINITY);
		break;
	default:
		CHECK_EQ(prlimit64(getpid(), resource, &limit64, NULL), 0);
		break;
	}
	CHECK(getrlimit(resource, &old) == 0 && old.rlim_cur == GIB);
	check_room();
	CHECK(kept[0] == 3 && memcmp(kept, kept + 1, 3 * MIB - 1) == 0);
	CHECK(last[0] == 4 && memcmp(last, last + 1, 2 * MIB - 1) == 0);
	free(kept);
	last = realloc(last, 4 * MIB);
	CHECK(last != NULL && last[0] == 4 && last[2 * MIB - 1] == 4);
	free(last);
}

CASE(setrlimit_of_addresses, with_limit(0, RLIMIT_AS))
CASE(setrlimit64_of_addresses, with_limit(1, RLIMIT_AS))
CASE(prlimit_of_addresses, with_limit(2, RLIMIT_AS))
CASE(prlimit64_of_addresses, with_limit(3, RLIMIT_AS))
CASE(setrlimit_of_data, with_limit(0, RLIMIT_DATA))

/* Freed memory may be allocated again under the limit, in other sizes. */
TEST(freed_memory_does_not_count)
{
	struct rlimit limit = { GIB, GIB };
	char *blocks[8];

	for (int i = 0; i < 8; i++)
		memset(blocks[i] = malloc(64 * MIB), i, 64 * MIB);
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	for (int i = 0; i < 8; i++)
		free(blocks[i]);
	CHECK(malloc(800 * MIB) != NULL);
}

/* The child shares its parent's memory, but has its own limit. */
TEST(a_child_of_vfork_limits_itself)
{
	struct rlimit limit = { GIB, GIB };
	char *volatile block = malloc(MIB);

	memset(block, 7, MIB);
	pid_t child = vfork();
	if (child == 0) {
		int failed = setrlimit(RLIMIT_AS, &limit);

		if (failed == 0)
			execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	CHECK_EQ(check_status(child), 0);
	CHECK(block[MIB - 1] == 7);
	free(block);
	/* The heap stays in use: libc would never return a block of whole pages. */
	block = malloc(32 * MIB);
	CHECK_EQ((uintptr_t)block % 4096 == 16, !preloaded());
}

TEST(a_child_of_fork_limits_itself)
{
	free(malloc(MIB));
	if (CHECK_CHILD(0)) {
		with_limit(0, RLIMIT_AS);
		fflush(stdout);
		_exit(check_failures != 0);
	}
}

TEST(limits_that_fail_or_are_not_ours)
{
	struct rlimit limit = { GIB, GIB / 2 };

	free(malloc(MIB));
	errno = 0;
	CHECK(setrlimit(RLIMIT_AS, &limit) == -1 && errno == EINVAL);
	CHECK(setrlimit(4711, &limit) == -1 && errno == EINVAL);
	CHECK(prlimit(0, RLIMIT_AS, &limit, NULL) == -1 && errno == EINVAL);
	CHECK(setrlimit(RLIMIT_AS, (void *)8) == -1 && errno == EFAULT);
	CHECK_EQ(prlimit(0, RLIMIT_AS, NULL, &limit), 0);
	CHECK(limit.rlim_cur == RLIM_INFINITY);
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	CHECK(mlockall(0) == -1 && errno == EINVAL);
	char *block = malloc(32 * MIB);
	CHECK_EQ((uintptr_t)block % 4096 == 16, !preloaded());
}

/* Locks everything, and allocates afterwards. */
static void lock_all(int flags, bool before)
{
	if (before) {
		char *freed = malloc(8 * MIB), *used = malloc(MIB);

		memset(used, 2, MIB);
		free(freed);
	}
	int failed = mlockall(flags);
	CHECK(failed == 0);
	if (failed != 0)
		printf("# mlockall: %s\n", strerror(errno));
	char *block = malloc(MIB);
	if (CHECK(block != NULL))
		memset(block, 1, MIB);
	printf("# resident %zu KiB, locked %zu KiB\n", memory_status_kib("VmRSS:"),
	       memory_status_kib("VmLck:"));
	CHECK(memory_status_kib("VmRSS:") < 8 * 1024);
	CHECK(memory_status_kib("VmLck:") < 8 * 1024);
}

/* Addresses between two blocks are no memory. */
static void lock_blocks(void)
{
	const size_t bytes = 2200 * KIB, count = 16;

	for (size_t i = 0; i < count; i++) {
		char *block = malloc(bytes);

		if (CHECK(block != NULL))
			memset(block, 1, bytes);
	}
	CHECK_EQ(mlockall(MCL_CURRENT), 0);
	printf("# locked %zu KiB\n", memory_status_kib("VmLck:"));
	CHECK(memory_status_kib("VmLck:") < count * bytes / KIB + 8 * 1024);
}

static void become_ordinary(void)
{
	struct rlimit limit = { 8 * MIB, 8 * MIB };

	if (geteuid() != 0)
		CHECK_SKIP("needs to be root first");
	/* In a container, root may be unable to raise the limit. */
	if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		CHECK_SKIP("needs a limit of 8 MiB of locked memory");
	CHECK_EQ(setresgid(ORDINARY, ORDINARY, ORDINARY), 0);
	CHECK_EQ(setresuid(ORDINARY, ORDINARY, ORDINARY), 0);
}

static void skip_unless_root(void)
{
	if (geteuid() != 0)
		CHECK_SKIP("needs to be root");
}

CASE(root_locks_what_there_is, skip_unless_root(); lock_all(MCL_CURRENT, true))
CASE(root_locks_blocks_only, skip_unless_root(); lock_blocks())
CASE(root_locks_what_will_be, skip_unless_root(); lock_all(MCL_FUTURE, false))
CASE(root_locks_both, skip_unless_root(); lock_all(MCL_CURRENT | MCL_FUTURE, true))
CASE(anybody_locks_what_there_is, become_ordinary(); lock_all(MCL_CURRENT, true))
CASE(anybody_locks_both, become_ordinary(); lock_all(MCL_CURRENT | MCL_FUTURE, true))
CASE(anybody_locks_before_anything, become_ordinary(); lock_all(MCL_CURRENT | MCL_FUTURE, false))

/* From now on any system call but the end of the process ends it by a signal. */
static void permit_the_end_alone(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { .len = 4, .filter = filter };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		_exit(8);
}

TEST(a_sandbox_that_permits_the_end_alone)
{
	if (CHECK_CHILD(7)) {
		permit_the_end_alone();
		_exit(7);
	}
}

PRELOAD_MAIN()
