/*
 * test_workers.c - copy workers: their number; every piece is moved once, by any thread; the thread
 * that copies never hangs.
 */
#include "stage/workers.h"
#include "base/parse.h"

#include "check.h"
#include "clock.h"
#include "real_time.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/resource.h>

TEST(half_the_cores)
{
	static const struct {
		uint64_t cpus;
		unsigned workers;
	} table[] = {
		{ 0, 0 },  { 1, 0 },  { 2, 1 },  { 3, 1 },    { 4, 2 },
		{ 15, 7 }, { 16, 8 }, { 17, 8 }, { 1024, 8 }, { UINT64_MAX, 8 },
	};

	for (size_t i = 0; i < HP_LEN(table); i++)
		if (!CHECK_EQ(workers_for(table[i].cpus), table[i].workers))
			printf("# row %zu\n", i);
}

#define PIECES 600
#define PIECE  512

/* The copy of one owner. */
struct copy {
	char *from, *to;
	size_t pieces, window;
	unsigned workers;
	pthread_t owner;
	_Atomic unsigned *moved; /* how often each piece was moved */
};

static bool move(const void *arg, size_t index, bool owner)
{
	const struct copy *copy = arg;

	CHECK_EQ(owner, pthread_equal(pthread_self(), copy->owner) != 0);
	atomic_fetch_add(&copy->moved[index], 1);
	memcpy(copy->to + index * PIECE, copy->from + index * PIECE, PIECE);
	return true;
}

/* Takes long between taking and moving a piece. */
static bool move_slowly(const void *arg, size_t index, bool owner)
{
	sched_yield();
	return move(arg, index, owner);
}

/* As a stage does: allows some pieces, and more once the oldest are done. */
static void run(struct copy *copy, bool help)
{
	struct workers_job own, *job = workers_open(&own, copy->workers, move, copy);
	size_t limit = copy->window < copy->pieces ? copy->window : copy->pieces;

	workers_allow(job, limit);
	for (size_t done = 0, turn = 0; done < copy->pieces;) {
		if (workers_look(job, done) == WORKERS_MOVED) {
			done++;
			if (limit < copy->pieces)
				workers_allow(job, ++limit);
		} else if (!(help || workers_next(job) <= done) || !workers_help(job)) {
			workers_pause((unsigned)turn++);
		}
	}
	workers_close(job);
}

static void make(struct copy *copy, unsigned seed)
{
	size_t bytes = copy->pieces * PIECE;

	copy->owner = pthread_self();
	copy->from = malloc(bytes);
	copy->to = calloc(1, bytes);
	copy->moved = calloc(copy->pieces, sizeof(*copy->moved));
	for (size_t i = 0; i < bytes; i++)
		copy->from[i] = (char)(rand_r(&seed) >> 8);
}

static void check_and_free(struct copy *copy)
{
	CHECK(memcmp(copy->from, copy->to, copy->pieces * PIECE) == 0);
	for (size_t i = 0; i < copy->pieces; i++)
		if (copy->moved[i] != 1 && !CHECK_EQ(copy->moved[i], 1))
			break;
	free(copy->from);
	free(copy->to);
	free(copy->moved);
}

static void *own_many(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < 8; i++) {
		struct copy copy = { .pieces = 1 + rand_r(&seed) % PIECES,
				     .window = 1 + rand_r(&seed) % WORKERS_WINDOW,
				     .workers = rand_r(&seed) % 10 };

		make(&copy, seed);
		run(&copy, rand_r(&seed) & 1);
		check_and_free(&copy);
	}
	return NULL;
}

/* More owners than places for jobs: the others copy alone. */
static void many_owners(unsigned count)
{
	CHECK_EQ(workers_start(count), count);
	CHECK_EQ(workers_start(count + 1), count);
	check_in_threads(10, own_many);
}

CASE(many_owners_no_workers, many_owners(0))
CASE(many_owners_one, many_owners(1))
CASE(many_owners_eight, many_owners(8))

/* Waits not at all, briefly, or until all workers wait in the kernel, in turn. */
static void let_them_sleep(int how)
{
	for (int i = 0; i < how * 100; i++)
		sched_yield();
	test_clock_pass(TEST_MS);
	if (how == 3)
		WAIT_FOR(test_clock_waiting() >= 3);
}

/* Workers take pieces that the owner does not, also after they have slept. */
TEST(sleepers_are_woken)
{
	workers_start(3);
	for (int i = 0; i < 20; i++) {
		struct copy copy = { .pieces = 64, .window = 8, .workers = 3 };
		struct workers_job own, *job;

		make(&copy, (unsigned)i);
		let_them_sleep(i % 4);
		job = workers_open(&own, copy.workers, move, &copy);
		CHECK(job != &own);
		for (size_t limit = 1; limit <= copy.pieces; limit++) {
			workers_allow(job, limit);
			for (unsigned turn = 0; workers_look(job, limit - 1) == WORKERS_WAITING;
			     turn++)
				workers_pause(turn);
		}
		CHECK(!workers_help(job));
		workers_close(job);
		check_and_free(&copy);
	}
}

