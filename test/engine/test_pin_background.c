/*
 * test_pin_background.c - blocks that small copies made hot are pinned by another thread.  The
 * tests change these blocks before that thread takes them and while it pins them.
 */
#include "base/counters.h"
#include "base/log.h"
#include "base/options.h"
#include "heap/heap.h"
#include "heap/reclaim.h"
#include "pin/user_registration.h"
#include "pin/pin.h"
#include "pin/unpin.h"

#include "check.h"
#include "clock.h"
#include "pinning.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

/* Pins in a thread without a context, like the library's. */
static void *background(void *arg)
{
	size_t *bytes = arg;
	CUcontext left = NULL;

	*bytes = pin_queued(SIZE_MAX);
	REAL(cuCtxGetCurrent)(&left);
	CHECK(left == NULL);
	return NULL;
}

static size_t pin_behind(void)
{
	size_t bytes = 0;

	check_in_thread(background, &bytes);
	return bytes;
}

/* Makes copies of 1 MiB until the block is queued for pinning; returns their number. */
static int warm_up(const void *memory)
{
	int copies = 0;

	while (copies < 200 && !pin_has_queued()) {
		CHECK(!copy(memory, MIB));
		copies++;
	}
	CHECK(pin_has_queued());
	CHECK_EQ(pin_of(memory), BLOCK_PAGEABLE);
	return copies;
}

static void start(void)
{
	pinning_start(GIB);
	pin_set_thread();
}

#define QUEUE_TEST(id) TEST_BETWEEN(id, start(), CHECK(all_is_well()))

QUEUE_TEST(small_copies_do_not_wait_for_the_pin)
{
	char *memory = allocate(64 * MIB);

	/* Three quarters of the block, and 1 MiB. */
	CHECK_EQ(warm_up(memory), 49);
	CHECK_EQ(pinning.registers, 0);
	CHECK_EQ(pin_behind(), 64 * MIB);
	CHECK_EQ(pinning.registers, 1);
	CHECK(!pin_has_queued());
	CHECK(copy(memory, MIB));
	CHECK_EQ(range_find(memory)->pin_owner, (uintptr_t)context);
	CHECK_EQ(pin_behind(), 0);
	CHECK_EQ(hp_count_read(pins), 1);
}

/* Copies after a refusal do not wake the thread, which could not pin the block. */
QUEUE_TEST(nothing_is_queued_after_a_refusal)
{
	char *memory = allocate(64 * MIB);

	pinning.refuse = CUDA_ERROR_OUT_OF_MEMORY;
	warm_up(memory);
	CHECK_EQ(pin_behind(), 0);
	CHECK_EQ(pinning.registers, 1);
	pinning.refuse = CUDA_SUCCESS;
	for (int i = 0; i < 100; i++)
		CHECK(!copy(memory, MIB));
	CHECK(!pin_has_queued());
	test_clock_pass(10100 * TEST_MS);
	CHECK(!copy(memory, MIB));
	CHECK(pin_has_queued());
	CHECK_EQ(pin_behind(), 64 * MIB);
}

/* calloc() drops pages of a block that was freed while it was queued. */
QUEUE_TEST(what_calloc_drops_is_not_pinned)
{
	char *memory = allocate(64 * MIB);
	struct block *block = range_find(memory);

	warm_up(memory);
	CHECK(word_try_pin(&block->word));
	CHECK_EQ(pin_behind(), 0);
	CHECK_EQ(pinning.registers, 0);
	word_release(&block->word, false, NULL);
	CHECK_EQ(pin_of(memory), BLOCK_PAGEABLE);
	warm_up(memory);
	CHECK_EQ(pin_behind(), 64 * MIB);
}

PIN_TEST(the_last_user_leaves_the_block_to_the_thread)
{
	pin_set_thread();
	char *memory = allocate(64 * MIB);
	struct block *block = range_find(memory);
	int here, there;

	warm_up(memory);
	CHECK_EQ(pin_bell, 1);
	CHECK_EQ(pin_enter(block, &here), PIN_PAGEABLE);
	CHECK_EQ(pin_enter(block, &there), PIN_PAGEABLE);
	CHECK_EQ(pin_behind(), 0);
	CHECK(!pin_has_queued());
	pin_leave(&there);
	CHECK(!pin_has_queued() && pin_bell == 1);
	/* Copies go on until then. */
	CHECK_EQ(pin_enter(block, &there), PIN_PAGEABLE);
	pin_leave(&there);
	pin_leave(&here);
	CHECK(pin_has_queued() && pin_bell == 2);
	CHECK_EQ(pin_of(memory), BLOCK_CHANGING);
	CHECK_EQ(pin_behind(), 64 * MIB);
	CHECK_EQ(pin_of(memory), BLOCK_PINNED);
}

