/*
 * test_heap_fork.c - forks in the middle of a call of the heap: by another thread, or by a signal
 * handler that interrupts the call.  A call stops at a page without access, or at a system call.
 */
#include "heap/heap.h"
#include "base/lock.h"
#include "heap/map.h"
#include "heap/pages.h"

#include "heap_helpers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* Blocks whose contents are copied when they move, and blocks whose pages move. */
#define COPIED (512 * KIB)
#define MOVED  (2 * MIB)

static pid_t child = -1;  /* 0 in the child */
static char *closed_page; /* handle() opens it */
static void (*stop)(void);
static _Atomic bool stopped, goes_on;

bool __real_pages_move(struct block *from, struct block *to, size_t bytes);
bool __wrap_pages_move(struct block *from, struct block *to, size_t bytes);

/* As shim/load/fork.c does. */
static void after_fork_child(void)
{
	hp_locks_after_fork_child();
	if (!hp_locks_are_held())
		heap_after_fork_child();
}

static void fork_here(void)
{
	child = fork();
	if (child == 0)
		check_failures = 0;
}

static void wait_for_the_fork(void)
{
	atomic_store(&stopped, true);
	while (!atomic_load(&goes_on))
		sched_yield();
}

/* Calls `stop` at the first stop from now on. */
static void stop_once(void)
{
	void (*call)(void) = stop;

	stop = NULL;
	if (call != NULL)
		call();
}

bool __wrap_pages_move(struct block *from, struct block *to, size_t bytes)
{
	bool moved = __real_pages_move(from, to, bytes);

	CHECK(moved);
	stop_once();
	return moved;
}

static int advise_and_stop(void *from, size_t bytes, int advice)
{
	int result = madvise(from, bytes, advice);

	stop_once();
	return result;
}

static void handle(int signal)
{
	(void)signal;
	mprotect(closed_page, 4096, PROT_READ | PROT_WRITE);
	stop_once();
}

static void begin(void)
{
	pthread_atfork(hp_locks_before_fork, hp_locks_after_fork_parent, after_fork_child);
	pages_go_by(advise_and_stop, NULL);
	heap_set_device(true);
	signal(SIGSEGV, handle);
}

static char *filled(size_t bytes)
{
	char *block = heap_alloc(bytes, WHOLE(bytes), false, 0);

	return block != NULL ? memset(block, 7, bytes) : NULL;
}

/* The copying of the block will stop at its middle. */
static char *filled_until_a_stop(void)
{
	char *block = filled(COPIED);

	closed_page = block + COPIED / 2;
	mprotect(closed_page, 4096, PROT_NONE);
	return block;
}

/* No block is handed out twice, and all begin cleared. */
static void allocate_cleared(size_t bytes)
{
	char *blocks[6];

	for (int i = 0; i < 6; i++) {
		blocks[i] = heap_alloc(bytes, WHOLE(bytes), true, 0);
		CHECK(blocks[i] != NULL && all_are(blocks[i], bytes, 0));
		for (int k = 0; k < i; k++)
			CHECK(blocks[i] != blocks[k]);
	}
	for (int i = 0; i < 6; i++)
		CHECK_EQ(heap_free(blocks[i]), 0);
	CHECK_EQ(heap_check(), 0);
}

static void end_child(void)
{
	if (child == 0)
		_exit(check_failures != 0);
	CHECK_EQ(check_status(child), 0);
}

static void *move(void *block)
{
	size_t bytes = closed_page != NULL ? COPIED : MOVED;
	char *moved = heap_move(block, 2 * bytes);

	CHECK(moved != NULL && all_are(moved, bytes, 7));
	return NULL;
}

static void fork_during_move(char *block, size_t bytes)
{
	stop = wait_for_the_fork;
	pthread_t thread = check_thread(move, block);
	WAIT_FOR(atomic_load(&stopped));
	fork_here();
	if (child == 0)
		allocate_cleared(8 * bytes);
	atomic_store(&goes_on, true);
	end_child();
	pthread_join(thread, NULL);
}

TEST_AFTER(a_thread_forks_during_a_copy, begin())
{
	fork_during_move(filled_until_a_stop(), COPIED);
}

TEST_AFTER(a_thread_forks_while_pages_move, begin())
{
	fork_during_move(filled(MOVED), MOVED);
}

TEST_AFTER(a_handler_forks_inside_a_copy, begin())
{
	char *block = filled_until_a_stop();
	stop = fork_here;
	char *moved = heap_move(block, 2 * COPIED);
	allocate_cleared(8 * COPIED);
	CHECK(all_are(moved, COPIED, 7));
	end_child();
}

TEST_AFTER(a_handler_forks_inside_a_free, begin())
{
	/* Pages of a large block would go back by mmap(), which does not stop. */
	char *block = filled(MIB);
	heap_set_level(PRESSURE_SEVERE);
	stop = fork_here;
	CHECK_EQ(heap_free(block), 0);
	allocate_cleared(MIB);
	end_child();
}

TEST_AFTER(a_handler_forks_inside_a_calloc, begin())
{
	CHECK_EQ(heap_free(filled(32 * MIB)), 0);
	stop = fork_here;
	char *block = heap_alloc(32 * MIB, WHOLE(32 * MIB), true, 0);
	CHECK(all_are(block, 32 * MIB, 0));
	allocate_cleared(4 * MIB);
	end_child();
}

CHECK_MAIN()
