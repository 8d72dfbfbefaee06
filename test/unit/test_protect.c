/*
 * test_protect.c - the table of closed ranges, with a thread in the device's place.
 */
#include "base/bare.h"
#include "base/clock.h"
#include "defer/protect.h"

#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define PAGE ((size_t)4096)
#define ROOM (PROTECT_RANGES + 4)

static _Atomic uint32_t tickets[PROTECT_RANGES];
static char *memory; /* ROOM pages */

static void on_fault(int number, siginfo_t *info, void *context)
{
	hp_mask before;

	(void)number;
	memcpy(&before, &((ucontext_t *)context)->uc_sigmask, sizeof(before));
	if (protect_fault((uintptr_t)info->si_addr, before) == PROTECT_STRANGE)
		_exit(99);
}

static void begin(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO };

	sigfillset(&action.sa_mask);
	action.sa_sigaction = on_fault;
	sigaction(SIGSEGV, &action, NULL);
	memory =
		mmap(NULL, ROOM * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	CHECK(protect_start(tickets));
}

static struct protect_range *closed(int page)
{
	struct protect_range *range =
		protect_claim((uintptr_t)memory + (size_t)page * PAGE, PAGE, 1, false);

	if (CHECK(range != NULL))
		protect_arm(range);
	return range;
}

static void arrive(struct protect_range *range)
{
	atomic_store(protect_ticket(range), protect_number(range));
}

static bool is_open(int page)
{
	/* The kernel says so, and nobody is called. */
	return hp_bare4(SYS_getrandom, (long)(memory + (size_t)page * PAGE), 1, 0, 0) == 1;
}

/* One that a child shares is copied, as one that a device holds was by some kernels. */
TEST(pages_stay)
{
	int status = -1;

	begin();
	memory[0] = memory[PAGE] = 5;
	CHECK(protect_page_stays((unsigned char *)memory));
	CHECK_EQ(memory[0], 6);
	pid_t child = fork();
	if (child == 0)
		_exit(pause());
	CHECK(!protect_page_stays((unsigned char *)memory + PAGE));
	CHECK_EQ(memory[PAGE], 6);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	CHECK(is_open(0) && is_open(1));
}

TEST(opened_by_a_touch)
{
	begin();
	struct protect_range *range = closed(1);

	CHECK(protect_any() && !is_open(1) && is_open(0) && is_open(2));
	arrive(range);
	errno = 77;
	memory[PAGE] = 5;
	CHECK_EQ(errno, 77);
	CHECK(is_open(1) && !protect_any());
}

TEST(opened_by_a_join)
{
	begin();
	struct protect_range *first = closed(1), *second = closed(3);

	arrive(first);
	arrive(second);
	protect_join_range(memory + PAGE, 0);
	protect_join_range(memory, PAGE);
	protect_join_range(memory + 2 * PAGE, PAGE);
	CHECK(!is_open(1) && !is_open(3));
	protect_join_range(memory, PAGE + 1);
	CHECK(is_open(1) && !is_open(3));
	protect_join_range(memory + 4 * PAGE - 1, SIZE_MAX);
	CHECK(is_open(3));
	first = closed(1);
	arrive(first);
	protect_join_all();
	CHECK(is_open(1) && !protect_any());
}

TEST(not_before_it_has_come)
{
	begin();
	struct protect_range *range = closed(1);

	CHECK(!protect_join_all_within(30000000));
	CHECK(!is_open(1));
	atomic_store(protect_ticket(range), protect_number(range) - 4);
	CHECK(!protect_join_all_within(1000000));
	arrive(range);
	CHECK(protect_join_all_within(1000000));
	CHECK(is_open(1));
}

/* What was true of one copy is not true of the next. */
TEST(opened_once)
{
	begin();
	struct protect_range *range = closed(1);
	uint32_t word = atomic_load(&range->word);

	arrive(range);
	protect_join_all();
	CHECK(closed(1) == range);
	protect_open(range, word);
	CHECK(!is_open(1));
	atomic_store(&range->over, protect_number_of(word));
	CHECK(!protect_join_all_within(1000000));
	arrive(range);
	protect_join_all();
}

TEST(full)
{
	begin();
	for (int i = 0; i < PROTECT_RANGES; i++)
		CHECK(closed(i) != NULL);
	CHECK(protect_claim((uintptr_t)memory + PROTECT_RANGES * PAGE, PAGE, 1, false) == NULL);
	CHECK(is_open(PROTECT_RANGES));
	for (int i = 0; i < PROTECT_RANGES; i++)
		arrive(&protect_ranges[i]);
	protect_join_all();
	CHECK(!protect_any());
	CHECK(closed(0) != NULL);
}

