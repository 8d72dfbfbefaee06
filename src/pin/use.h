/*
 * The blocks that this thread is inside, or has alone (heap/word.h).
 *
 * The list of them lets a thread give back what longjmp() out of a signal handler has left: an
 * entry names the frame of the exported function that made it.  A thread with an entry is not
 * canceled.
 */
#ifndef HP_PIN_USE_H
#define HP_PIN_USE_H

#include "heap/block.h"

#include <stdbool.h>

enum pin_use {
	PIN_PAGEABLE, /* inside, and the block is pageable until the thread leaves */
	PIN_PINNED,   /* inside, and the block is pinned by us until the thread leaves */
	PIN_TAKEN,    /* not inside: another thread changes the block's registration */
};

/*
 * Called first in every exported function that uses blocks, with its frame address.  Gives back
 * what calls of this thread that never returned have left.  One load.
 */
void pin_give_back(const void *frame);

/*
 * Enters the block.  Waits for no other thread.  A call may name a block again: it is inside
 * already then.  First unpins a block that should not be pinned any more.
 */
enum pin_use pin_enter(struct block *block, const void *frame);

/* The same, but only if the block is pageable. */
enum pin_use pin_enter_pageable(struct block *block, const void *frame);

/* Leaves all blocks that were entered with this frame. */
void pin_leave(const void *frame);

/* Waits while another thread has taken the block.  The caller is inside no block. */
void pin_wait(struct block *block);

/* The functions from here on are for src/pin only. */

/*
 * use_begin() makes an entry for a word that this thread is about to take; use_alone() follows once
 * it has the word, or use_end().  False: there is no memory.
 */
bool use_begin(const void *frame);
void use_alone(struct block *block);
void use_end(void);

/*
 * Gives back the word of a block that this thread has alone, and ends its entry if there is one.
 * `inside`: the thread becomes a user, if there is an entry, until pin_leave().  False: the block
 * must be unpinned first (word_release()).
 */
bool use_release(struct block *block, bool pinned, bool inside);

/*
 * Ends our registration of a block that this thread has alone, and gives its word back.  Waits for
 * running kernels, as the driver does.  False: the driver refuses, as in a host function of the
 * program, and the block stays pinned.
 */
bool use_unpin(struct block *block);

#endif