PIN_TEST(a_word_that_was_left_to_the_thread_is_given_back)
{
	pin_set_thread();
	char *memory = allocate(64 * MIB);
	int here;

	warm_up(memory);
	CHECK_EQ(pin_enter(range_find(memory), &here), PIN_PAGEABLE);
	CHECK_EQ(pin_behind(), 0);
	pin_leave(&here);
	pin_hold();
	CHECK_EQ(pin_behind(), 0);
	CHECK_EQ(pin_of(memory), BLOCK_PAGEABLE);
	pin_release();
	CHECK_EQ(pinning.registers, 0);
}

/* True if the log has a line with this text, and the lines of earlier calls come before it. */
static bool says_next(int log, const char *text)
{
	static char all[8192], *from = all;
	ssize_t bytes = pread(log, all, sizeof(all) - 1, 0);

	all[bytes > 0 ? bytes : 0] = '\0';
	char *found = strstr(from, text);
	from = found != NULL ? found + 1 : from;
	return found != NULL;
}

TEST(every_transition_is_logged)
{
	int log = memfd_create("log", 0), here;

	start();
	CHECK_EQ(dup2(log, STDERR_FILENO), STDERR_FILENO);
	hp_options_load((char *const[]){ (char *)"HOTPIN_LOG=debug", NULL });
	hp_log_open(NULL);
	char *memory = allocate(64 * MIB);
	warm_up(memory);
	CHECK_EQ(pin_enter(range_find(memory), &here), PIN_PAGEABLE);
	CHECK_EQ(pin_behind(), 0);
	pin_leave(&here);
	CHECK(says_next(log, "waits for copies"));
	CHECK(says_next(log, "leaves the block"));
	CHECK_EQ(pin_behind(), 64 * MIB);
	CHECK(says_next(log, "debug: pinned 67108864 bytes"));
	pin_before_user_registration(memory, MIB);
	CHECK(says_next(log, "the program registers"));
	CHECK(says_next(log, "unpinned 67108864 bytes"));
	pin_after_user_registration(memory, MIB, false);
	CHECK(says_next(log, "no registration of the program left"));
	CHECK(all_is_well());
}

QUEUE_TEST(a_copy_that_gains_enough_waits)
{
	CHECK(copy(allocate(64 * MIB), 64 * MIB));
	CHECK(!pin_has_queued());
}

PIN_TEST(without_a_thread_the_copy_pins)
{
	char *memory = allocate(64 * MIB);

	for (int i = 0; i < 48; i++)
		CHECK(!copy(memory, MIB));
	CHECK(heat_up(memory, MIB));
	CHECK(!pin_has_queued());
}

/* Small copies stay pageable until the thread comes; a large one pins. */
QUEUE_TEST(a_large_copy_does_not_wait_for_the_thread)
{
	char *memory = allocate(64 * MIB);
	warm_up(memory);
	for (int i = 0; i < 200; i++)
		CHECK(!copy(memory, 6 * MIB));
	CHECK(copy(memory, 7 * MIB));
	CHECK_EQ(pin_of(memory), BLOCK_PINNED);
	/* The background thread comes too late. */
	CHECK(pin_has_queued());
	CHECK_EQ(pin_behind(), 0);
	CHECK_EQ(pinning.registers, 1);
}

QUEUE_TEST(no_more_than_asked_and_each_once)
{
	char *blocks[3];
	size_t bytes = 0;

	for (int i = 0; i < 3; i++) {
		blocks[i] = allocate(64 * MIB);
		for (int n = 0; n < 52; n++)
			CHECK(!copy(blocks[i], MIB));
	}
	OK(cuCtxSetCurrent(NULL));
	bytes = pin_queued(65 * MIB);
	CHECK_EQ(bytes, 128 * MIB);
	CHECK(pin_of(blocks[0]) == BLOCK_PINNED && pin_of(blocks[1]) == BLOCK_PINNED);
	CHECK_EQ(pin_of(blocks[2]), BLOCK_PAGEABLE);
	CHECK_EQ(pin_queued(SIZE_MAX), 64 * MIB);
	CHECK_EQ(pinning.registers, 3);
}

/* More blocks than the queue holds: later copies queue the others. */
QUEUE_TEST(a_queue_that_is_full)
{
	char *blocks[40];
	int turns = 0;

	for (int i = 0; i < 40; i++) {
		blocks[i] = allocate(2 * MIB);
		for (int n = 0; n < 30; n++)
			CHECK(!copy(blocks[i], 128 * KIB));
	}
	CHECK_EQ(pinning.registers, 0);
	do {
		for (int i = 0; i < 40; i++)
			copy(blocks[i], 128 * KIB);
		turns++;
	} while (pin_behind() != 0);
	CHECK(turns > 2);
	CHECK_EQ(pinning.registers, 40);
	CHECK(!pin_has_queued());
}