TEST(refused)
{
	begin();
	struct protect_range *range = closed(1);

	/* Twice the same page, */
	CHECK(protect_claim((uintptr_t)memory, 2 * PAGE, 1, false) == NULL);
	CHECK(is_open(0) && !is_open(1));
	arrive(range);
	protect_join_all();
	/* while somebody forbids it, */
	protect_forbid();
	CHECK(protect_claim((uintptr_t)memory, PAGE, 1, false) == NULL);
	CHECK(is_open(0));
	protect_allow();
	/* and where the kernel refuses half way: what was closed is open again. */
	munmap(memory + 2 * PAGE, PAGE);
	CHECK(protect_claim((uintptr_t)memory, 3 * PAGE, 1, false) == NULL);
	CHECK(is_open(0) && is_open(1) && !protect_any());
}

TEST(dropped)
{
	begin();
	struct protect_range *range = protect_claim((uintptr_t)memory, PAGE, 1, false);

	CHECK(range != NULL && !is_open(0));
	protect_drop(range);
	CHECK(is_open(0) && !protect_any());
}

/* Whoever makes a range never waits for it. */
TEST(made_here)
{
	begin();
	struct protect_range *range = protect_claim((uintptr_t)memory, PAGE, 1, false);

	protect_join_all();
	protect_join_range(memory, 1);
	CHECK(!is_open(0) && !range->spoiled);
	memory[0] = 1;
	CHECK(is_open(0) && range->spoiled);
	protect_drop(range);
	/* From here on as everybody. */
	range = closed(0);
	CHECK(!range->spoiled);
	CHECK(!protect_join_all_within(1000000));
	arrive(range);
	protect_join_all();
	CHECK(is_open(0));
}

TEST(trial)
{
	begin();
	struct protect_range *range = protect_claim((uintptr_t)memory, PAGE, 1, true);

	CHECK(range != NULL);
	protect_arm(range);
	CHECK(!is_open(0));
	memory[0] = 1;
	CHECK(is_open(0));
}

TEST(strangers)
{
	const hp_mask none = 0;

	begin();
	CHECK_EQ(protect_fault((uintptr_t)memory, none), PROTECT_STRANGE);
	arrive(closed(0));
	protect_join_all();
	/* It may have been ours a moment ago. */
	CHECK_EQ(protect_fault((uintptr_t)memory, none), PROTECT_RETRY);
	CHECK_EQ(protect_fault((uintptr_t)memory, none), PROTECT_STRANGE);
	arrive(closed(0));
	CHECK_EQ(protect_fault((uintptr_t)memory + PAGE, none), PROTECT_STRANGE);
	CHECK_EQ(protect_fault((uintptr_t)memory, none), PROTECT_OPENED);
}

#define PIECES 4

/* PIECES pieces of a page, from `page` on. */
static bool closed_source(int page, struct protect_range *ranges[PIECES])
{
	struct flight *flight = flight_take(PIECES, 7, 1000000000);
	bool done = flight != NULL && protect_claim_source((uintptr_t)memory + (size_t)page * PAGE,
							   PIECES * PAGE, PAGE, flight, ranges);

	if (done)
		protect_arm_source(ranges, PIECES);
	return done;
}

static bool are_open(int page, int count)
{
	for (int i = 0; i < count; i++)
		if (!is_open(page + i))
			return false;
	return true;
}

/* Can be read all the time; a write waits for its own piece, and opens what follows of it. */
TEST(source)
{
	struct protect_range *ranges[PIECES];

	begin();
	memset(memory, 5, ROOM * PAGE);
	CHECK(closed_source(1, ranges));
	CHECK(is_open(0) && is_open(1 + PIECES));
	for (int i = 0; i < PIECES; i++) {
		CHECK(!is_open(1 + i));
		CHECK_EQ(memory[(size_t)(1 + i) * PAGE + 9], 5);
	}
	arrive(ranges[1]);
	memory[2 * PAGE] = 6;
	CHECK(!is_open(1) && is_open(2) && !is_open(3));
	arrive(ranges[2]);
	arrive(ranges[3]);
	memory[3 * PAGE] = 6;
	CHECK(!is_open(1) && are_open(2, 3));
	arrive(ranges[0]);
	memory[PAGE] = 6;
	CHECK(are_open(1, PIECES) && !protect_any());
}

TEST(source_joined)
{
	struct protect_range *ranges[PIECES];

	begin();
	CHECK(closed_source(1, ranges));
	CHECK(!protect_join_all_within(1000000));
	arrive(ranges[2]);
	protect_join_range(memory + 3 * PAGE + 5, 1);
	CHECK(is_open(3) && !is_open(1) && !is_open(2) && !is_open(4));
	for (int i = 0; i < PIECES; i++)
		arrive(ranges[i]);
	protect_join_all();
	CHECK(are_open(1, PIECES) && !protect_any());
}

