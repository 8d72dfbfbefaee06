/*
 * frames.c - learns the distance from each return address to the next by unwinding.
 *
 * A slot is read only if the address in the slot below was verified and is known to have a caller.
 * So every read lies in an existing frame.
 */
#define _GNU_SOURCE
#include "trace/places/frames.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "trace/thread_memory.h"
#include "trace/calls/operations.h"
#include "trace/places/modules.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <unwind.h>

#define STEP_BITS      14
#define STEPS_MOST     (1 << STEP_BITS)
#define FRAME_MOST     ((size_t)64 << 10)
#define STACK_MOST     ((uintptr_t)64 << 20)
#define CHECK_EVERY    64 /* walks, and CHECK_SELDOM after CHECK_OFTEN of them */
#define CHECK_OFTEN    8192
#define CHECK_SELDOM   1024
#define UNWINDS_FREE   1024 /* after that, one unwind in so many walks: */
#define UNWINDS_ONE_IN 32

/* Values of `distance` that are not bytes. */
enum { NOT_KNOWN = 0, ENDS = 1 };

static struct step {
	_Atomic uintptr_t address;
	_Atomic uint32_t distance; /* from its slot to the next */
	_Atomic uint32_t module;   /* the file of the address, plus 1; 0: unknown */
} * steps;                         /* constant after frames_start() */

/* Any thread. */
static _Atomic size_t steps_used;
static _Atomic uint64_t walks; /* of all threads; each adds CHECK_EVERY at once */
static _Atomic uint64_t unwinds;
static _Atomic uint64_t cut_off; /* number of known distances that proved wrong */

/* A way that this thread has walked, by its first slot and address: loops repeat the same ways. */
struct gone {
	struct frames_way way; /* depth 0: none */
	const uintptr_t *slot[FRAMES_MOST];
	uint64_t cut_off; /* `cut_off` at that time */
};

static __thread struct {
	uint64_t walks;
	bool busy;         /* a signal handler's walk does not change the ways */
	struct gone *gone; /* 1 << FRAMES_KNOWN_BITS of them; NULL: none yet */
} latest __attribute__((tls_model("initial-exec")));

static struct thread_memory ways = { .bytes = sizeof(struct gone) << FRAMES_KNOWN_BITS };

static uintptr_t first_stack_top; /* constant after frames_start() */
static _Unwind_Reason_Code (*backtrace_with)(_Unwind_Trace_Fn, void *);
static _Unwind_Ptr (*get_ip)(struct _Unwind_Context *);
static _Unwind_Word (*get_cfa)(struct _Unwind_Context *);

static void find(void *library, const char *name, void *slot)
{
	void *address = dlsym(library, name);

	memcpy(slot, &address, sizeof(address));
}

void frames_start(void)
{
	void *library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_LOCAL);

	/* The file name of the program is at the very top of its stack. */
	first_stack_top = getauxval(AT_EXECFN);
	steps = hp_arena_alloc(STEPS_MOST * sizeof(*steps));
	if (library == NULL || steps == NULL)
		return;
	find(library, "_Unwind_GetIP", &get_ip);
	find(library, "_Unwind_GetCFA", &get_cfa);
	if (get_ip != NULL && get_cfa != NULL)
		find(library, "_Unwind_Backtrace", &backtrace_with);
}

/* Returns the step of `address`, or the free one for it; NULL: the table is full. */
static struct step *step_of(uintptr_t address, bool *ret_is_new)
{
	size_t at = hp_hash(address, STEP_BITS);

	for (size_t i = 0; i < 64; i++) {
		struct step *step = &steps[(at + i) % STEPS_MOST];
		uintptr_t there = atomic_load_explicit(&step->address, memory_order_relaxed);

		*ret_is_new = there == 0;
		if (there == address || there == 0)
			return step;
	}
	return NULL;
}

static uint32_t distance_after(uintptr_t address, uint32_t *ret_module)
{
	bool is_new;

	*ret_module = 0;
	/* Without the unwinder, all ways have one address. */
	if (backtrace_with == NULL)
		return ENDS;
	struct step *step = step_of(address, &is_new);

	if (step == NULL || is_new)
		return step == NULL ? ENDS : NOT_KNOWN;
	uint32_t distance = atomic_load_explicit(&step->distance, memory_order_acquire);
	*ret_module = atomic_load_explicit(&step->module, memory_order_relaxed);
	return distance;
}

