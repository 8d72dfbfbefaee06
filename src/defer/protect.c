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
#include "base/protections.h"
#include "defer/touch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define SPIN_NS        20000u
#define SLEEP_NS       50000u

/* A source is read without waiting for anything: 2 MiB in 40 us at 50 GB/s, behind some others. */
#define SPIN_SOURCE_NS 200000u

/* What a fault costs beside the waiting: reasoned, some 5 us with the opening. */
#define FAULT_NS       5000u

#define TURNS_MOST     1000

#define ARRAY_END      (protect_ranges + PROTECT_RANGES)

struct protect_range protect_ranges[PROTECT_RANGES];
_Atomic uint32_t protect_busy;
_Atomic uint32_t protect_bell;

static _Atomic uint32_t *_Atomic all_tickets;
static const _Atomic uint32_t *_Atomic alive; /* not 0, but in a child with pages of its own */
static _Atomic int forbidders;

/* How many ranges have been opened, and how many of those this thread had heard of. */
static _Atomic uint32_t opened;
static __thread uint32_t heard __attribute__((tls_model("initial-exec")));

/*
 * After mprotect() the first write to a page faults once more, and kernels since 5.9 copied a page
 * then that had more than one holder ("mm: do_wp_page() simplification"): the device would go on
 * with the old one.  5.19 knows pages that are exclusive ("mm: COW fixes part 2").  A pipe is as
 * good a holder as a device.
 */
bool protect_page_stays(unsigned char *page)
{
	struct iovec part = { page, 1 };
	unsigned char next = (unsigned char)(page[0] + 1), seen = 0;
	int ends[2];

	if (hp_bare4(SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0) != 0)
		return false;
	bool held = hp_bare4(SYS_vmsplice, ends[1], (long)&part, 1, 0) == 1 &&
		    hp_bare_protect((uintptr_t)page, HP_PAGE_BYTES, PROT_NONE) == 0 &&
		    hp_bare_protect((uintptr_t)page, HP_PAGE_BYTES, PROT_READ | PROT_WRITE) == 0;
	if (held) {
		*(volatile unsigned char *)page = next;
		held = hp_bare4(SYS_read, ends[0], (long)&seen, 1, 0) == 1;
	}
	hp_bare4(SYS_close, ends[0], 0, 0, 0);
	hp_bare4(SYS_close, ends[1], 0, 0, 0);
	return held && seen == next;
}

