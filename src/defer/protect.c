/*
 * protect.c - the table of closed ranges: how they are closed, and opened again.
 *
 * Those who wait read it without a lock, wherever they are (protect_wait.c).  The one step that
 * must not be interrupted, in which a range is opened, is short and has all signals blocked.
 */
#include "defer/protect.h"
#include "base/bare.h"
#include "base/clock.h"
#include "base/kernel.h"
#include "base/protections.h"
#include "defer/protect_table.h"

#include <signal.h>
#include <sys/mman.h>

#define PAUSE_NS   50000u
#define TURNS_MOST 1000

struct protect_range protect_ranges[PROTECT_RANGES];
_Atomic uint32_t protect_busy;
_Atomic uint32_t protect_bell;

static _Atomic uint32_t *_Atomic all_tickets;
const _Atomic uint32_t *_Atomic protect_alive;
static _Atomic int forbidders;

_Atomic uint32_t protect_opened;
__thread uint64_t protect_mine __attribute__((tls_model("initial-exec")));

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
	atomic_store(&protect_alive, word);
	return true;
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

/* By others than `self`, and the pieces of the same flight. */
static bool is_crowded(const struct protect_range *self, uintptr_t base, size_t bytes)
{
	const struct flight *flight = atomic_load(&self->flight);

	for (const struct protect_range *other = protect_ranges; other < PROTECT_RANGES_END;
	     other++)
		if (other != self && protect_state_of(atomic_load(&other->word)) != PROTECT_FREE &&
		    (flight == NULL || atomic_load(&other->flight) != flight) &&
		    protect_overlaps(other, base, bytes))
			return true;
	return false;
}

static struct protect_range *take_free(void)
{
	for (struct protect_range *range = protect_ranges; range < PROTECT_RANGES_END; range++) {
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
	atomic_fetch_add(&protect_opened, 1);
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
		hp_bare_wait(&range->word, atomic_load(&range->word), PAUSE_NS);
	}
}

void protect_open_pages(const struct protect_range *range)
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
	protect_mine |= protect_bit(range);
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
	bool closed = hp_bare_protect(base, bytes, PROT_READ) == 0;
	for (size_t i = 0; i < count; i++)
		if (closed)
			protect_mine |= protect_bit(ret[i]);
		else
			protect_drop(ret[i]);
	return closed;
}

void protect_ring(void)
{
	atomic_fetch_add(&protect_bell, 1);
	hp_bare_wake(&protect_bell);
}

static void arm(struct protect_range *range)
{
	uint32_t number = protect_number(range);

	protect_mine &= ~protect_bit(range);
	if (range->trial)
		atomic_store(&range->over, number);
	atomic_store(&range->closed_ns, hp_now_ns());
	atomic_store(&range->word, number | PROTECT_CLOSED);
	hp_bare_wake(&range->word);
}

void protect_arm(struct protect_range *range)
{
	arm(range);
	protect_ring();
}

void protect_arm_source(struct protect_range *const ranges[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		arm(ranges[i]);
	protect_ring();
}

void protect_drop(struct protect_range *range)
{
	protect_mine &= ~protect_bit(range);
	protect_open_pages(range);
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

	for (struct protect_range *at = range + 1; flight != NULL && at < PROTECT_RANGES_END; at++)
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
	for (struct protect_range *range = protect_ranges; range < PROTECT_RANGES_END; range++)
		atomic_store(&range->word, protect_number(range) | PROTECT_FREE);
	flight_after_fork_child();
	atomic_store(&protect_busy, 0);
}
