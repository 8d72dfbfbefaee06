/*
 * protect.c - the table of closed ranges, and those who wait for them.
 *
 * A thread may be anywhere when it touches a closed page: in malloc(), in stdio, in a signal
 * handler that has interrupted one of us.  So the table is read without a lock, and whoever waits
 * holds nothing that another waits for.  The one step that must not be interrupted, in which a
 * range is opened, is short and has all signals blocked.
 */
#include "defer/protect.h"
#include "base/bare.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "defer/touch.h"

#include <signal.h>
#include <sys/mman.h>

#define SPIN_NS    20000u
#define SLEEP_NS   50000u
#define TURNS_MOST 1000
#define PAGE_BYTES ((size_t)4096)

#define ARRAY_END  (protect_ranges + PROTECT_RANGES)

struct protect_range protect_ranges[PROTECT_RANGES];
_Atomic uint32_t protect_busy;
_Atomic uint32_t protect_bell;

static _Atomic uint32_t *_Atomic all_tickets;
static const _Atomic uint32_t *_Atomic alive; /* not 0, but in a child with pages of its own */
static _Atomic int forbidders;

/* How many ranges have been opened, and how many of those this thread had heard of. */
static _Atomic uint32_t opened;
static __thread uint32_t heard __attribute__((tls_model("initial-exec")));

bool protect_start(_Atomic uint32_t *tickets)
{
	_Atomic uint32_t *word = hp_map(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, 0);

	if (word == MAP_FAILED)
		return false;
	if (hp_advise(word, PAGE_BYTES, MADV_WIPEONFORK) != 0) {
		hp_unmap(word, PAGE_BYTES);
		return false;
	}
	atomic_store(word, 1);
	atomic_store(&all_tickets, tickets);
	atomic_store(&alive, word);
	return true;
}

/*
 * A child that was made past fork() has copies of the closed pages, and no device that fills them.
 * One of vfork() is in the midst of us.
 */
static bool is_in_a_child(void)
{
	return atomic_load(atomic_load(&alive)) == 0;
}

_Atomic uint32_t *protect_ticket(const struct protect_range *range)
{
	_Atomic uint32_t *tickets = atomic_load(&all_tickets);

	return tickets != NULL ? &tickets[range - protect_ranges] : NULL;
}

bool protect_has_come(const struct protect_range *range, uint32_t number)
{
	_Atomic uint32_t *ticket = protect_ticket(range);

	return atomic_load(&range->over) == number ||
	       (ticket != NULL && atomic_load(ticket) == number);
}

static bool overlaps(const struct protect_range *range, uintptr_t from, size_t bytes)
{
	uintptr_t base = atomic_load(&range->base), end;
	size_t room = atomic_load(&range->bytes);

	if (__builtin_add_overflow(from, bytes, &end))
		end = UINTPTR_MAX;
	return room != 0 && base < end && from < base + room;
}

static bool is_crowded(const struct protect_range *self)
{
	for (const struct protect_range *other = protect_ranges; other < ARRAY_END; other++)
		if (other != self && protect_state_of(atomic_load(&other->word)) != PROTECT_FREE &&
		    overlaps(other, self->base, self->bytes))
			return true;
	return false;
}

/*
 * What the driver, or a tool that it calls, does in this thread meanwhile must not wait for this
 * thread: the range that it is making, or whether it is the one that others wait for.
 */
static __thread struct protect_range *mine __attribute__((tls_model("initial-exec")));
static __thread bool watches __attribute__((tls_model("initial-exec")));

void protect_watch(void)
{
	watches = true;
}

static struct protect_range *take_free(void)
{
	for (struct protect_range *range = protect_ranges; range < ARRAY_END; range++) {
		uint32_t word = atomic_load(&range->word), next;

		if (protect_state_of(word) != PROTECT_FREE)
			continue;
		next = protect_number_of(word) + 4 != 0 ? protect_number_of(word) + 4 : 4;
		if (atomic_compare_exchange_strong(&range->word, &word, next | PROTECT_MAKING))
			return range;
	}
	return NULL;
}

/* Whoever calls is the only one to change it. */
static void set_free(struct protect_range *range, uint32_t number)
{
	/* Counted first: who does not find it any more in the table finds it here. */
	atomic_fetch_add(&opened, 1);
	atomic_store(&range->bytes, 0);
	atomic_store(&range->word, number | PROTECT_FREE);
	atomic_fetch_sub(&protect_busy, 1);
	hp_bare_wake(&range->word);
}

/*
 * The kernel may be short of memory for a moment; left closed, the range would have nobody who ever
 * opens it.
 */
static void open_pages(const struct protect_range *range)
{
	/* What is not mapped any more stays so. */
	for (int turn = 0; turn < TURNS_MOST; turn++) {
		if (hp_bare_protect(range->base, range->bytes, PROT_READ | PROT_WRITE) == 0)
			return;
		hp_bare_wait(&range->word, atomic_load(&range->word), SLEEP_NS);
	}
}

