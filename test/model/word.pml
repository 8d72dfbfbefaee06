/*
 * word.pml - the word of a block, and all that threads do with it.  README.md has it as a table.
 *
 * An `atomic` that reads and sets `word` is one successful compare-and-exchange, sequentially
 * consistent.  The loop around it in C only repeats what has changed nothing.
 */
#define USERS          15  /* a count: threads that give addresses in the block to the driver */
#define TAKEN          16  /* no user enters; its taker is alone once USERS is 0 */
#define MARKED         32  /* a queued pin waits for the last user; with TAKEN: it has the word */
#define WAITED         64  /* a thread sleeps on the word, or is about to */
#define PINNED         128 /* hotpin has registered the block */
#define ALTERED        256 /* the program has changed the pages: not pinned again */
#define GENERATION     1536
#define ONE_GENERATION 512 /* is added when the users inside are forgotten */

#define BLOCKS   2
#define CONTEXTS 2

int word[BLOCKS];    /* a futex; the futex of block b is b + 1 */
byte owner[BLOCKS];  /* the context of the registration; written by the thread that is alone */
byte holds;          /* live captures, ends of contexts, calls that must see pageable memory */
#define BELL (BLOCKS + 1)

/* The facts, regardless of the words. */
bool registered[BLOCKS];   /* in the driver */
bool changing[BLOCKS];     /* the driver is registering or unregistering the block */
byte in_driver[BLOCKS];    /* calls inside the driver that were given an address in the block */
bool stale[BLOCKS];        /* the pages have changed since the last registration began */
bool forced[BLOCKS];       /* users were forgotten: the block was unregistered around them */
bool wanted[BLOCKS];       /* a queued pin has marked the word */
byte left_behind[BLOCKS];  /* users that longjmp() left */
bool alive[CONTEXTS];

byte blocks; /* of this run */
bool strict; /* a registration that ends under a forgotten user is an error of this run */

/* One successful compare-and-exchange. */
inline set_word(block, value)
{
	word[block] = value;
	assert((word[block] & (WAITED | TAKEN)) != WAITED);
	assert((word[block] & (PINNED | ALTERED | TAKEN)) != (PINNED | ALTERED));
	assert((word[block] & (MARKED | TAKEN)) != MARKED ||
	       ((word[block] & USERS) != 0 && (word[block] & (PINNED | ALTERED)) == 0));
	assert((word[block] & (MARKED | TAKEN)) != (MARKED | TAKEN) || (word[block] & USERS) == 0);
	assert((word[block] & (PINNED | TAKEN)) != PINNED || !stale[block])
}

/* Enters as a user and sets `saw`; TAKEN: the thread is no user.  Never waits. */
inline enter(block)
{
	atomic {
		if
		:: (word[block] & TAKEN) == 0 || LEFT_OUT(TAKEN_KEEPS_OUT) ->
			set_word(block, word[block] + 1);
			saw = word[block] & (PINNED | GENERATION);
			holding++;
			printf("thread %d enters block %d\n", _pid, block)
		:: else ->
			saw = TAKEN;
			printf("thread %d finds block %d taken\n", _pid, block)
		fi
	}
}

/* Leaves.  The last user wakes the threads that wait, or hands the word to the housekeeper. */
inline leave(block)
{
	atomic {
		if
		:: (word[block] & GENERATION) != (saw & GENERATION) && KEPT(FORGET_BY_GENERATION) ->
			printf("thread %d was forgotten in block %d\n", _pid, block)
		:: else ->
			assert((word[block] & USERS) != 0);
			if
			:: (word[block] & USERS) == 1 && (word[block] & TAKEN) != 0 ->
				wakes = (word[block] & WAITED) != 0;
				set_word(block, (word[block] - 1) & ~WAITED)
			:: (word[block] & USERS) == 1 && (word[block] & (TAKEN | MARKED)) == MARKED ->
				hands = true;
				set_word(block, (word[block] - 1) | TAKEN)
			:: else -> set_word(block, word[block] - 1)
			fi;
			printf("thread %d leaves block %d\n", _pid, block)
		fi;
		saw = 0;
		holding--
	}
	if
	:: wakes ->
		wakes = false;
		if
		:: KEPT(WAKE_BY_LAST_USER) -> wake(block + 1)
		:: else
		fi
	:: hands ->
		hands = false;
		if
		:: KEPT(RING_AFTER_HANDING) -> ring()
		:: else
		fi
	:: else
	fi
}

/* Becomes alone at once, if the block is in `state` (PINNED or 0) and has no user.  Never waits. */
inline try_alone(block, state)
{
	atomic {
		if
		:: (word[block] & (TAKEN | PINNED | ALTERED)) == state &&
		   ((word[block] & USERS) == 0 || LEFT_OUT(TRY_WITHOUT_USERS)) ->
			set_word(block, word[block] | TAKEN);
			alone = true;
			holding++;
			printf("thread %d takes block %d\n", _pid, block)
		:: else
		fi
	}
}

