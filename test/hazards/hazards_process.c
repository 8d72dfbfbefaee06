/*
 * hazards_process.c - rows 5, 6 and 17: memory is protected, shared with children, and moved
 * between NUMA nodes.
 */
#include "hazards.h"

#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define WRITABLE (PROT_READ | PROT_WRITE)

extern char **environ;

/* Sources may be read-only; their contents stay. */
static void protected(int protection, int key)
{
	begin();
	char *block = hot(BYTES), *at = inner(block);

	CHECK_EQ(key < 0 ? mprotect(at, INSIDE, protection)
			 : pkey_mprotect(at, INSIDE, protection, key),
		 0);
	CHECK(!is_pinned(at));
	OK(cu.cuMemsetD8_v2(there, 0, BYTES));
	if (protection == PROT_READ) {
		OK(cu.cuMemcpyHtoD_v2(there, block, BYTES));
		CHECK(device_holds(there, BYTES, 1));
		for (int i = 0; i < 10; i++)
			OK(cu.cuMemcpyHtoDAsync_v2(there, block, BYTES, stream));
		CHECK(device_holds(there, BYTES, 1));
	}
	CHECK_EQ(mprotect(at, INSIDE, WRITABLE), 0);
	CHECK(holds(block, BYTES, 1));
	changed(block);
}

CASE(row05_read_only, protected(PROT_READ, -1))
CASE(row05_inaccessible, protected(PROT_NONE, -1))

TEST(row05_by_key)
{
	int key = pkey_alloc(0, 0);

	if (key < 0)
		SKIP("no protection keys");
	protected(PROT_READ, key);
	pkey_free(key);
}

/*
 * A copy into read-only memory kills the program, as any write there; the device must not write
 * instead.
 */
ALONE(row05_a_copy_into_read_only_memory)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		begin();
		char *block = hot(BYTES);

		CHECK_EQ(mprotect(inner(block), INSIDE, PROT_READ), 0);
		if (check_failures != 0)
			_exit(9);
		signal(SIGSEGV, SIG_DFL);
		cu.cuMemcpyDtoH_v2(block, there, BYTES);
		_exit(5);
	}
	SEE("end", check_status(child));
}

/* Data that the child sees, and its changes to its own memory. */
struct family {
	char *block, *freed;
};

static int live_as_child(void *arg)
{
	struct family *my = arg;
	bool right = holds(my->block, BYTES, 5);

	memset(my->block, 9, BYTES);
	free(my->freed);
	/* In a child there is no driver to query. */
	right = right && madvise(inner(my->block) + MIB, PAGE, MADV_DONTNEED) == 0;
	my->freed = malloc(BYTES);
	memset(my->freed, 9, BYTES);
	my->block = realloc(my->block, 2 * BYTES);
	right = right && my->block[BYTES - 1] == 9;
	free(my->block);
	int (*orphans)(void) = (int (*)(void))stand_in("standin_orphan_calls");
	right = right && (orphans == NULL || orphans() == 0);
	_exit(right ? 3 : 4);
}

/* The parent writes while the child also has the pages; the device sees the parent's data. */
static void live_as_parent(struct family *my, pid_t child)
{
	CHECK(child > 0);
	fill(my->block, BYTES, 6);
	OK(cu.cuMemcpyHtoD_v2(there, my->block, BYTES));
	CHECK(device_holds(there, BYTES, 6));
	agrees(my->block, BYTES);
	CHECK_EQ(check_status(child), 3);
	agrees(my->block, BYTES);
	agrees(my->freed, BYTES);
	free(my->block);
	free(my->freed);
}

static struct family make_family(void)
{
	struct family made = { hot(BYTES), hot(BYTES) };

	fill(made.block, BYTES, 5);
	return made;
}

TEST_AFTER(row06_fork, begin())
{
	struct family family = make_family();
	pid_t child = fork();

	if (child == 0)
		live_as_child(&family);
	live_as_parent(&family, child);
}