static void learn(uintptr_t address, size_t distance)
{
	bool is_new;
	struct step *step = step_of(address, &is_new);
	uintptr_t expected = 0;
	uint32_t seen = NOT_KNOWN;

	if (distance > FRAME_MOST || distance % sizeof(uintptr_t) != 0)
		distance = ENDS;
	if (step == NULL || (is_new && steps_used > STEPS_MOST / 2))
		return;
	/* Another file may have the addresses of an unloaded one. */
	bool is_unknown = is_new || atomic_load(&step->distance) == NOT_KNOWN;
	if (is_unknown)
		modules_note(address);
	if (is_new) {
		if (!atomic_compare_exchange_strong(&step->address, &expected, address) &&
		    expected != address)
			return;
		atomic_fetch_add(&steps_used, 1);
	}
	if (is_unknown)
		atomic_store(&step->module, modules_find(address - 1).module + 1);
	/* Two different distances: the frame changes its size while its function runs. */
	if (!atomic_compare_exchange_strong(&step->distance, &seen, (uint32_t)distance) &&
	    seen != distance && atomic_exchange(&step->distance, ENDS) != ENDS)
		atomic_fetch_add(&cut_off, 1);
}

struct climb {
	uintptr_t first; /* the first slot */
	size_t count;
	uintptr_t slot[FRAMES_MOST + 1], address[FRAMES_MOST + 1];
};

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *arg)
{
	struct climb *climb = arg;
	uintptr_t slot = get_cfa(context) - sizeof(uintptr_t);
	uintptr_t address = get_ip(context);

	if (slot < climb->first)
		return _URC_NO_REASON;
	/* The address that a signal interrupted is in no slot. */
	if ((climb->count == 0 && slot != climb->first) || address == 0 ||
	    *(const uintptr_t *)slot != address)
		return _URC_END_OF_STACK;
	climb->slot[climb->count] = slot;
	climb->address[climb->count++] = address;
	return climb->count <= FRAMES_MOST ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void unwind(const uintptr_t *slot)
{
	struct climb climb = { .first = (uintptr_t)slot };

	backtrace_with(note_frame, &climb);
	if (climb.count == 0)
		learn(*slot, ENDS);
	for (size_t i = 0; i < climb.count && i < FRAMES_MOST; i++)
		learn(climb.address[i],
		      i + 1 < climb.count ? climb.slot[i + 1] - climb.slot[i] : ENDS);
}

/* Returns the upper limit of the stack that holds `slot`; no slot above it is read. */
static uintptr_t top_of(uintptr_t slot)
{
	uintptr_t thread = (uintptr_t)__builtin_thread_pointer();

	if (slot < first_stack_top && first_stack_top - slot < STACK_MOST)
		return first_stack_top;
	if (slot < thread && thread - slot < STACK_MOST)
		return thread;
	return slot;
}

/*
 * Follows known distances.  `ret_slots`: the slots that were read.  False: a distance is unknown.
 * The hash tells apart files that have used the same addresses, but not those of the last address
 * that there is room for, whose file may not be known.
 * The stack words it reads may belong to any function, so AddressSanitizer is off.
 */
__attribute__((no_sanitize("address"))) static bool climb_known(const uintptr_t *slot,
								struct frames_way *ret,
								const uintptr_t **ret_slots)
{
	uintptr_t top = top_of((uintptr_t)slot);
	size_t count = 0;
	uint64_t hash = 0;
	uint32_t distance, module = 0;

	do {
		ret_slots[count] = slot;
		ret->address[count++] = *slot;
		distance = count < FRAMES_MOST ? distance_after(*slot, &module) : ENDS;
		module = count < FRAMES_MOST ? module : 0;
		hash = hp_mix(hash, *slot ^ (uint64_t)module << 48);
		slot += distance / sizeof(*slot);
	} while (distance > ENDS && (uintptr_t)slot < top);
	ret->depth = count;
	ret->cut = distance == NOT_KNOWN;
	ret->hash = hp_mix(hash, count);
	ret->python_depth = 0;
	return distance != NOT_KNOWN;
}

static struct gone *gone_at(const uintptr_t *slot)
{
	return &latest.gone[hp_hash((uintptr_t)slot ^ *slot, FRAMES_KNOWN_BITS)];
}

/*
 * True if the way is the same as before.  As climb_known() does, verifies each address before it
 * reads the slot above.
 */
__attribute__((no_sanitize("address"))) static bool goes_again(const struct gone *gone,
							       const uintptr_t *slot)
{
	if (gone->way.depth == 0 || gone->slot[0] != slot ||
	    gone->cut_off != atomic_load_explicit(&cut_off, memory_order_relaxed))
		return false;
	for (size_t i = 0; i < gone->way.depth; i++)
		if (*gone->slot[i] != gone->way.address[i])
			return false;
	return true;
}

static bool climb(const uintptr_t *slot, struct frames_way *ret)
{
	const uintptr_t *slots[FRAMES_MOST];
	uint64_t cut = atomic_load_explicit(&cut_off, memory_order_relaxed);

	if (latest.busy)
		return climb_known(slot, ret, slots);
	latest.busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	if (latest.gone == NULL && (latest.gone = thread_memory_take(&ways)) == NULL) {
		latest.busy = false;
		return climb_known(slot, ret, slots);
	}
	struct gone *gone = gone_at(slot);
	bool known = goes_again(gone, slot);
	if (known) {
		*ret = gone->way;
	} else {
		known = climb_known(slot, ret, slots);
		gone->way.depth = 0;
		if (known) {
			gone->way = *ret;
			memcpy(gone->slot, slots, sizeof(slots));
			gone->cut_off = cut;
		}
	}
	atomic_signal_fence(memory_order_seq_cst);
	latest.busy = false;
	return known;
}

/* Unwinds the stack if another unwind is permitted, then walks by the known distances. */
static void look_again(const uintptr_t *slot, uint64_t walk, struct frames_way *ret)
{
	uint64_t from = hp_now_ns();

	if (atomic_fetch_add_explicit(&unwinds, 1, memory_order_relaxed) >
	    UNWINDS_FREE + walk / UNWINDS_ONE_IN) {
		atomic_fetch_sub_explicit(&unwinds, 1, memory_order_relaxed);
		climb(slot, ret);
		return;
	}
	unwind(slot);
	climb(slot, ret);
	operations_rare(from);
}

bool frames_walk(const void *frame, struct frames_way *ret)
{
	/* A frame holds the caller's frame pointer, then the return address. */
	const uintptr_t *slot = (const uintptr_t *)frame + 1;
	bool checks = latest.walks++ % CHECK_EVERY == CHECK_EVERY - 1;
	uint64_t walk =
		checks ? atomic_fetch_add_explicit(&walks, CHECK_EVERY, memory_order_relaxed)
		       : atomic_load_explicit(&walks, memory_order_relaxed);

	/* In a frame of variable size, the distance may lead to another known address by chance. */
	checks = checks && backtrace_with != NULL &&
		 (walk < CHECK_OFTEN || walk % CHECK_SELDOM == 0);
	if (!checks && climb(slot, ret))
		return true;
	look_again(slot, walk, ret);
	return false;
}

struct frames_place frames_place(const struct frames_way *way)
{
	struct frames_place place = { .depth = way->depth, .python_depth = way->python_depth };

	for (size_t i = 0; i < way->depth; i++)
		place.frame[i] = modules_find_return(way->address[i]);
	for (size_t i = 0; i < way->python_depth; i++)
		place.python[i] = way->python[i];
	return place;
}

void frames_forget(uintptr_t from, uintptr_t to)
{
	for (size_t i = 0; steps != NULL && i < STEPS_MOST; i++) {
		uintptr_t address = atomic_load_explicit(&steps[i].address, memory_order_relaxed);

		if (address >= from && address < to)
			atomic_store_explicit(&steps[i].distance, NOT_KNOWN, memory_order_relaxed);
	}
	/* From now on, no thread reuses its latest way. */
	atomic_fetch_add(&cut_off, 1);
}
