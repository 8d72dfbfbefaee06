/*
 * workers.c - a few jobs in a table, and threads that take a piece of each in turn.
 *
 * A thread takes a piece by compare-and-exchange of a word that also holds the job's number, and
 * reads no other field of the job before.  So no thread takes a piece of an ended job, and an owner
 * waits only for pieces that a thread is moving.
 */
#define _GNU_SOURCE
#include "stage/workers.h"
#include "base/bounds.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/thread.h"
#include "heap/limits.h"

#include <errno.h>
#include <sched.h>

#define AUTO_MOST        8u
#define REAL_TIME_NAP_NS 20000u
#define SPIN_NS          20000u
#define SPINS_MOST       4096u /* more than fit into SPIN_NS; in case the clock does not advance */
#define STACK_BYTES      ((size_t)256 << 10)
#define TAKEN            UINT32_MAX /* in place of the next piece: none is left */

static struct open_job {
	_Atomic bool taken;
	struct workers_job job;
} open_jobs[8];

static struct worker {
	_Atomic uint32_t bell; /* a futex */
	_Atomic bool asleep;
} workers[WORKERS_MOST];

static _Atomic bool started;
static _Atomic unsigned there;    /* the number of copy workers; any thread reads it */
static _Atomic unsigned numbered; /* how many of them have taken their number */

/*
 * The thread that moves the piece may need this core.  sched_yield() lets only threads of the same
 * priority run, so a real-time thread must sleep.
 */
static void give_way(void)
{
	int policy = sched_getscheduler(0);

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		hp_sleep_ns(REAL_TIME_NAP_NS);
	else
		sched_yield();
}

void workers_pause(unsigned turn)
{
	if (turn % 64 == 63)
		give_way();
	else
		__asm__ volatile("pause" ::: "memory");
}

static bool take_one(struct workers_job *job, bool owner)
{
	uint64_t next = atomic_load(&job->next);

	for (;;) {
		/* This may be the limit of a later job, but then the exchange of `next` fails. */
		if ((uint32_t)next >= atomic_load(&job->limit))
			return false;
		if (atomic_compare_exchange_weak(&job->next, &next, next + 1))
			break;
	}

	uint32_t index = (uint32_t)next;
	bool moved = job->move(job->arg, index, owner);
	atomic_store_explicit(&job->done[index % WORKERS_WINDOW], 2 * (index + 1) + !moved,
			      memory_order_release);
	/* The last access to the job: its owner may end it now. */
	atomic_fetch_add(&job->finished, 1);
	return true;
}

bool workers_help(struct workers_job *job)
{
	return take_one(job, true);
}

/* True if this worker serves the job.  Jobs with few workers are spread over all workers. */
static bool serves(unsigned self, unsigned number, unsigned most)
{
	unsigned all = atomic_load_explicit(&there, memory_order_relaxed);

	return most >= all || (self + all - number * most % all) % all < most;
}

static bool take_any(unsigned self, unsigned *turn)
{
	for (unsigned i = 0; i < HP_LEN(open_jobs); i++) {
		unsigned number = (*turn + i) % HP_LEN(open_jobs);
		struct open_job *open = &open_jobs[number];

		if (!atomic_load_explicit(&open->taken, memory_order_acquire))
			continue;
		/* The job may end now; then take_one() takes nothing. */
		unsigned most = atomic_load_explicit(&open->job.workers, memory_order_relaxed);
		if (serves(self, number, most) && take_one(&open->job, false)) {
			*turn = number + 1;
			return true;
		}
	}
	return false;
}

static void *work(void *arg)
{
	unsigned self = atomic_fetch_add(&numbered, 1), turn = self;
	struct worker *me = &workers[self];
	uint64_t idle_since_ns = 0;

	(void)arg;
	for (unsigned spins = 0;; spins++) {
		uint32_t seen = atomic_load(&me->bell);

		if (take_any(self, &turn)) {
			idle_since_ns = 0;
			continue;
		}
		if (idle_since_ns == 0) {
			idle_since_ns = hp_now_ns();
			spins = 0;
		}
		if (spins < SPINS_MOST && hp_now_ns() - idle_since_ns < SPIN_NS) {
			workers_pause(spins);
			continue;
		}
		atomic_store(&me->asleep, true);
		/*
		 * `asleep` is set, so a thread that allows more pieces from now on wakes this one.
		 */
		if (!take_any(self, &turn))
			hp_wait_until(&me->bell, seen, UINT64_MAX);
		atomic_store(&me->asleep, false);
		idle_since_ns = 0;
	}
	return NULL;
}

