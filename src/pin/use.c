/*
 * use.c - a list for each thread, the last entry on top.  Calls of one thread nest, also in signal
 * handlers, so its entries do.
 */
#include "pin/use.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/protections.h"
#include "base/thread.h"
#include "heap/cache.h"
#include "pin/pin.h"

#include <assert.h>
#include <signal.h>
#include <string.h>

struct use {
	struct block *block; /* NULL: no transition has succeeded */
	const void *frame;
	uint32_t saw;
	bool alone;
};

/* Enough for every call but batches. */
#define USES      6

/* A word can count a thousand times as many. */
#define USERS_FEW (WORD_USERS >> 10)

static __thread struct {
	unsigned count, room; /* room 0: `few` */
	struct use *many, few[USES];
} uses __attribute__((tls_model("initial-exec")));

static struct use *top(void)
{
	return (uses.room != 0 ? uses.many : uses.few) + uses.count - 1;
}

/* Makes room for another entry.  False: there is no memory. */
static bool grow(void)
{
	unsigned room = uses.room != 0 ? uses.room : USES;

	if (uses.count < room)
		return true;
	struct use *many = hp_arena_alloc(2 * room * sizeof(*many));
	if (many == NULL)
		return false;
	memcpy(many, top() + 1 - uses.count, uses.count * sizeof(*many));
	if (uses.room != 0)
		hp_arena_free(uses.many, uses.room * sizeof(*many));
	uses.many = many;
	uses.room = 2 * room;
	return true;
}

/* The entry counts before it is filled in: a signal handler in between uses those above it. */
bool use_begin(const void *frame)
{
	if (!grow())
		return false;
	hp_uncancellable_begin();
	uses.count++;
	*(volatile struct use *)top() = (struct use){ .frame = frame };
	return true;
}

void use_end(void)
{
	if (--uses.count == 0 && uses.room != 0) {
		hp_arena_free(uses.many, uses.room * sizeof(*uses.many));
		uses.room = 0;
	}
	hp_uncancellable_end();
}

static void leave(const struct use *use)
{
	if (!word_leave(&use->block->word, use->saw))
		return;
	hp_debug("the last copy leaves the block at %p to be pinned", (void *)use->block->base);
	pin_set_queued(true);
}

static enum pin_use enter(struct block *block, const void *frame, uint32_t refuse)
{
	uint32_t saw = 0;

	/* Without memory for the list, which then needs thousands of entries, nothing is safe. */
	if (!use_begin(frame))
		return block_pin(block) == BLOCK_PINNED ? PIN_PINNED : PIN_PAGEABLE;
	if (!word_enter(&block->word, refuse, &saw)) {
		use_end();
		return PIN_TAKEN;
	}
	top()->saw = saw;
	top()->block = block;
	return saw & WORD_PINNED ? PIN_PINNED : PIN_PAGEABLE;
}

/*
 * Returns an entry of this frame that is inside the block, or NULL.  Without this a batch of a
 * million copies would be more users than the word of its block can count.  Of a block with few
 * users, only the last entries are looked at.
 */
static const struct use *find_inside(const struct block *block, const void *frame)
{
	for (unsigned i = 0; i < uses.count; i++) {
		const struct use *use = top() - i;

		if (use->frame != frame || (i == USES && (block->word & WORD_USERS) <= USERS_FEW))
			break;
		if (use->block == block && !use->alone)
			return use;
	}
	return NULL;
}

/*
 * Unpins a block whose pages the program has changed while the driver refused to unregister it.  If
 * it refuses again, the block counts as pinned.
 */
static void unpin_late(struct block *block, const void *frame)
{
	uint32_t word = atomic_load_explicit(&block->word, memory_order_relaxed);

	if ((word & WORD_PINNED) == 0 || (word & WORD_FOREIGN) == 0 || !hp_keeps(unpinned_late) ||
	    !use_begin(frame))
		return;
	if (!word_try_unpin(&block->word)) {
		use_end();
		return;
	}
	use_alone(block);
	use_unpin(block);
}

enum pin_use pin_enter(struct block *block, const void *frame)
{
	const struct use *inside = find_inside(block, frame);

	if (inside != NULL)
		return inside->saw & WORD_PINNED ? PIN_PINNED : PIN_PAGEABLE;
	unpin_late(block, frame);
	return enter(block, frame, hp_keeps(taken_keeps_out) ? WORD_TAKEN : 0);
}

enum pin_use pin_enter_pageable(struct block *block, const void *frame)
{
	return enter(block, frame, WORD_TAKEN | WORD_PINNED);
}

void pin_leave(const void *frame)
{
	while (uses.count != 0 && top()->frame == frame) {
		assert(!top()->alone);
		if (top()->block != NULL)
			leave(top());
		use_end();
	}
}

void pin_wait(struct block *block)
{
	word_until never = UINT64_MAX;

	word_wait(&block->word, &never);
}

void use_alone(struct block *block)
{
	top()->alone = true;
	top()->block = block;
}

/* Without its block, an entry that longjmp() leaves just now does no harm. */
bool use_release(struct block *block, bool pinned, bool inside)
{
	bool listed = uses.count != 0 && top()->alone && top()->block == block;
	uint32_t saw = 0;

	if (listed)
		top()->block = NULL;
	bool done = heap_release(block, pinned, listed && inside ? &saw : NULL);
	if (!listed)
		return done;
	if (done && !inside) {
		use_end();
		return true;
	}
	top()->saw = saw;
	top()->alone = !done;
	top()->block = block;
	return done;
}

bool use_unpin(struct block *block)
{
	const size_t room = block->room;
	uint64_t begun = hp_now_ns();
	bool listed = uses.count != 0 && top()->alone && top()->block == block;
	bool ended = registration_end(block, atomic_load(&block->pin_owner)) == 0;

	pin_tell(block, false, hp_now_ns() - begun);
	hp_count(unpins);
	hp_debug("unpinned %zu bytes at %p%s", room, (void *)block->base,
		 ended ? "" : ", which the driver keeps");
	block->copied_bytes = 0;
	if (listed)
		top()->block = NULL;
	if (ended) {
		pin_room_ended(room);
		atomic_store(&block->pin_owner, 0);
		heap_release(block, false, NULL);
	} else {
		heap_keep(block);
	}
	if (listed)
		use_end();
	return ended;
}

/* Frames on another stack cannot be compared with those of the list. */
static bool is_on_signal_stack(void)
{
	stack_t stack;

	return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
}

/*
 * An entry above this frame belongs to a call that has not returned: this one has interrupted it.
 * A thread that was alone cannot know how far it came.
 */
void pin_give_back(const void *frame)
{
	if (__builtin_expect(uses.count == 0, 1) || frame < top()->frame || is_on_signal_stack() ||
	    !hp_keeps(given_back))
		return;
	while (uses.count != 0 && frame >= top()->frame) {
		struct use use = *top();

		hp_debug("a call that never returned has left a block at %p",
			 use.block != NULL ? (void *)use.block->base : NULL);
		if (use.block != NULL && use.alone) {
			use_unpin(use.block);
			continue;
		}
		if (use.block != NULL)
			leave(&use);
		use_end();
	}
}
