/*
 * protect_wait.c - those who wait for closed ranges, or fault on them.
 *
 * A thread may be anywhere when it touches a closed page: in malloc(), in stdio, in a signal
 * handler that has interrupted one of us.  So the table is read without a lock, and whoever waits
 * holds nothing that another waits for.
 */
#include "base/bare.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/protections.h"
#include "defer/protect_table.h"
#include "defer/touch.h"

#include <signal.h>

#define SPIN_NS        20000u
#define SLEEP_NS       50000u

/* A source is read without waiting for anything: 2 MiB in 40 us at 50 GB/s, behind some others. */
#define SPIN_SOURCE_NS 200000u

/* What a fault costs beside the waiting: reasoned, some 5 us with the opening. */
#define FAULT_NS       5000u

/* The one that others wait for. */
static __thread bool watches __attribute__((tls_model("initial-exec")));

/* Of the ranges that have been opened, how many this thread had heard of. */
static __thread uint32_t heard __attribute__((tls_model("initial-exec")));

/*
 * A child that was made past fork() has copies of the closed pages, and no device that fills them.
 * One of vfork() is in the midst of us.
 */
static bool is_in_a_child(void)
{
	return atomic_load(atomic_load(&protect_alive)) == 0 && hp_keeps(fetched_clone);
}

void protect_watch(void)
{
	watches = true;
}

void protect_note_touch(struct protect_range *range, uint32_t number)
{
	uint32_t site = atomic_load(&range->site);
	uint64_t closed_ns = atomic_load(&range->closed_ns);
	bool is_source = atomic_load(&range->flight) != NULL;

	if (atomic_exchange(&range->wanted, number) != number && !is_source)
		touch_note(site, hp_now_ns() - closed_ns >= TOUCH_LATE_NS);
}

/* Until copy `number` is over and its range open, or the clock shows `until_ns` (0: never). */
static bool wait_for(struct protect_range *range, uint32_t number, uint64_t until_ns)
{
	uint64_t begun_ns = hp_now_ns();
	bool rung = false;

	if (is_in_a_child()) {
		protect_open_pages(range);
		return true;
	}
	for (;;) {
		uint32_t word = atomic_load(&range->word);
		enum protect_state state = protect_state_of(word);

		if (protect_number_of(word) != number || state == PROTECT_FREE)
			return true;
		if (state == PROTECT_CLOSED && atomic_load(&range->wanted) != number)
			protect_note_touch(range, number);
		uint64_t now_ns = hp_now_ns();
		struct flight *flight = atomic_load(&range->flight);
		if (state == PROTECT_CLOSED && protect_has_come(range, number)) {
			if (flight != NULL)
				flight_spend(flight, now_ns - begun_ns + FAULT_NS);
			protect_open(range, word);
			continue;
		}
		if (until_ns != 0 && now_ns >= until_ns)
			return false;
		if (now_ns - begun_ns < (flight != NULL ? SPIN_SOURCE_NS : SPIN_NS)) {
			hp_bare_pause();
			continue;
		}
		if (!rung && state == PROTECT_CLOSED) {
			/* The one who is called may open it, and end the flight. */
			if (flight != NULL)
				flight_spend(flight, now_ns - begun_ns);
			protect_ring();
		}
		rung = rung || state == PROTECT_CLOSED;
		hp_bare_wait(&range->word, word, SLEEP_NS);
	}
}

static bool join(const void *address, size_t bytes, uint64_t until_ns)
{
	bool all_open = true;

	for (struct protect_range *range = protect_ranges; range < PROTECT_RANGES_END; range++) {
		uint32_t word = atomic_load(&range->word);

		if (protect_state_of(word) == PROTECT_FREE ||
		    !protect_overlaps(range, (uintptr_t)address, bytes) ||
		    (protect_mine & protect_bit(range)) != 0 || watches)
			continue;
		all_open &= wait_for(range, protect_number_of(word), until_ns);
		hp_count(fetches_joined);
	}
	return all_open;
}

void protect_join_slowly(uintptr_t address, size_t bytes)
{
	if (bytes != 0)
		join((const void *)address, bytes, 0);
}

/* The upper half of the addresses is the kernel's. */
#define EVERYTHING NULL, (size_t)1 << 63

void protect_join_all(void)
{
	if (protect_any())
		join(EVERYTHING, 0);
}

bool protect_join_all_within(uint64_t ns)
{
	return !protect_any() || join(EVERYTHING, hp_now_ns() + ns);
}

enum protect_fault protect_fault(uintptr_t address, hp_mask meanwhile)
{
	for (struct protect_range *range = protect_ranges; range < PROTECT_RANGES_END; range++) {
		uint32_t word = atomic_load(&range->word);

		if (protect_state_of(word) == PROTECT_FREE ||
		    address - atomic_load(&range->base) >= atomic_load(&range->bytes))
			continue;
		if (protect_mine & protect_bit(range)) {
			protect_open_pages(range);
			range->spoiled = true;
			return PROTECT_OPENED;
		}
		hp_bare_mask(SIG_SETMASK, &meanwhile, NULL);
		wait_for(range, protect_number_of(word), 0);
		hp_count(fetches_faulted);
		return PROTECT_OPENED;
	}
	/*
	 * Another thread may have opened it between the fault and now: read when the table has been
	 * looked through, which takes time, and with no handler between that would hear of it for
	 * us.
	 */
	uint32_t count = atomic_load(&protect_opened);
	if (count == heard)
		return PROTECT_STRANGE;
	heard = count;
	return PROTECT_RETRY;
}
