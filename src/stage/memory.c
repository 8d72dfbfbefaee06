/*
 * memory.c - a table of contexts, with the staging memory of each.
 */
#include "stage/memory.h"
#include "base/arena.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/protections.h"
#include "heap/limits.h"
#include "heap/pages.h"
#include "pin/pin.h"
#include "real/contexts.h"
#include "real/relaxed.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* The most contexts with staging memory at once: two for each device of a large machine. */
#define OWNERS        16

/* After so many failures to make memory of a kind, no more is made. */
#define FAILURES_MOST 3

/* Memory is mapped only if so many times its size is available. */
#define MEMORY_TIMES  8

/* Constant once may_be[kind] is true. */
static struct {
	size_t bytes, room;
	uint64_t price;
} kinds[MEMORY_KINDS];

static _Atomic bool may_be[MEMORY_KINDS]; /* any thread */
static unsigned failures[MEMORY_KINDS];   /* under the lock staging */

/* Under the lock staging. */
static struct owner {
	CUcontext context; /* NULL: none */
	unsigned long long id;
	bool ending;         /* the program's call that ends the context has not returned */
	uint32_t generation; /* how many contexts of this entry have ended */
	struct {
		struct memory *memory; /* NULL: not made */
		bool making;           /* a thread makes it */
		uint64_t missed;       /* gains that copies have missed without it */
	} of[MEMORY_KINDS];
} owners[OWNERS];

void memory_allow(enum memory_kind kind, size_t bytes, size_t room, uint64_t price)
{
	assert(room >= sizeof(struct memory));
	kinds[kind].bytes = bytes;
	kinds[kind].room = room;
	kinds[kind].price = price;
	atomic_store(&may_be[kind], bytes != 0);
}

bool memory_may_be(enum memory_kind kind)
{
	return atomic_load_explicit(&may_be[kind], memory_order_acquire);
}

/* Returns the entry of the context at an address; NULL: none. */
static struct owner *owner_at(CUcontext context)
{
	for (struct owner *owner = owners; owner < owners + OWNERS && context != NULL; owner++)
		if (owner->context == context)
			return owner;
	return NULL;
}

bool memory_current(struct memory_context *ret)
{
	*ret = (struct memory_context){ .context = NULL };
	if (REAL(cuCtxGetCurrent)(&ret->context) != CUDA_SUCCESS || ret->context == NULL)
		return false;
	ret->id = contexts_id(ret->context);
	return true;
}

/*
 * Maps memory with huge pages if possible.  A child of fork() does not inherit the mapping, because
 * the kernel would copy pinned pages at once.
 */
static char *map(size_t bytes)
{
	char *at = pages_reserve(bytes, PROT_READ | PROT_WRITE);

	if (at == NULL)
		return NULL;
	hp_advise(at, bytes, MADV_HUGEPAGE);
	hp_advise(at, bytes, MADV_DONTFORK);
	return at;
}

/* True if memory is plentiful and address space unlimited.  Some system calls. */
static bool is_room(size_t bytes)
{
	struct limits limits;

	limits_look("", &limits);
	return !limits_ration_space() && limits.available / MEMORY_TIMES >= bytes &&
	       limits.cgroup_left / MEMORY_TIMES >= bytes;
}

static bool pin(char *at, size_t bytes)
{
	CUresult result = registration_begin((uintptr_t)at, bytes);

	if (result != CUDA_SUCCESS)
		hp_debug("no pinned memory for staging: CUDA error %d", (int)result);
	return result == CUDA_SUCCESS;
}

/* Frees memory whose registration has ended, or has never begun. */
static void destroy(struct memory *memory)
{
	if (memory->at != NULL)
		hp_unmap(memory->at, memory->bytes);
	hp_arena_free(memory, memory->room);
}

/* Maps and pins memory of a kind, for which the budget has room.  NULL: that failed. */
static struct memory *create(enum memory_kind kind)
{
	struct memory *memory = hp_arena_alloc(kinds[kind].room);

	if (memory == NULL)
		return NULL;
	memory->bytes = kinds[kind].bytes;
	memory->room = kinds[kind].room;
	memory->at = is_room(memory->bytes) ? map(memory->bytes) : NULL;
	if (memory->at != NULL && pin(memory->at, memory->bytes))
		return memory;
	destroy(memory);
	return NULL;
}

void memory_hold(struct memory *memory)
{
	assert(hp_lock_held(HP_LOCK_staging));
	memory->holders++;
}

void memory_put(struct memory *memory)
{
	assert(hp_lock_held(HP_LOCK_staging) && memory->holders > 0);
	if (--memory->holders == 0 && memory->ended)
		destroy(memory);
}

/* Ends memory whose registration has ended.  Threads keep the parts that they hold. */
static void end(struct memory *memory)
{
	assert(hp_lock_held(HP_LOCK_staging));
	pin_give_staging(memory->bytes);
	memory->ended = true;
	if (memory->holders == 0)
		destroy(memory);
}

/*
 * Clears the entry of a context that has ended, together with all its work.  If no call of the
 * program has ended it, its registrations may still exist: for instance, those of a green context
 * may belong to the primary one.  Then the memory stays mapped, and no more is made.
 */
static void forget(struct owner *owner)
{
	for (int kind = 0; kind < MEMORY_KINDS; kind++) {
		struct memory *memory = owner->of[kind].memory;

		owner->of[kind].memory = NULL;
		owner->of[kind].making = false;
		owner->of[kind].missed = 0;
		if (memory != NULL && owner->ending)
			end(memory);
		else if (memory != NULL)
			failures[kind] = FAILURES_MOST;
	}
	owner->ending = false;
	owner->generation++;
	owner->context = NULL;
}

