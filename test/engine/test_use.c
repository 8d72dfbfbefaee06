/*
 * test_use.c - the blocks that a thread is inside: nesting, many at once, and what longjmp() and
 * fork() leave.
 */
#include "base/protections.h"
#include "pin/pin.h"
#include "pin/unpin.h"
#include "pin/user_registration.h"

#include "check.h"
#include "clock.h"
#include "pinning.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>

static unsigned users_of(const char *memory)
{
	return atomic_load(&range_find(memory)->word) & WORD_USERS;
}

TEST(many_blocks_at_once)
{
	enum { MANY = 100 };
	char *blocks[MANY];
	int outer, inner;

	pinning_start(GIB);
	for (int i = 0; i < MANY; i++)
		blocks[i] = allocate(MIB);
	CHECK_EQ(pin_enter(range_find(blocks[0]), &outer), PIN_PAGEABLE);
	for (int turn = 0; turn < 3; turn++)
		for (int i = 0; i < MANY; i++)
			CHECK_EQ(pin_enter(range_find(blocks[i]), &inner), PIN_PAGEABLE);
	CHECK(users_of(blocks[0]) == 4 && users_of(blocks[MANY - 1]) == 3);
	pin_leave(&inner);
	CHECK(users_of(blocks[0]) == 1 && users_of(blocks[MANY - 1]) == 0);
	pin_leave(&outer);
	CHECK_EQ(users_of(blocks[0]), 0);
}

/* As a batch of more copies than the word of a block can count. */
TEST(blocks_that_a_call_names_a_million_times)
{
	enum { BLOCKS = 8 };
	char *blocks[BLOCKS];
	unsigned refused = 0;
	int frame;

	pinning_start(GIB);
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = allocate(MIB);
	for (unsigned turn = 0; turn <= WORD_USERS; turn++)
		for (int i = 0; i < BLOCKS; i++)
			refused += pin_enter(range_find(blocks[i]), &frame) != PIN_PAGEABLE;
	CHECK_EQ(refused, 0);
	pin_leave(&frame);
	for (int i = 0; i < BLOCKS; i++)
		CHECK_EQ(users_of(blocks[i]), 0);
	CHECK_EQ(block_pin(range_find(blocks[0])), BLOCK_PAGEABLE);
}

static jmp_buf back;
static char *subject;

static void jump(void *base, size_t bytes)
{
	(void)base;
	(void)bytes;
	pinning.inside = NULL;
	longjmp(back, 1);
}

/* As an exported function that a signal handler leaves. */
static __attribute__((noinline)) void leave_a_copy(bool pins)
{
	const void *frame = __builtin_frame_address(0);

	pin_give_back(frame);
	if (pins)
		pinning.inside = jump;
	if (pins)
		pin_before_copy(range_find(subject), true, 64 * MIB, frame);
	else
		pin_enter(range_find(subject), frame);
	longjmp(back, 1);
}

static __attribute__((noinline)) void call_again(void)
{
	pin_give_back(__builtin_frame_address(0));
}

/* One that was inside, and one that was registering. */
TEST_AFTER(left_by_longjmp, pinning_start(GIB))
{
	subject = allocate(64 * MIB);
	if (setjmp(back) == 0)
		leave_a_copy(false);
	CHECK_EQ(users_of(subject), 1);
	call_again();
	CHECK_EQ(users_of(subject), 0);

	if (setjmp(back) == 0)
		leave_a_copy(true);
	CHECK_EQ(pin_of(subject), BLOCK_CHANGING);
	call_again();
	CHECK_EQ(pin_of(subject), BLOCK_PAGEABLE);
	CHECK_EQ(pin_check(), 0);
	CHECK(copy(subject, 64 * MIB));
	CHECK(!hp_keeps(given_back) || standin_registrations() == 1);
}

/* A call that interrupts another one, in a signal handler, gives nothing back. */
PIN_TEST(a_call_inside_another)
{
	/* AddressSanitizer has locals elsewhere. */
	const char *frame = (const char *)__builtin_frame_address(0) + 4096;

	subject = allocate(MIB);
	CHECK_EQ(pin_enter(range_find(subject), frame), PIN_PAGEABLE);
	call_again();
	CHECK_EQ(users_of(subject), 1);
	pin_leave(frame);
	CHECK_EQ(users_of(subject), 0);
}

static int child_leaves(const void *frame)
{
	check_failures = 0;
	CHECK_EQ(users_of(subject), 0);
	pin_leave(frame);
	CHECK_EQ(users_of(subject), 0);
	CHECK_EQ(pin_enter(range_find(subject), frame), PIN_PAGEABLE);
	pin_leave(frame);
	CHECK(word_try_pin(&range_find(subject)->word));
	return check_failures != 0;
}

/* A handler that interrupts a copy forks; the child returns from the copy as well. */
TEST(a_fork_inside)
{
	char frame;

	heed_forks();
	pinning_start(GIB);
	subject = allocate_pinned(16 * MIB);
	CHECK_EQ(pin_enter(range_find(subject), &frame), PIN_PINNED);
	if (CHECK_CHILD(0))
		_exit(child_leaves(&frame));
	CHECK_EQ(users_of(subject), 1);
	pin_leave(&frame);
	CHECK(all_is_well());
}

static _Atomic bool entered;

static void *stay(void *arg)
{
	(void)arg;
	pin_enter(range_find(subject), &entered);
	entered = true;
	/* Ends without leaving, as a thread that longjmp() has taken out of a copy may. */
	return NULL;
}

static _Atomic bool stop;

static void *pass_time(void *arg)
{
	(void)arg;
	while (!stop) {
		test_clock_pass(100 * TEST_MS);
		sched_yield();
	}
	return NULL;
}

/* The wait for a user that never leaves is bounded, and only the first change waits. */
PIN_TEST(a_user_that_never_leaves)
{
	subject = allocate_pinned(16 * MIB);
	check_in_thread(stay, NULL);
	pthread_t thread = check_thread(pass_time, NULL);
	CHECK(entered && users_of(subject) == 1);
	pin_unpin(subject, 1);
	CHECK_EQ(users_of(subject), 0);
	CHECK_EQ(pin_of(subject), BLOCK_PAGEABLE);
	CHECK(copy(subject, 16 * MIB));
	pin_unpin(subject, 1);
	stop = true;
	pthread_join(thread, NULL);
}

CHECK_MAIN()