/* The driver begins to change a registration. */
inline begin_change(block, context)
{
	atomic {
		assert(!changing[block] && alive[context]);
		assert(in_driver[block] == 0 || (forced[block] && !strict));
		changing[block] = true
	}
}

/* cuMemHostRegister() of the whole block, which may refuse: sets `state`. */
inline register(block, context)
{
	begin_change(block, context);
	stale[block] = false;
	atomic {
		assert(!registered[block] && alive[context]);
		changing[block] = false;
		if
		:: registered[block] = true; state = PINNED
		:: state = 0
		fi;
		printf("thread %d has registered block %d: state %d\n", _pid, block, state)
	}
}

/* cuMemHostUnregister().  It waits for running kernels, so it lasts. */
inline unregister(block)
{
	begin_change(block, owner[block]);
	atomic {
		assert(registered[block] && alive[owner[block]]);
		changing[block] = false;
		registered[block] = false;
		printf("thread %d has unregistered block %d\n", _pid, block)
	}
}

/*
 * Gives the word back with the block in `state`.  `user`: 1 if the thread becomes a user without a
 * gap.  A block that was altered since the word was taken does not stay pinned.
 */
inline release(block, user)
{
	do
	:: atomic {
		state == 0 || (word[block] & ALTERED) == 0 || LEFT_OUT(ALTERED_AT_RELEASE) ->
			assert((word[block] & TAKEN) != 0 && (word[block] & USERS) == 0);
			wakes = (word[block] & WAITED) != 0;
			saw = ((word[block] & GENERATION) | state) * user;
			set_word(block, (word[block] & (ALTERED | GENERATION)) | state + user);
			holding = holding - 1 + user;
			state = 0;
			alone = false;
			printf("thread %d releases block %d\n", _pid, block);
			break
	   }
	:: atomic {
		state != 0 && (word[block] & ALTERED) != 0 && KEPT(ALTERED_AT_RELEASE) -> state = 0
	   }
	   unregister(block)
	od;
	if
	:: wakes ->
		wakes = false;
		if
		:: KEPT(WAKE_AT_RELEASE) -> wake(block + 1)
		:: else
		fi
	:: else
	fi
}

/* Pins the block, whose word this thread has alone, and gives the word back. */
inline pin_alone(block, context, user)
{
	owner[block] = context;
	/* The word is taken by now, so a thread that raises `holds` later finds it taken. */
	if
	:: (holds == 0 || LEFT_OUT(HOLDS_AFTER_TAKING)) && alive[context] -> register(block, context)
	:: else
	fi;
	wanted[block] = false;
	release(block, user)
}

/* Waits while the word is taken, once.  The thread holds no word, unless it ends a context. */
inline wait_taken(block, bounded)
{
	assert(holding == 0 || ends || LEFT_OUT(BATCH_GIVES_UP));
	atomic {
		if
		:: (word[block] & TAKEN) != 0 ->
			set_word(block, word[block] | WAITED);
			seen = word[block]
		:: else
		fi
	}
	if
	:: seen != 0 ->
		sleep_if(word[block] == seen || LEFT_OUT(COMPARE_BEFORE_SLEEP), block + 1, bounded)
	:: else
	fi
}

/*
 * Waits until the users of a word that this thread has taken have left.  When a bounded wait has
 * expired, it forgets them: no later thread waits for them again, and they change nothing when they
 * leave.
 */
inline drain(block, bounded)
{
	assert(holding == 1 || ends);
	do
	:: (word[block] & USERS) == 0 -> break
	:: atomic {
		(word[block] & USERS) != 0 && !(bounded && late) ->
			set_word(block, word[block] | WAITED);
			seen = word[block]
	   }
	   sleep_if(word[block] == seen || LEFT_OUT(COMPARE_BEFORE_SLEEP), block + 1, bounded)
	:: atomic {
		(word[block] & USERS) != 0 && bounded && late ->
			forced[block] = true;
			set_word(block, (word[block] & ~(USERS | GENERATION)) |
					((word[block] + ONE_GENERATION) & GENERATION));
			printf("thread %d forgets the users of block %d\n", _pid, block);
			break
	   }
	od
}

/* A driver call that is given an address in the block by a user that has entered. */
inline call_driver(block)
{
	atomic {
		assert(!changing[block] || forced[block]);
		assert(registered[block] == ((saw & PINNED) != 0) || forced[block]);
		in_driver[block]++;
		printf("thread %d calls the driver with block %d\n", _pid, block)
	}
	in_driver[block]--
}