/* For a child, the kernel copies pinned pages one by one and immediately. */
TEST_AFTER(row06_fork_unpins, begin())
{
	char *blocks[4];
	int pinned = 4;

	for (int i = 0; i < 4; i++)
		blocks[i] = hot(16 * MIB);
	/* The fork waits only briefly, and this machine may be busy. */
	for (int tries = 0; tries < 5 && pinned != 0; tries++) {
		pid_t child = fork();
		if (child == 0)
			_exit(3);
		pinned = 0;
		for (int i = 0; i < 4; i++)
			pinned += is_pinned(blocks[i]);
		CHECK_EQ(check_status(child), 3);
	}
	CHECK_EQ(pinned, 0);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(heat(blocks[i], 16 * MIB), preloaded());
		agrees(blocks[i], BYTES);
		free(blocks[i]);
	}
}

TEST_AFTER(row06_clone, begin())
{
	struct family family = make_family();
	static char stack[256 * 1024] __attribute__((aligned(64)));

	live_as_parent(&family, clone(live_as_child, stack + sizeof(stack), SIGCHLD, &family));
}

/*
 * The library does not notice this one.  Only async-signal-safe calls, as after any fork of a
 * threaded program.
 */
TEST_AFTER(row06_clone_by_system_call, begin())
{
	struct family family = make_family();
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (child == 0) {
		bool right = holds(family.block, BYTES, 5);

		memset(family.block, 9, BYTES);
		syscall(SYS_exit_group, right ? 3 : 4);
	}
	live_as_parent(&family, child);
}

static char *const say_three[] = { (char *)"sh", (char *)"-c", (char *)"exit 3", NULL };

TEST_AFTER(row06_vfork_and_exec, begin())
{
	struct family family = make_family();
	pid_t child = vfork();

	if (child == 0) {
		execv("/bin/sh", say_three);
		_exit(9);
	}
	live_as_parent(&family, child);
}

/* A child of vfork() has its parent's memory, but cannot use its driver. */
TEST_AFTER(row06_vfork_and_dontneed, begin())
{
	char *block = hot(BYTES), *at = inner(block);
	pid_t child = vfork();

	if (child == 0) {
		madvise(at, INSIDE, MADV_DONTNEED);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK(at[0] == 0 && at[INSIDE - 1] == 0);
	agrees(block, BYTES);
	changed(block);
}

TEST_AFTER(row06_posix_spawn, begin())
{
	struct family family = make_family();
	pid_t child = -1;

	CHECK_EQ((posix_spawn)(&child, "/bin/sh", NULL, NULL, say_three, environ), 0);
	live_as_parent(&family, child);
}

/* Returns a NUMA node other than the first, or -1. */
static int other_node(void)
{
	return access("/sys/devices/system/node/node1/meminfo", R_OK) == 0 ? 1 : -1;
}

/* Memory is placed where its policy says. */
TEST(row17_mbind)
{
	long (*bind)(void *, unsigned long, int, const unsigned long *, unsigned long, unsigned) =
		(long (*)(void *, unsigned long, int, const unsigned long *, unsigned long,
			  unsigned))dlsym(RTLD_DEFAULT, "mbind");
	int node = other_node();
	unsigned long nodes = 1ul << (node > 0 ? node : 0);

	begin();
	char *block = hot(BYTES), *at = inner(block);

	errno = 0;
	/* MPOL_BIND, MPOL_MF_STRICT | MPOL_MF_MOVE */
	if (bind != NULL)
		SEE("mbind", bind(at, INSIDE, 2, &nodes, 64, 3));
	else
		SEE("mbind", syscall(SYS_mbind, at, INSIDE, 2, &nodes, 64, 3));
	SEE("errno", errno);
	CHECK(!is_pinned(at));
	agrees(block, BYTES);
	free(block);
	if (node < 0)
		SKIP("one node only: nothing could move");
}

TEST(row17_move_pages)
{
	long (*move)(int, unsigned long, void **, const int *, int *, int) =
		(long (*)(int, unsigned long, void **, const int *, int *, int))dlsym(RTLD_DEFAULT,
										      "move_pages");
	int node = other_node(), to = node > 0 ? node : 0, status = -1;

	begin();
	char *block = hot(BYTES);
	void *page = inner(block) + MIB;

	/* MPOL_MF_MOVE */
	if (move != NULL)
		SEE("move_pages", move(0, 1, &page, &to, &status, 2));
	else
		SEE("move_pages", syscall(SYS_move_pages, 0, 1, &page, &to, &status, 2));
	SEE("status", status);
	CHECK(!is_pinned(page));
	agrees(block, BYTES);
	free(block);
	if (node < 0)
		SKIP("one node only: nothing could move");
}