QUEUE_TEST(one_block_takes_one_place)
{
	char *memory = allocate(64 * MIB), *other_memory = allocate(8 * MIB);

	warm_up(memory);
	for (int i = 0; i < 4; i++)
		CHECK(!copy(memory, MIB));
	for (int i = 0; i < 15; i++)
		CHECK(!copy(other_memory, MIB / 2));
	CHECK_EQ(pin_behind(), 72 * MIB);
}

QUEUE_TEST(freed_before_the_thread_comes)
{
	char *memory = allocate(64 * MIB);

	warm_up(memory);
	CHECK_EQ(heap_free(memory), 0);
	CHECK_EQ(pin_behind(), 0);
	CHECK_EQ(pinning.registers, 0);
	CHECK(!pin_has_queued());

	/* Allocated again it is as hot as before. */
	CHECK(allocate(64 * MIB) == memory);
	CHECK(!copy(memory, MIB) && pin_has_queued());
	CHECK_EQ(pin_behind(), 64 * MIB);
}

/* The descriptor may then describe another block, which was never copied. */
QUEUE_TEST(another_block_by_the_time_the_thread_comes)
{
	char *memory = allocate(64 * MIB), *other_memory = allocate(64 * MIB);

	warm_up(memory);
	CHECK_EQ(heap_free(memory), 0);
	heap_set_level(PRESSURE_SEVERE);
	heap_set_level(PRESSURE_NONE);
	CHECK(allocate(64 * MIB) == memory);
	CHECK_EQ(pin_behind(), 0);
	warm_up(other_memory);
	range_find(other_memory)->copied_bytes = 0;
	CHECK_EQ(pin_behind(), 0);
	CHECK_EQ(pinning.registers, 0);
}

QUEUE_TEST(changed_before_the_thread_comes)
{
	char *resized = allocate(64 * MIB), *altered = allocate(64 * MIB);
	char *registered = allocate(64 * MIB);

	warm_up(resized);
	CHECK(heap_resize(resized, 40 * MIB));
	CHECK_EQ(pin_behind(), 40 * MIB);
	CHECK_EQ(standin_registered_bytes(), range_find(resized)->room);
	warm_up(altered);
	pin_altered(altered, 4096);
	CHECK_EQ(mprotect(altered, 4096, PROT_READ), 0);
	CHECK_EQ(pin_behind(), 0);
	warm_up(registered);
	CHECK_EQ(program_registers(registered, MIB), CUDA_SUCCESS);
	CHECK_EQ(pin_behind(), 0);
	CHECK_EQ(pin_of(registered), BLOCK_USER_REGISTERED);
	CHECK_EQ(hp_count_read(pins_refused), 0);
}

QUEUE_TEST(nothing_while_a_capture_lives_or_memory_is_short)
{
	char *memory = allocate(64 * MIB);

	for (int i = 0; i < 2; i++) {
		if (i == 0)
			warm_up(memory);
		else
			CHECK(!copy(memory, KIB) && pin_has_queued());
		if (i == 0)
			pin_hold();
		else
			pin_set_pressure(true);
		CHECK_EQ(pin_behind(), 0);
		/* The request is not repeated. */
		CHECK(!pin_has_queued());
		CHECK(!copy(memory, MIB) && !pin_has_queued());
		if (i == 0)
			pin_release();
		else
			pin_set_pressure(false);
	}
	CHECK_EQ(pinning.registers, 0);
	CHECK(!copy(memory, KIB));
	CHECK_EQ(pin_behind(), 64 * MIB);
}

static char *subject;
static pthread_t other;
static _Atomic int steps;

static void *free_subject(void *arg)
{
	(void)arg;
	CHECK_EQ(heap_free(subject), 0);
	steps++;
	return NULL;
}

static void *alter_subject(void *arg)
{
	(void)arg;
	pin_altered(subject, 4096);
	CHECK(!is_registered(subject, 1));
	steps++;
	return NULL;
}

static void *register_subject(void *arg)
{
	(void)arg;
	OK(cuCtxSetCurrent(context));
	CHECK_EQ(program_registers(subject, MIB), CUDA_SUCCESS);
	steps++;
	return NULL;
}

static void *destroy_context(void *arg)
{
	(void)arg;
	pin_queue_forget((uintptr_t)context);
	end_context(context);
	steps++;
	return NULL;
}

