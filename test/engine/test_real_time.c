/*
 * test_real_time.c - a thread of real-time priority waits for a thread of the library that is
 * inside the driver and has only the same CPU.
 */
#include "pin/unpin.h"
#include "pin/user_registration.h"
#include "pin/pin.h"
#include "real_time.h"

#include "pinning.h"

#include <pthread.h>
#include <semaphore.h>

/* More would teach the cost model that registering is slow. */
#define ROUNDS 2

static sem_t inside, waits, over;
static char *memory;

/* Inside the driver: waits until the other thread waits, and then a while longer. */
static void hold(void)
{
	sem_post(&inside);
	sem_wait(&waits);
	real_time_burn();
}

static void hold_begin(void *base, size_t bytes)
{
	(void)base;
	(void)bytes;
	pinning.inside = NULL;
	hold();
}

static void hold_end(void *base)
{
	(void)base;
	hold();
}

/* Calls `wait` once for each time that a thread is inside the driver. */
static void *wait_each_time(void *wait)
{
	real_time_enter();
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&inside);
		/* Threads that wait for this one run while it sleeps. */
		sem_post(&waits);
		((void (*)(void))wait)();
		sem_post(&over);
	}
	return NULL;
}

static pthread_t start(void (*wait)(void))
{
	sem_init(&inside, 0, 0);
	sem_init(&waits, 0, 0);
	sem_init(&over, 0, 0);
	return check_thread(wait_each_time, (void *)wait);
}

static void use(void)
{
	pin_wait(range_find(memory));
	CHECK(!is_registered(memory, 1));
}

TEST(a_batch_waits_for_an_eviction)
{
	real_time_prepare();
	pinning_start(GIB);
	memory = allocate(16 * MIB);
	pthread_t thread = start(use);

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(heat_up(memory, 16 * MIB));
		pinning.inside_end = hold_end;
		CHECK_EQ(pin_evict(SIZE_MAX), 16 * MIB);
		pinning.inside_end = NULL;
		sem_wait(&over);
	}
	pthread_join(thread, NULL);
	CHECK(all_is_well());
}

static void unpin(void)
{
	pin_before_user_registration(memory, 16 * MIB);
	CHECK(!is_registered(memory, 1));
	pin_after_user_registration(memory, 16 * MIB, false);
}

TEST(a_call_waits_for_a_registration)
{
	real_time_prepare();
	pinning_start(GIB);
	memory = allocate(16 * MIB);
	pthread_t thread = start(unpin);

	for (int i = 0; i < ROUNDS; i++) {
		pinning.inside = hold_begin;
		heat_up(memory, 16 * MIB);
		sem_wait(&over);
		/* Copies may have pinned it again. */
		pin_unpin(memory, 1);
	}
	pthread_join(thread, NULL);
	CHECK(all_is_well());
}

CHECK_MAIN()
