/*
 * test_children.c - processes created in every way, with the memory of their parent.
 */
#include "promote.h"

#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

/*
 * Changes, grows, shrinks and frees all blocks of the parent.  The status is 7 if they were right.
 */
#define HAD 24
static char *had[HAD];

static void have_blocks(void)
{
	for (unsigned i = 0; i < HAD; i++) {
		size_t n = (i % 6 + 1) * 300 * KIB;

		had[i] = malloc(n);
		fill(had[i], n, i);
	}
	for (unsigned i = 0; i < HAD; i += 5) {
		free(had[i]);
		had[i] = NULL;
	}
}

static int give_all_back(void)
{
	for (unsigned i = 0; i < HAD; i++) {
		size_t n = (i % 6 + 1) * 300 * KIB;

		if (had[i] == NULL)
			continue;
		if (!holds(had[i], n, i))
			return 1;
		if (i % 3 == 0)
			had[i] = realloc(had[i], n * 3);
		if (i % 3 == 1)
			had[i] = realloc(had[i], n / 3);
		if (!holds(had[i], n / 3, i))
			return 2;
		char *other = malloc(n);
		fill(other, n, i + 100);
		free(had[i]);
		if (!holds(other, n, i + 100))
			return 3;
		free(other);
		had[i] = NULL;
	}
	return 7;
}

static void check_parent(void)
{
	for (unsigned i = 0; i < HAD; i++)
		CHECK(had[i] == NULL || holds(had[i], (i % 6 + 1) * 300 * KIB, i));
}

static int run_child(void *arg)
{
	(void)arg;
	return give_all_back();
}

static char stack[256 * KIB] __attribute__((aligned(64)));

/* Like vfork(), by each name: blocks that the child frees are freed in the parent, too. */
TEST_AFTER(clone_with_the_same_memory, have_blocks())
{
	pid_t child =
		clone(run_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	CHECK_EQ(check_status(child), 7);
	for (int i = 0; i < HAD; i++)
		CHECK(had[i] == NULL);
	have_blocks();
	CHECK_EQ(give_all_back(), 7);
}

/* No handlers run, as with _Fork(). */
TEST_AFTER(a_raw_fork, have_blocks())
{
	for (int i = 0; i < 3; i++) {
		pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

		if (child == 0)
			_exit(give_all_back());
		CHECK_EQ(check_status(child), 7);
		check_parent();
	}
	CHECK_EQ(give_all_back(), 7);
}

/* Children of children, each with the blocks of its parent. */
TEST_AFTER(a_line_of_forks, have_blocks())
{
	int depth = 0;

	while (depth < 6) {
		pid_t child = fork();

		if (child != 0) {
			int status = check_status(child);

			if (depth == 0) {
				CHECK_EQ(status, 7);
				break;
			}
			_exit(give_all_back() == 7 ? status : 5);
		}
		depth++;
		free(had[depth]);
		had[depth] = NULL;
		free(malloc((size_t)depth * MIB));
	}
	if (depth == 6)
		_exit(give_all_back());
}

static volatile bool enough;
static void (*volatile also)(void);
static char *_Atomic shelf[64];

/* Passes blocks of all sizes between threads. */
static void *churn(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;

	while (!enough) {
		seed = seed * 1103515245 + 12345;
		char *block = malloc((seed >> 8) % (seed % 2 ? 3 * MIB : KIB) + 8);

		block[0] = (char)(seed >> 9);
		if (seed % 7 == 0)
			block = realloc(block, (seed >> 7) % (4 * MIB) + 8);
		free(atomic_exchange(&shelf[(seed >> 20) % 64], block));
		if (also != NULL)
			also();
	}
	return NULL;
}

/* The child has the blocks of eight threads at that moment: all of them can be freed. */
static void fork_among_threads(int forks)
{
	pthread_t threads[8];

	have_blocks();
	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
	for (int i = 0; i < forks; i++) {
		if (CHECK_CHILD(7)) {
			alarm(check_limit(30));
			for (int n = 0; n < 64; n++)
				free(atomic_exchange(&shelf[n], NULL));
			_exit(give_all_back());
		}
	}
	enough = true;
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (int n = 0; n < 64; n++)
		free(atomic_exchange(&shelf[n], NULL));
	CHECK_EQ(give_all_back(), 7);
}

CASE(fork_while_others_allocate, fork_among_threads(10))

/*
 * A library's fork handlers allocate and free, whether the library is loaded before or after ours.
 */
static void fork_with_handlers(void)
{
	const int *calls = dlsym(RTLD_DEFAULT, "atfork_calls");

	also = (void (*)(void))dlsym(RTLD_DEFAULT, "atfork_use");
	if (!CHECK(calls != NULL && also != NULL))
		return;
	fork_among_threads(6);
	CHECK_EQ(*calls, 12);
	begin();
	char *block = promoted(4 * MIB);
	if (CHECK_CHILD(7))
		_exit(holds(block, 4 * MIB, 1) && *calls == 14 ? 7 : 1);
	OK(cuMemcpyHtoD_v2(there, block, 4 * MIB));
	CHECK(device_holds(there, 4 * MIB, 1));
}

CASE_WITH(handlers_that_came_before_ours, ("LD_PRELOAD=@:libatfork.so"), fork_with_handlers())
CASE_WITH(handlers_that_came_before_all, ("LD_PRELOAD=@:libatfork_early.so"), fork_with_handlers())
CASE_WITH(handlers_that_came_after_ours, ("LD_PRELOAD=libatfork.so:@"), fork_with_handlers())

static atomic_int is_inside;

static int stay_inside(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)info, (void)size, (void)unused;
	atomic_store(&is_inside, 1);
	while (atomic_load(&is_inside) == 1)
		usleep(100);
	return 1;
}

static void *iterate(void *unused)
{
	dl_iterate_phdr(stay_inside, unused);
	return unused;
}

/* In such a child, dl_iterate_phdr() waits forever, but dlsym() does not. */
TEST(a_child_of_a_thread_next_to_one_in_the_loader)
{
	pthread_t thread;

	begin();
	CHECK_EQ(pthread_create(&thread, NULL, iterate, NULL), 0);
	while (atomic_load(&is_inside) == 0)
		usleep(100);
	if (CHECK_CHILD(7)) {
		alarm(30);
		_exit(dlsym(RTLD_DEFAULT, "strlen") != NULL ? 7 : 1);
	}
	atomic_store(&is_inside, 2);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

PRELOAD_MAIN()
