/*
 * The word of a block: which threads may give an address in the block to the driver, and which
 * thread may change the registration of the block.  test/model/README.md is its specification.
 *
 * A thread is inside the block, as one of its users, while the driver may look an address in the
 * block up.  A thread that takes the word keeps new users out; once no user is inside, it is alone:
 * it may register or unregister the block, or change its pages.
 *
 * Every function is one loop around a compare-and-exchange.  None waits, except word_wait() and
 * word_drain().  A thread that holds a word may take locks; a thread that holds a lock does not
 * wait for a word.
 */
#ifndef HP_HEAP_WORD_H
#define HP_HEAP_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WORD_USERS          0x000fffffu /* the number of users inside */
#define WORD_TAKEN          0x00100000u /* no user enters; the taker is alone once all have left */
#define WORD_MARKED         0x00200000u /* a queued pin waits for the last user, or has the word */
#define WORD_WAITED         0x00400000u /* a thread sleeps on the word, or is about to */
#define WORD_PINNED         0x00800000u /* hotpin has registered the block */
#define WORD_ALTERED        0x01000000u /* the program has changed the pages, or the driver refuses */
#define WORD_REGISTERED     0x02000000u /* the program has registered memory in the block */
#define WORD_GENERATION     0xfc000000u /* changes when the users inside are forgotten */
#define WORD_ONE_GENERATION 0x04000000u

/*
 * A block with one of these is not pinned.  If the driver has refused to unregister it, it still
 * is, until the next thread that enters it has tried again (word_keep()).
 */
#define WORD_FOREIGN        (WORD_ALTERED | WORD_REGISTERED)

typedef _Atomic uint32_t hp_word;

/* How long a wait for words lasts. */
#define WORD_PATIENCE_NS 1000000000u

/*
 * The end of a wait, by hp_now_ns().  0: WORD_PATIENCE_NS after the first wait, which sets it.
 * UINT64_MAX: never.
 */
typedef uint64_t word_until;

/*
 * Enters as a user.  False: the word has one of the bits `refuse`, WORD_TAKEN among them.
 * Otherwise *ret_saw is the word, for word_leave().
 */
bool word_enter(hp_word *word, uint32_t refuse, uint32_t *ret_saw);

/*
 * Leaves; nothing if the users inside have been forgotten since.  True: the word was marked and is
 * left to the housekeeper, which must be woken.
 */
bool word_leave(hp_word *word, uint32_t saw);

/*
 * Takes the word, alone, if it has the bits `state` of WORD_PINNED and WORD_FOREIGN, no other bit
 * of `look`, and neither taker nor user.
 */
bool word_try(hp_word *word, uint32_t look, uint32_t state);

/* To pin the block, to unpin it, and to drop or replace the pages of a block that is not pinned. */
static inline bool word_try_pin(hp_word *word)
{
	return word_try(word, WORD_PINNED | WORD_FOREIGN, 0);
}
static inline bool word_try_unpin(hp_word *word)
{
	return word_try(word, WORD_PINNED, WORD_PINNED);
}
static inline bool word_try_clear(hp_word *word)
{
	return word_try(word, WORD_PINNED | WORD_REGISTERED, 0);
}

enum word_look {
	WORD_DROPPED, /* the block cannot be pinned */
	WORD_LEFT,    /* users are inside; the last one leaves the word to the housekeeper */
	WORD_ALONE,   /* the caller has taken the word */
};

/* The housekeeper looks at a block that is queued to be pinned. */
enum word_look word_look(hp_word *word);

/*
 * Sets WORD_ALTERED or WORD_REGISTERED.  A word that is pinned and not taken is taken as well: then
 * the result is true, and word_drain() follows.  Otherwise word_take() follows.
 */
bool word_alter(hp_word *word, uint32_t bit);

/* Clears WORD_ALTERED or WORD_REGISTERED. */
void word_restore(hp_word *word, uint32_t bit);

/*
 * Takes the word of a pinned block, and waits while another thread has taken it.  True: taken;
 * word_drain() follows.  False: the block is not pinned, or the wait has ended.
 */
bool word_take(hp_word *word, word_until *until);

/*
 * Waits until the users of a word that this thread has taken have left.  If the wait ends before
 * that, the users are forgotten.  False then.
 */
bool word_drain(hp_word *word, word_until *until);

/* Waits while the word is taken.  False: the wait has ended before that. */
bool word_wait(hp_word *word, word_until *until);

/*
 * Gives back a word that this thread has alone.  The block is `pinned` or not.  If `ret_saw` is not
 * NULL, the thread becomes a user without a gap, and *ret_saw is for word_leave().  False: the
 * block must not stay pinned, because the program has altered it meanwhile; nothing has changed.
 */
bool word_release(hp_word *word, bool pinned, uint32_t *ret_saw);

/* Gives back a word that this thread has alone, of a block that the driver did not unregister. */
void word_keep(hp_word *word);

/* In the child of fork(): forgets users and takers, and that the block was registered. */
void word_reset(hp_word *word);

#endif