bool protect_start(_Atomic uint32_t *tickets)
{
	_Atomic uint32_t *word = hp_map(NULL, HP_PAGE_BYTES, PROT_READ | PROT_WRITE, 0);

	if (word == MAP_FAILED)
		return false;
	atomic_store(word, 1);
	if (!protect_page_stays((unsigned char *)word) ||
	    hp_advise(word, HP_PAGE_BYTES, MADV_WIPEONFORK) != 0) {
		hp_unmap(word, HP_PAGE_BYTES);
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
	return atomic_load(atomic_load(&alive)) == 0 && hp_keeps(fetched_clone);
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

/* By others than `self`, and the pieces of the same flight. */
static bool is_crowded(const struct protect_range *self, uintptr_t base, size_t bytes)
{
	const struct flight *flight = atomic_load(&self->flight);

	for (const struct protect_range *other = protect_ranges; other < ARRAY_END; other++)
		if (other != self && protect_state_of(atomic_load(&other->word)) != PROTECT_FREE &&
		    (flight == NULL || atomic_load(&other->flight) != flight) &&
		    overlaps(other, base, bytes))
			return true;
	return false;
}

/*
 * What the driver, or a tool that it calls, does in this thread meanwhile must not wait for this
 * thread: the ranges that it is making, or whether it is the one that others wait for.
 */
_Static_assert(PROTECT_RANGES <= 64, "a bit for each");
static __thread uint64_t mine __attribute__((tls_model("initial-exec"))); /* a bit for each */
static __thread bool watches __attribute__((tls_model("initial-exec")));

static uint64_t bit_of(const struct protect_range *range)
{
	return (uint64_t)1 << (range - protect_ranges);
}

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
	struct flight *flight = atomic_exchange(&range->flight, NULL);

	if (flight != NULL)
		flight_landed(flight);
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
static void open_some(const struct protect_range *range, size_t bytes)
{
	/* What is not mapped any more stays so. */
	for (int turn = 0; turn < TURNS_MOST; turn++) {
		if (hp_bare_protect(range->base, bytes, PROT_READ | PROT_WRITE) == 0)
			return;
		hp_bare_wait(&range->word, atomic_load(&range->word), SLEEP_NS);
	}
}

static void open_pages(const struct protect_range *range)
{
	open_some(range, range->bytes);
}

/* One that is MAKING, with nothing closed yet. */
static struct protect_range *take(uintptr_t base, size_t bytes, struct flight *flight)
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
	atomic_store(&range->flight, flight);
	range->has_ticket = false;
	range->spoiled = false;
	return range;
}

/* Said first, then looked: one who forbids sees what was taken, or is seen here. */
static bool may_close(const struct protect_range *taken, uintptr_t base, size_t bytes)
{
	return atomic_load(&forbidders) == 0 && !is_crowded(taken, base, bytes);
}

struct protect_range *protect_claim(uintptr_t base, size_t bytes, uint32_t site, bool trial)
{
	struct protect_range *range = take(base, bytes, NULL);

	if (range == NULL)
		return NULL;
	atomic_store(&range->site, site);
	atomic_store(&range->trial, trial);
	if (!may_close(range, base, bytes)) {
		set_free(range, protect_number(range));
		return NULL;
	}
	/* Part of it may be closed where the kernel has run out of mappings. */
	if (hp_keeps(fetched_closed) && hp_bare_protect(base, bytes, PROT_NONE) != 0) {
		protect_drop(range);
		return NULL;
	}
	mine |= bit_of(range);
	return range;
}

/* False: `flight` is over, all is open. */
static bool take_pieces(uintptr_t base, size_t bytes, size_t piece, struct flight *flight,
			struct protect_range *ret[])
{
	size_t count = (bytes + piece - 1) / piece, i;

	for (i = 0; i < count; i++) {
		size_t at = i * piece, now = bytes - at < piece ? bytes - at : piece;

		ret[i] = take(base + at, now, flight);
		if (ret[i] == NULL)
			break;
		atomic_store(&ret[i]->site, flight->site);
		atomic_store(&ret[i]->trial, false);
	}
	bool all = i == count && may_close(ret[0], base, bytes);
	for (size_t k = 0; k < count && !all; k++)
		if (k < i)
			set_free(ret[k], protect_number(ret[k]));
		else
			flight_landed(flight);
	return all;
}

bool protect_claim_source(uintptr_t base, size_t bytes, size_t piece, struct flight *flight,
			  struct protect_range *ret[])
{
	size_t count = (bytes + piece - 1) / piece;

	if (!take_pieces(base, bytes, piece, flight, ret))
		return false;
	bool closed = !hp_keeps(source_closed) || hp_bare_protect(base, bytes, PROT_READ) == 0;
	for (size_t i = 0; i < count; i++)
		if (closed)
			mine |= bit_of(ret[i]);
		else
			protect_drop(ret[i]);
	return closed;
}

static void ring(void)
{
	atomic_fetch_add(&protect_bell, 1);
	hp_bare_wake(&protect_bell);
}

static void arm(struct protect_range *range)
{
	uint32_t number = protect_number(range);

	mine &= ~bit_of(range);
	if (range->trial)
		atomic_store(&range->over, number);
	atomic_store(&range->closed_ns, hp_now_ns());
	atomic_store(&range->word, number | PROTECT_CLOSED);
	hp_bare_wake(&range->word);
}

void protect_arm(struct protect_range *range)
{
	arm(range);
	ring();
}

void protect_arm_source(struct protect_range *const ranges[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		arm(ranges[i]);
	ring();
}

void protect_drop(struct protect_range *range)
{
	mine &= ~bit_of(range);
	open_pages(range);
	set_free(range, protect_number(range));
}

static bool start_opening(struct protect_range *range, uint32_t word)
{
	return protect_state_of(word) == PROTECT_CLOSED &&
	       atomic_compare_exchange_strong(&range->word, &word,
					      protect_number_of(word) | PROTECT_OPENING);
}

/* Does it follow `end` in the same flight, and has it been read?  Then it is OPENING. */
static bool comes_along(struct protect_range *range, const struct flight *flight, uintptr_t end)
{
	uint32_t word = atomic_load(&range->word);

	return atomic_load(&range->flight) == flight && atomic_load(&range->base) == end &&
	       protect_has_come(range, protect_number_of(word)) && start_opening(range, word);
}

/* One call of the kernel for all that can be opened: pieces stand in the table in their order. */
static void open_with_followers(struct protect_range *range)
{
	struct flight *flight = atomic_load(&range->flight);
	struct protect_range *along[PROTECT_RANGES];
	size_t count = 0, bytes = range->bytes;

	for (struct protect_range *at = range + 1; flight != NULL && at < ARRAY_END; at++)
		if (comes_along(at, flight, range->base + bytes)) {
			along[count++] = at;
			bytes += at->bytes;
		}
	open_some(range, bytes);
	for (size_t i = 0; i < count; i++)
		set_free(along[i], protect_number(along[i]));
	set_free(range, protect_number(range));
}

void protect_open(struct protect_range *range, uint32_t word)
{
	const hp_mask all = ~(hp_mask)0;
	hp_mask before;

	/* A handler that came between would wait for this very thread. */
	hp_bare_mask(SIG_SETMASK, &all, &before);
	if (start_opening(range, word))
		open_with_followers(range);
	hp_bare_mask(SIG_SETMASK, &before, NULL);
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
			ring();
		}
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
		    !overlaps(range, (uintptr_t)address, bytes) || (mine & bit_of(range)) != 0 ||
		    watches)
			continue;
		bool is_source = atomic_load(&range->flight) != NULL;
		all_open &= wait_for(range, protect_number_of(word), until_ns);
		if (is_source)
			hp_count(uploads_joined);
		else
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
		if (mine & bit_of(range)) {
			open_pages(range);
			range->spoiled = true;
			return PROTECT_OPENED;
		}
		bool is_source = atomic_load(&range->flight) != NULL;
		hp_bare_mask(SIG_SETMASK, &meanwhile, NULL);
		wait_for(range, protect_number_of(word), 0);
		if (is_source)
			hp_count(uploads_faulted);
		else
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
	flight_after_fork_child();
	atomic_store(&protect_busy, 0);
}