struct protect_range *protect_claim(uintptr_t base, size_t bytes, uint32_t site, bool trial)
{
	/* Counted first: whoever looks after pages have been closed finds that it must. */
	atomic_fetch_add(&protect_busy, 1);
	struct protect_range *range = take_free();
	if (range == NULL) {
		atomic_fetch_sub(&protect_busy, 1);
		return NULL;
	}
	atomic_store(&range->base, base);
	atomic_store(&range->bytes, bytes);
	atomic_store(&range->site, site);
	atomic_store(&range->trial, trial);
	range->has_ticket = false;
	range->spoiled = false;
	/* Said first, then looked: one who forbids sees this range, or is seen here. */
	if (atomic_load(&forbidders) != 0 || is_crowded(range)) {
		set_free(range, protect_number(range));
		return NULL;
	}
	/* Part of it may be closed where the kernel has run out of mappings. */
	if (hp_bare_protect(base, bytes, PROT_NONE) != 0) {
		protect_drop(range);
		return NULL;
	}
	mine = range;
	return range;
}

static void ring(void)
{
	atomic_fetch_add(&protect_bell, 1);
	hp_bare_wake(&protect_bell);
}

void protect_arm(struct protect_range *range)
{
	uint32_t number = protect_number(range);

	mine = NULL;
	if (range->trial)
		atomic_store(&range->over, number);
	atomic_store(&range->closed_ns, hp_now_ns());
	atomic_store(&range->word, number | PROTECT_CLOSED);
	hp_bare_wake(&range->word);
	ring();
}

void protect_drop(struct protect_range *range)
{
	mine = NULL;
	open_pages(range);
	set_free(range, protect_number(range));
}

void protect_open(struct protect_range *range, uint32_t word)
{
	const hp_mask all = ~(hp_mask)0;
	hp_mask before;

	/* A handler that came between would wait for this very thread. */
	hp_bare_mask(SIG_SETMASK, &all, &before);
	if (protect_state_of(word) == PROTECT_CLOSED &&
	    atomic_compare_exchange_strong(&range->word, &word,
					   protect_number_of(word) | PROTECT_OPENING)) {
		open_pages(range);
		set_free(range, protect_number_of(word));
	}
	hp_bare_mask(SIG_SETMASK, &before, NULL);
}

void protect_note_touch(struct protect_range *range, uint32_t number)
{
	uint32_t site = atomic_load(&range->site);
	uint64_t closed_ns = atomic_load(&range->closed_ns);

	if (atomic_exchange(&range->wanted, number) != number)
		touch_note(site, hp_now_ns() - closed_ns >= TOUCH_LATE_NS);
}

/* Until copy `number` is over and its range open, or the clock shows `until_ns` (0: never). */
static bool wait_for(struct protect_range *range, uint32_t number, uint64_t until_ns)
{
	uint64_t begun_ns = hp_now_ns();
	bool rung = false;

	if (is_in_a_child()) {
		open_pages(range);
		return true;
	}
	for (;;) {
		uint32_t word = atomic_load(&range->word);
		enum protect_state state = protect_state_of(word);

		if (protect_number_of(word) != number || state == PROTECT_FREE)
			return true;
		if (state == PROTECT_CLOSED && atomic_load(&range->wanted) != number)
			protect_note_touch(range, number);
		if (state == PROTECT_CLOSED && protect_has_come(range, number)) {
			protect_open(range, word);
			continue;
		}
		uint64_t now_ns = hp_now_ns();
		if (until_ns != 0 && now_ns >= until_ns)
			return false;
		if (now_ns - begun_ns < SPIN_NS) {
			hp_bare_pause();
			continue;
		}
		if (!rung && state == PROTECT_CLOSED)
			ring();
		rung = rung || state == PROTECT_CLOSED;
		hp_bare_wait(&range->word, word, SLEEP_NS);
	}
}

static bool join(const void *address, size_t bytes, uint64_t until_ns)
{
	bool all_open = true;

	for (struct protect_range *range = protect_ranges; range < ARRAY_END; range++) {
		uint32_t word = atomic_load(&range->word);

		if (protect_state_of(word) == PROTECT_FREE ||
		    !overlaps(range, (uintptr_t)address, bytes) || range == mine || watches)
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
	for (struct protect_range *range = protect_ranges; range < ARRAY_END; range++) {
		uint32_t word = atomic_load(&range->word);

		if (protect_state_of(word) == PROTECT_FREE ||
		    address - atomic_load(&range->base) >= atomic_load(&range->bytes))
			continue;
		if (range == mine) {
			open_pages(range);
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
	uint32_t count = atomic_load(&opened);
	if (count == heard)
		return PROTECT_STRANGE;
	heard = count;
	return PROTECT_RETRY;
}

void protect_forbid(void)
{
	atomic_fetch_add(&forbidders, 1);
}

void protect_allow(void)
{
	atomic_fetch_sub(&forbidders, 1);
}

void protect_after_fork_child(void)
{
	for (struct protect_range *range = protect_ranges; range < ARRAY_END; range++)
		atomic_store(&range->word, protect_number(range) | PROTECT_FREE);
	atomic_store(&protect_busy, 0);
}