/* All or nothing; what was taken for it is free again. */
TEST(source_refused)
{
	struct protect_range *ranges[PIECES], *others[PIECES], *one;

	begin();
	one = closed(3);
	CHECK(!closed_source(1, ranges));
	CHECK(is_open(1) && is_open(2) && !is_open(3) && is_open(4));
	arrive(one);
	protect_join_all();
	protect_forbid();
	CHECK(!closed_source(1, ranges));
	protect_allow();
	CHECK(are_open(1, PIECES) && !protect_any());
	munmap(memory + (ROOM - 1) * PAGE, PAGE);
	CHECK(!closed_source(ROOM - PIECES, ranges));
	CHECK(are_open(ROOM - PIECES, PIECES - 1) && !protect_any());
	/* Full but for some. */
	for (int i = 0; i < PROTECT_RANGES - PIECES / 2; i++)
		CHECK(closed(1 + PIECES + i) != NULL);
	CHECK(!closed_source(1, ranges));
	CHECK(are_open(1, PIECES));
	for (int i = 0; i < PROTECT_RANGES; i++)
		arrive(&protect_ranges[i]);
	protect_join_all();
	CHECK(!protect_any());
	/* Each of them has ended its flight. */
	CHECK(closed_source(1, ranges));
	CHECK(closed_source(10, others));
	CHECK(atomic_load(&ranges[0]->flight) != NULL);
	CHECK_EQ((uintptr_t)atomic_load(&others[0]->flight) -
			 (uintptr_t)atomic_load(&ranges[0]->flight),
		 sizeof(struct flight));
}

/* Whoever makes it does not wait for it, and it says so. */
TEST(source_made_here)
{
	struct protect_range *ranges[PIECES];

	begin();
	CHECK(protect_claim_source((uintptr_t)memory, PIECES * PAGE, PAGE,
				   flight_take(PIECES, 7, 0), ranges));
	protect_join_all();
	memory[PAGE] = 1;
	CHECK(ranges[1]->spoiled && !ranges[0]->spoiled && is_open(1) && !is_open(0));
	for (int i = 0; i < PIECES; i++)
		protect_drop(ranges[i]);
	CHECK(are_open(0, PIECES) && !protect_any());
}

/* A child that nobody told: its copy of the pages is opened as it is. */
TEST(child)
{
	int status = -1;

	begin();
	struct protect_range *range = closed(1);
	pid_t child = fork();

	if (child == 0) {
		memory[PAGE] = 1;
		protect_join_all();
		_exit(memory[PAGE] == 1 ? 5 : 6);
	}
	waitpid(child, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	CHECK(!is_open(1));
	arrive(range);
	protect_join_all();
}

static _Atomic bool stop;
static _Atomic int wrong;

/* The device: brings what has been armed, a little later. */
static void *bring(void *arg)
{
	while (!stop)
		for (struct protect_range *at = protect_ranges;
		     at < protect_ranges + PROTECT_RANGES; at++) {
			uint32_t word = atomic_load(&at->word);

			if (protect_state_of(word) == PROTECT_CLOSED)
				atomic_store(protect_ticket(at), protect_number_of(word));
		}
	return arg;
}

static void *touch(void *arg)
{
	while (!stop)
		for (int i = 0; i < ROOM && !stop; i++)
			wrong += ((volatile char *)memory)[(size_t)i * PAGE] != 0;
	return arg;
}

/* Each page is closed again and again while four threads touch and one brings. */
TEST(storm)
{
	pthread_t threads[5];
	uint64_t end_ns;
	unsigned count = 0;
	hp_mask all = ~(hp_mask)0 & ~HP_MASK_OF(SIGSEGV) & ~HP_MASK_OF(SIGALRM), before;

	begin();
	for (int i = 0; i < 5; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, i == 0 ? bring : touch, NULL), 0);
	end_ns = hp_now_ns() + 500000000u;
	while (hp_now_ns() < end_ns) {
		uintptr_t base = (uintptr_t)memory + (count++ % ROOM) * PAGE;

		hp_bare_mask(SIG_BLOCK, &all, &before);
		struct protect_range *range = protect_claim(base, PAGE, 1, count % 7 == 0);
		if (range != NULL && count % 5 == 0)
			protect_drop(range);
		else if (range != NULL)
			protect_arm(range);
		hp_bare_mask(SIG_SETMASK, &before, NULL);
	}
	protect_join_all();
	stop = true;
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(protect_busy, 0);
	for (int i = 0; i < ROOM; i++)
		CHECK(is_open(i));
	printf("# %u times\n", count);
}

CHECK_MAIN()