static void wake(struct worker *worker)
{
	if (!atomic_load(&worker->asleep) || !atomic_exchange(&worker->asleep, false))
		return;
	hp_ring(&worker->bell);
}

unsigned workers_for(uint64_t cpus)
{
	return (unsigned)hp_least(cpus / 2, AUTO_MOST);
}

unsigned workers_default(void)
{
	int saved = errno;
	cpu_set_t mask;
	uint64_t cpus = 2 * AUTO_MOST; /* more than 1024 do not fit into the mask */

	if (sched_getaffinity(0, sizeof(mask), &mask) == 0)
		cpus = (uint64_t)CPU_COUNT(&mask);
	errno = saved;
	/* A fraction of a CPU does not count: the program itself needs it. */
	return workers_for(hp_least(cpus, limits_cpus("")));
}

unsigned workers_start(unsigned count)
{
	if (atomic_exchange(&started, true))
		return workers_count();
	if (count > WORKERS_MOST)
		count = WORKERS_MOST;
	for (unsigned i = 0; i < count; i++) {
		int error = hp_thread_start(work, STACK_BYTES);

		if (error != 0) {
			hp_debug("%u of %u copy threads: error %d", i, count, -error);
			break;
		}
		atomic_store(&there, i + 1);
	}
	return workers_count();
}

unsigned workers_count(void)
{
	return atomic_load_explicit(&there, memory_order_relaxed);
}

/* Returns the shared entry of a job that is not alone. */
static struct open_job *open_job_of(struct workers_job *job)
{
	return (struct open_job *)((char *)job - offsetof(struct open_job, job));
}

static struct open_job *open_job_take(void)
{
	for (size_t i = 0; i < HP_LEN(open_jobs); i++)
		if (!atomic_load_explicit(&open_jobs[i].taken, memory_order_relaxed) &&
		    !atomic_exchange(&open_jobs[i].taken, true))
			return &open_jobs[i];
	return NULL;
}

struct workers_job *workers_open(struct workers_job *own, unsigned most, workers_move *move,
				 const void *arg)
{
	struct open_job *open = most > 0 && workers_count() > 0 ? open_job_take() : NULL;
	struct workers_job *job = open != NULL ? &open->job : own;
	uint64_t number = open != NULL ? (atomic_load(&job->next) >> 32) + 1 : 1;

	job->move = move;
	job->arg = arg;
	job->alone = open == NULL;
	atomic_store_explicit(&job->workers, most, memory_order_relaxed);
	atomic_store_explicit(&job->finished, 0, memory_order_relaxed);
	for (size_t i = 0; i < WORKERS_WINDOW; i++)
		atomic_store_explicit(&job->done[i], 0, memory_order_relaxed);
	atomic_store(&job->limit, 0);
	atomic_store(&job->next, number << 32);
	return job;
}

void workers_call(struct workers_job *job, size_t count)
{
	if (job->alone)
		return;

	unsigned all = workers_count();
	unsigned number = (unsigned)(open_job_of(job) - open_jobs);
	for (unsigned self = 0; self < all && count > 0; self++) {
		if (!serves(self, number, job->workers))
			continue;
		wake(&workers[self]);
		count--;
	}
}

void workers_allow(struct workers_job *job, size_t limit)
{
	atomic_store(&job->limit, (uint32_t)limit);

	/* Wakes as many workers as there are pieces left to take. */
	size_t next = workers_next(job);
	if (limit > next)
		workers_call(job, limit - next);
}

size_t workers_next(const struct workers_job *job)
{
	return (uint32_t)atomic_load(&job->next);
}

enum workers_state workers_look(const struct workers_job *job, size_t index)
{
	uint32_t done =
		atomic_load_explicit(&job->done[index % WORKERS_WINDOW], memory_order_acquire);

	if (done / 2 != (uint32_t)index + 1)
		return WORKERS_WAITING;
	return done % 2 == 0 ? WORKERS_MOVED : WORKERS_REFUSED;
}

void workers_close(struct workers_job *job)
{
	uint64_t next = atomic_load(&job->next);

	while (!atomic_compare_exchange_weak(&job->next, &next, next | TAKEN))
		;
	for (unsigned turn = 0; atomic_load(&job->finished) != (uint32_t)next; turn++)
		workers_pause(turn);
	if (!job->alone)
		atomic_store(&open_job_of(job)->taken, false);
}

void workers_after_fork_child(void)
{
	atomic_store(&there, 0);
	atomic_store(&numbered, 0);
	/* Prevents workers from being started later. */
	atomic_store(&started, true);
	for (size_t i = 0; i < HP_LEN(open_jobs); i++)
		atomic_store(&open_jobs[i].taken, true);
}
