/*
 * word_users.pml - the threads that give addresses in blocks to the driver.
 */
byte changers;       /* of these, threads that change pages */
bool ended;          /* pinning has ended for good */
bool queued[BLOCKS]; /* the queue of pins, guarded by the lock pin; all in context 0 */

/*
 * What each thread has: the number of words that it holds, as a user or alone (`holding`); what it
 * saw when it entered; the value that it sleeps on; the state in which it releases a word; what it
 * must do for other threads; whether its second has passed; whether it ends a context.
 */
#define LOCALS \
	byte index, b, holding; \
	int saw, seen, state; \
	bool wakes, hands, alone, late, ends

inline choose(block)
{
	if
	:: block = 0
	:: blocks > 1 -> block = 1
	fi
}

inline finish()
{
	atomic {
		assert(holding == 0);
		running--
	}
}

/* The copy of a thread that has entered the block, or has found its word taken. */
inline copy_and_leave(block)
{
	if
	:: (saw & TAKEN) == 0 -> call_driver(block); leave(block)
	:: else -> saw = 0 /* through staging memory: the driver gets no address in the block */
	fi
}

/* A copy of one block.  It may pin the block before, or queue it.  It never waits for a word. */
proctype copier(bool pins, queues)
{
	LOCALS;
	byte context;

	choose(b);
	if
	:: pins && (holds == 0 || KEPT(HOLDS_AFTER_TAKING)) -> try_alone(b, 0)
	:: queues -> queued[b] = true; ring()
	:: else
	fi;
	if
	:: alone -> pin_alone(b, context, 1)
	:: else -> enter(b)
	fi;
	copy_and_leave(b);
	finish()
}

/* A question about an address in the block.  The answer must be that of pageable memory. */
proctype asker()
{
	LOCALS;

	choose(b);
	atomic {
		if
		:: (word[b] & TAKEN) == 0 && ((word[b] & PINNED) == 0 || LEFT_OUT(QUERY_AVOIDS_PINNED)) ->
			set_word(b, word[b] + 1);
			saw = word[b] & GENERATION;
			holding++
		:: else -> saw = TAKEN /* it asks about another address, which is pageable */
		fi
	}
	copy_and_leave(b);
	finish()
}

/*
 * Takes the word of a pinned block alone, even if there are users: sets `alone`.  `late`: the thread
 * goes on without the word.
 */
inline take_pinned(block)
{
	do
	:: (word[block] & TAKEN) != 0 && late -> break
	:: (word[block] & TAKEN) != 0 && !late -> wait_taken(block, true)
	:: atomic {
		(word[block] & (TAKEN | PINNED)) == PINNED ->
			set_word(block, word[block] | TAKEN);
			alone = true;
			holding++;
			printf("thread %d takes block %d\n", _pid, block);
			break
	   }
	:: (word[block] & (TAKEN | PINNED)) == 0 -> break
	od;
	if
	:: alone -> drain(block, true)
	:: else
	fi
}

/* Enters both blocks, or waits for the one that is taken and starts again. */
inline enter_both()
{
	do
	:: enter(0);
		if
		:: (saw & TAKEN) != 0 -> saw = 0; wait_taken(0, false)
		:: else ->
			first = saw;
			enter(1);
			if
			:: (saw & TAKEN) == 0 -> break
			:: else -> saw = first
			fi;
			if
			:: LEFT_OUT(BATCH_GIVES_UP) ->
				do
				:: (word[1] & TAKEN) != 0 -> wait_taken(1, false)
				:: else -> break
				od;
				leave(0)
			:: else ->
				leave(0);
				wait_taken(1, false)
			fi
		fi
	od
}

inline call_with_both()
{
	atomic {
		assert((!changing[0] || forced[0]) && (!changing[1] || forced[1]));
		in_driver[0]++;
		in_driver[1]++
	}
	atomic {
		in_driver[0]--;
		in_driver[1]--
	}
	leave(1);
	saw = first;
	leave(0)
}

/* A copy from one block to another, or a batch, which cannot go through staging memory. */
proctype batcher()
{
	LOCALS;
	int first;

	enter_both();
	call_with_both();
	finish()
}

/*
 * A call that the driver must see as one of pageable memory: a captured copy, a copy across a
 * block's end, one that the driver has refused, advice.  A copy has left its block before, for a
 * user never becomes alone.  It need not enter: nothing is pinned while `holds` is raised, and the
 * registration of a block that is not pinned does not change.
 */
proctype pageable()
{
	LOCALS;

	holds = holds + (LEFT_OUT(PAGEABLE_HOLDS) -> 0 : 1);
	do
	:: b < blocks ->
		take_pinned(b);
		if
		:: alone -> unregister(b); release(b, 0)
		:: else
		fi;
		b++
	:: else -> break
	od;
	atomic {
		do
		:: b > 0 ->
			b--;
			/* After a second, error 719 may follow. */
			forced[b] = forced[b] || late;
			assert(late || (!changing[b] && !registered[b]));
			in_driver[b]++
		:: else -> break
		od
	}
	atomic {
		do
		:: b < blocks -> in_driver[b]--; b++
		:: else -> break
		od
	}
	holds = holds - (LEFT_OUT(PAGEABLE_HOLDS) -> 0 : 1);
	finish()
}