/*
 * Returns the entry of a context, a new one if needed; NULL: too many contexts.  If the entry has
 * another id, the earlier context at this address has ended.
 */
static struct owner *find(const struct memory_context *of)
{
	struct owner *unused = NULL;

	assert(hp_lock_held(HP_LOCK_staging));
	for (struct owner *owner = owners; owner < owners + OWNERS; owner++) {
		if (owner->context == of->context && owner->id == of->id)
			return owner;
		if (owner->context == of->context)
			forget(owner);
		if (unused == NULL && owner->context == NULL)
			unused = owner;
	}
	if (unused != NULL) {
		unused->id = of->id;
		unused->context = of->context;
	}
	return unused;
}

/* Counts a failure to make memory.  After the last one copies need not ask any more. */
static void count_failure(enum memory_kind kind)
{
	bool is_anywhere = false;

	for (struct owner *owner = owners; owner < owners + OWNERS; owner++)
		is_anywhere |= owner->of[kind].memory != NULL;
	if (++failures[kind] == FAILURES_MOST && !is_anywhere)
		atomic_store(&may_be[kind], false);
}

/* Makes memory of a kind for the current context, `owner`. */
static struct memory *make(enum memory_kind kind, struct owner *owner)
{
	const uint32_t generation = owner->generation;
	int saved = errno;

	owner->of[kind].making = true;
	hp_unlock(HP_LOCK_staging);
	bool fits = pin_take_staging(kinds[kind].bytes);
	struct memory *memory = fits ? create(kind) : NULL;
	if (fits && memory == NULL)
		pin_give_staging(kinds[kind].bytes);
	errno = saved;
	hp_lock(HP_LOCK_staging);
	/* The context may have ended, and its registrations with it. */
	if (owner->generation != generation) {
		if (memory != NULL)
			end(memory);
		return NULL;
	}
	owner->of[kind].making = false;
	owner->of[kind].memory = memory;
	/* A later attempt may succeed; without room in the budget, as often as it takes. */
	if (memory == NULL)
		owner->of[kind].missed = kinds[kind].price / 2;
	if (memory == NULL && fits)
		count_failure(kind);
	return memory;
}

struct memory *memory_get(enum memory_kind kind, const struct memory_context *of, uint64_t gain)
{
	struct owner *owner = memory_may_be(kind) ? find(of) : NULL;

	if (owner == NULL)
		return NULL;
	struct memory *memory = owner->of[kind].memory;
	if (memory != NULL || owner->of[kind].making || gain == 0 ||
	    failures[kind] >= FAILURES_MOST)
		return memory;
	owner->of[kind].missed += gain;
	return owner->of[kind].missed >= kinds[kind].price ? make(kind, owner) : NULL;
}

bool memory_make_event(CUevent *event)
{
	if (*event != NULL)
		return true;
	if (REAL(cuEventCreate)(event, contexts_event_flags()) == CUDA_SUCCESS)
		return true;
	*event = NULL;
	return false;
}

void memory_context_ending(CUcontext context)
{
	hp_lock(HP_LOCK_staging);
	struct owner *owner = owner_at(context);
	if (owner != NULL)
		owner->ending = hp_keeps(staging_ends_with_context);
	hp_unlock(HP_LOCK_staging);
}

void memory_context_ended(CUcontext context, bool gone)
{
	hp_lock(HP_LOCK_staging);
	struct owner *owner = owner_at(context);
	/* Another thread may have made a context at the same address meanwhile. */
	if (owner != NULL && owner->ending && gone)
		forget(owner);
	else if (owner != NULL)
		owner->ending = false;
	hp_unlock(HP_LOCK_staging);
}

/*
 * Unregistering waits for the device, so nothing is in flight afterwards.  Events last until the
 * context ends.  Meanwhile the memory counts as being made, so no thread makes another.
 */
static size_t give_back(struct owner *owner, enum memory_kind kind)
{
	size_t bytes = 0;

	hp_lock(HP_LOCK_staging);
	struct memory *memory = owner->of[kind].memory;
	if (memory != NULL && memory->holders == 0 && !owner->ending) {
		const uint32_t generation = owner->generation;

		owner->of[kind].making = true;
		owner->of[kind].missed = 0;
		owner->of[kind].memory = NULL;
		hp_unlock(HP_LOCK_staging);
		struct relaxed relaxed = relaxed_begin();
		bool gone = REAL(cuMemHostUnregister)(memory->at) == CUDA_SUCCESS;
		relaxed_end(&relaxed);
		hp_lock(HP_LOCK_staging);
		/* The context may have ended, and its registrations with it. */
		bool ended = owner->generation != generation;
		if (!ended)
			owner->of[kind].making = false;
		if (!ended && !gone)
			owner->of[kind].memory = memory;
		if (ended || gone) {
			bytes = memory->bytes;
			end(memory);
		}
	}
	hp_unlock(HP_LOCK_staging);
	return bytes;
}

size_t memory_give_back(void)
{
	size_t bytes = 0;

	for (struct owner *owner = owners; owner < owners + OWNERS; owner++)
		for (int kind = 0; kind < MEMORY_KINDS; kind++)
			bytes += give_back(owner, (enum memory_kind)kind);
	return bytes;
}

void memory_after_fork_child(void)
{
	for (int kind = 0; kind < MEMORY_KINDS; kind++)
		atomic_store(&may_be[kind], false);
}