/* An owner stops early: taken pieces have been moved when it continues, and no other ones. */
TEST(closed_early)
{
	workers_start(4);
	for (int i = 0; i < 60; i++) {
		struct copy copy = { .pieces = 200, .workers = 4 };
		struct workers_job own, *job;
		unsigned sum = 0;

		make(&copy, (unsigned)i);
		job = workers_open(&own, copy.workers, move_slowly, &copy);
		workers_allow(job, 100);
		for (int turn = 0; turn < i % 4 * 20; turn++)
			sched_yield();
		workers_close(job);
		CHECK(!workers_help(job));
		for (size_t j = 0; j < copy.pieces; j++) {
			sum += copy.moved[j];
			CHECK(copy.moved[j] == 0 ||
			      memcmp(copy.to + j * PIECE, copy.from + j * PIECE, PIECE) == 0);
		}
		CHECK(sum <= 100);
		sched_yield();
		for (size_t j = 0; j < copy.pieces; j++)
			sum -= copy.moved[j];
		CHECK_EQ(sum, 0);
		free(copy.from);
		free(copy.to);
		free(copy.moved);
	}
}

static bool move_but_some(const void *arg, size_t index, bool owner)
{
	return index % 7 != 3 && move(arg, index, owner);
}

/* Pieces that cannot be moved are reported one by one, and delay no others. */
TEST(refused)
{
	struct copy copy = { .pieces = PIECES, .window = 64, .workers = 3 };
	struct workers_job own, *job;

	workers_start(3);
	make(&copy, 1);
	job = workers_open(&own, copy.workers, move_but_some, &copy);
	for (size_t done = 0; done < PIECES;) {
		enum workers_state state = workers_look(job, done);

		workers_allow(job, done + copy.window < PIECES ? done + copy.window : PIECES);
		if (state == WORKERS_WAITING) {
			if (!workers_help(job))
				workers_pause(1);
			continue;
		}
		CHECK_EQ(state, done % 7 == 3 ? WORKERS_REFUSED : WORKERS_MOVED);
		CHECK_EQ(copy.moved[done], done % 7 != 3);
		done++;
	}
	workers_close(job);
}

static sem_t taken, closing;

/* In a worker: waits until the owner waits, and then a while longer. */
static bool move_late(const void *arg, size_t index, bool owner)
{
	(void)arg;
	(void)index;
	CHECK(!owner);
	sem_post(&taken);
	sem_wait(&closing);
	real_time_burn();
	return true;
}

/* The owner has real-time priority, and the workers have no other CPU. */
TEST(a_real_time_owner)
{
	sem_init(&taken, 0, 0);
	sem_init(&closing, 0, 0);
	real_time_prepare();
	CHECK_EQ(workers_start(1), 1);
	real_time_enter();
	for (int i = 0; i < 20; i++) {
		struct workers_job own, *job = workers_open(&own, 1, move_late, NULL);

		workers_allow(job, 1);
		sem_wait(&taken);
		sem_post(&closing);
		workers_close(job);
		CHECK_EQ(workers_look(job, 0), WORKERS_MOVED);
	}
}

TEST(idle_costs_nothing)
{
	struct copy copy = { .pieces = PIECES, .window = 64, .workers = 8 };

	workers_start(8);
	make(&copy, 1);
	run(&copy, true);
	check_and_free(&copy);
	/* On a busy machine, workers notice late that nothing is left to do, and then sleep. */
	test_clock_pass(TEST_MS);
	WAIT_FOR(test_clock_waiting() == 8);
}

TEST(no_threads_to_be_had)
{
	struct copy copy = { .pieces = PIECES, .window = 64, .workers = 8 };
	const struct rlimit one = { 1, 1 };

	CHECK_EQ(setrlimit(RLIMIT_NPROC, &one), 0);
	/* Root has no such limit. */
	if (geteuid() == 0)
		CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	CHECK_EQ(workers_start(8), 0);
	make(&copy, 1);
	run(&copy, false);
	check_and_free(&copy);
}

TEST(none_in_a_child)
{
	struct copy copy = { .pieces = PIECES, .window = 64, .workers = 4 };

	workers_start(4);
	make(&copy, 1);
	run(&copy, true);
	check_and_free(&copy);
	if (CHECK_CHILD(0)) {
		workers_after_fork_child();
		make(&copy, 2);
		run(&copy, false);
		_exit(workers_count() != 0 || workers_start(4) != 0 ||
		      memcmp(copy.from, copy.to, PIECES * PIECE) != 0);
	}
}

CHECK_MAIN()