static void *capture(void *arg)
{
	(void)arg;
	pin_hold();
	/*
	 * As for a copy that becomes part of a graph: the block is unpinned before the driver sees
	 * it.
	 */
	pin_unpin(subject, MIB);
	CHECK(!is_registered(subject, 1));
	check_give_a_chance();
	CHECK(!is_registered(subject, 1));
	steps++;
	pin_release();
	return NULL;
}

static void *(*meanwhile)(void *);
static bool waits; /* the change must wait for the registration */

static void run_meanwhile(void *base, size_t bytes)
{
	CHECK(base == subject && bytes == 64 * MIB);
	CHECK_EQ(pin_of(subject), BLOCK_CHANGING);
	pinning.inside = NULL;
	steps = 0;
	pthread_create(&other, NULL, meanwhile, NULL);
	if (!waits)
		WAIT_FOR(steps != 0);
	check_give_a_chance();
	CHECK_EQ(steps, waits ? 0 : 1);
}

static void pin_behind_during(void *(*what)(void *), bool it_waits)
{
	subject = allocate(64 * MIB);
	warm_up(subject);
	meanwhile = what;
	waits = it_waits;
	pinning.inside = run_meanwhile;
	pin_behind();
	CHECK(pinning.inside == NULL);
	pthread_join(other, NULL);
	CHECK_EQ(steps, 1);
}

QUEUE_TEST(freed_while_the_thread_pins)
{
	pin_behind_during(free_subject, false);
	CHECK(range_find(subject) == NULL);
	CHECK(is_registered(subject, 64 * MIB));
	/* The block is cached with its pin, and allocated with it. */
	CHECK(allocate(64 * MIB) == subject && copy(subject, MIB));
}

QUEUE_TEST(altered_while_the_thread_pins)
{
	pin_behind_during(alter_subject, true);
	CHECK_EQ(pin_of(subject), BLOCK_ALTERED);
}

QUEUE_TEST(registered_by_the_program_while_the_thread_pins)
{
	pin_behind_during(register_subject, true);
	CHECK_EQ(pin_of(subject), BLOCK_USER_REGISTERED);
	CHECK_EQ(hp_count_read(pins_refused), 0);
}

QUEUE_TEST(its_context_ends_while_the_thread_pins)
{
	pin_behind_during(destroy_context, true);
	CHECK_EQ(pin_of(subject), BLOCK_PAGEABLE);
	CHECK(!is_registered(subject, 1));
}

QUEUE_TEST(captured_while_the_thread_pins)
{
	pin_behind_during(capture, true);
}

QUEUE_TEST(its_context_ends_before_the_thread_comes)
{
	char *memory = allocate(64 * MIB), *other_memory = allocate(64 * MIB);

	for (int i = 0; i < 52; i++)
		CHECK(!copy(memory, MIB));
	CUcontext second = new_context();
	for (int i = 0; i < 52; i++)
		CHECK(!copy(other_memory, MIB));
	destroy_context(NULL);
	CHECK_EQ(pin_behind(), 64 * MIB);
	CHECK_EQ(pin_of(memory), BLOCK_PAGEABLE);
	CHECK_EQ(range_find(other_memory)->pin_owner, (uintptr_t)second);
	/* The next copy may pin it again, for a living context. */
	CHECK(!copy(memory, MIB));
	CHECK_EQ(pin_behind(), 64 * MIB);
	CHECK_EQ(range_find(memory)->pin_owner, (uintptr_t)second);
}

static int child_pins_nothing(void)
{
	alarm(check_limit(20));
	check_failures = 0;
	CHECK(!pin_has_queued());
	CHECK_EQ(pin_queued(SIZE_MAX), 0);
	CHECK(!copy(subject, 64 * MIB));
	CHECK_EQ(heap_free(subject), 0);
	CHECK_EQ(standin_orphan_calls(), 0);
	CHECK_EQ(pin_check(), 0);
	CHECK_EQ(heap_check(), 0);
	return check_failures != 0;
}

static void fork_there(void *base, size_t bytes)
{
	(void)base;
	(void)bytes;
	pinning.inside = NULL;
	if (CHECK_CHILD(0))
		_exit(child_pins_nothing());
}

TEST(a_fork_before_and_while_the_thread_pins)
{
	heed_forks();
	start();
	subject = allocate(64 * MIB);
	warm_up(subject);
	fork_there(NULL, 0);
	CHECK(pin_has_queued());
	pinning.inside = fork_there;
	CHECK_EQ(pin_behind(), 64 * MIB);
	CHECK(copy(subject, MIB));
	CHECK(all_is_well());
}

CHECK_MAIN()
