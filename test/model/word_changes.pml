/*
 * word_changes.pml - the threads that change registrations, or pages.
 */

/*
 * calloc() of a cached block, the purge of one, realloc() that moves pages, fresh pages for a freed
 * block that was altered.
 */
proctype clearer()
{
	LOCALS;

	choose(b);
	atomic {
		if
		:: (word[b] & (TAKEN | PINNED | USERS)) == 0 &&
		   ((word[b] & ALTERED) == 0 || changers == 0) ->
			/* A program does not change pages of a block that it frees at that time. */
			set_word(b, (word[b] | TAKEN) & ~ALTERED);
			alone = true;
			holding++
		:: else
		fi
	}
	if
	:: alone ->
		assert(!registered[b] && !changing[b]);
		stale[b] = true;
		assert(!registered[b] && !changing[b]);
		release(b, 0)
	:: else /* memset(), the next block, memcpy() */
	fi;
	finish()
}

/*
 * munmap(), mprotect() and so on, of a range that touches all blocks.  One second a call.  `stops`: a
 * function that hotpin does not know, which ends pinning for good.
 */
proctype changer(bool stops)
{
	LOCALS;

	if
	:: stops ->
		holds++;
		ended = true;
		/* Without the rule it looks at no word if nothing is pinned just now. */
		if
		:: LEFT_OUT(STOP_LOOKS) && !registered[0] && !registered[1] -> b = blocks
		:: else
		fi
	:: else
	fi;
	changers++;
	do
	:: b < blocks ->
		/* First of all: then the thread that is alone unpins the block when it gives it back. */
		atomic {
			if
			:: LEFT_OUT(ALTERED_FIRST)
			:: KEPT(ALTERED_FIRST) && (word[b] & TAKEN) != 0 -> set_word(b, word[b] | ALTERED)
			:: KEPT(ALTERED_FIRST) && (word[b] & (TAKEN | PINNED)) == PINNED ->
				set_word(b, word[b] | ALTERED | TAKEN);
				alone = true;
				holding++;
				printf("thread %d takes block %d\n", _pid, b)
			:: KEPT(ALTERED_FIRST) && (word[b] & (TAKEN | PINNED)) == 0 ->
				set_word(b, (word[b] | ALTERED) &
					    ~(LEFT_OUT(ALTERING_UNMARKS) -> 0 : MARKED));
				wanted[b] = false
			fi
		}
		if
		:: alone -> drain(b, true)
		:: else -> take_pinned(b)
		fi;
		if
		:: alone -> unregister(b); release(b, 0)
		:: else
		fi;
		b++
	:: else -> break
	od;
	do
	:: atomic {
		b > 0 ->
			b--;
			assert(late || !registered[b]);
			stale[b] = true;
			printf("thread %d changes the pages of block %d\n", _pid, b)
	   }
	:: else -> break
	od;
	changers--;
	finish()
}

/*
 * cuCtxDestroy(), a reset, a release that may be the last.  Only this thread waits while it holds
 * words: for users, and for a word that another thread has alone.
 */
inline end_context(context)
{
	ends = true;
	holds = holds + (LEFT_OUT(HOLDS_BEFORE_LOOKING) -> 0 : 1);
	do
	:: b < blocks ->
		seen = word[b];
		if
		:: (seen & PINNED) != 0 -> skip_it = owner[b] != context && KEPT(END_SKIPS_OTHERS)
		:: else -> skip_it = (seen & TAKEN) == 0
		fi;
		if
		:: LEFT_OUT(END_WAITS_FOR_TAKEN) && (seen & TAKEN) != 0 -> skip_it = true
		:: else
		fi;
		if
		:: skip_it -> b++
		:: !skip_it && (seen & TAKEN) != 0 ->
			/* Another context's end may have its own blocks for long. */
			assert((seen & PINNED) == 0 || owner[b] == context);
			seen = 0;
			wait_taken(b, false)
		:: else ->
			atomic {
				if
				:: word[b] == seen ->
					set_word(b, word[b] | TAKEN);
					mine[b] = true;
					holding++;
					b++;
					printf("thread %d closes block %d\n", _pid, b - 1)
				:: else
				fi
			}
		fi;
		seen = 0
	:: else -> break
	od;
	do
	:: b > 0 ->
		b--;
		if
		:: mine[b] && KEPT(END_DRAINS) -> drain(b, false)
		:: else
		fi
	:: else -> break
	od;
	/* The driver's call. */
	atomic {
		if
		:: alive[context] = false
		:: skip /* It fails, or another reference keeps the context. */
		fi;
		do
		:: b < blocks ->
			if
			:: registered[b] && owner[b] == context && !alive[context] ->
				assert(in_driver[b] == 0 && !changing[b]);
				registered[b] = false
			:: else
			fi;
			b++
		:: else -> break
		od;
		printf("thread %d has ended context %d: alive %d\n", _pid, context, alive[context])
	}
	do
	:: b > 0 ->
		b--;
		if
		:: mine[b] ->
			mine[b] = false;
			state = (alive[context] -> PINNED : 0);
			release(b, 0)
		:: else
		fi
	:: else -> break
	od;
	holds = holds - (LEFT_OUT(HOLDS_BEFORE_LOOKING) -> 0 : 1)
}

proctype ender(byte context)
{
	LOCALS;
	bool mine[BLOCKS], skip_it;

	end_context(context);
	finish()
}

/*
 * A copy that a signal handler leaves by longjmp(), inside the copy or inside the registration before
 * it.  If the thread calls again, its next wrapper gives back what was left, before that call does
 * anything; here it ends the context.
 */
proctype leaver(bool pins, calls_again)
{
	LOCALS;
	byte context;
	bool mine[BLOCKS], skip_it;

	if
	:: pins -> try_alone(b, 0)
	:: else
	fi;
	if
	:: alone ->
		owner[b] = context;
		register(b, context);
		/* It cannot know whether the driver has registered the block.  A refusal does no harm. */
		if
		:: calls_again && state == PINNED -> unregister(b)
		:: else
		fi;
		state = 0;
		if
		:: calls_again -> release(b, 0)
		:: else -> holding--
		fi
	:: else -> enter(b);
		if
		:: (saw & TAKEN) == 0 ->
			call_driver(b);
			left_behind[b]++;
			if
			:: calls_again && KEPT(GIVE_BACK) -> left_behind[b]--; leave(b)
			:: else -> saw = 0; holding--
			fi
		:: else -> saw = 0
		fi
	fi;
	if
	:: calls_again -> end_context(context)
	:: else
	fi;
	finish()
}

/*
 * fork().  A handler that interrupted a copy may call it, so the thread may be inside, and leaves in
 * the child as well.  The child has this thread only; it resets all words first.
 */
proctype forker()
{
	LOCALS;
	int childs[BLOCKS];

	choose(b);
	enter(b);
	atomic {
		do
		:: index < BLOCKS ->
			childs[index] = (LEFT_OUT(RESET_IN_CHILD) -> word[index] :
					 (word[index] & ALTERED) |
						 ((word[index] + ONE_GENERATION) & GENERATION));
			/* The child finds no other thread's traces: it waits for nobody. */
			assert((childs[index] & (TAKEN | USERS | PINNED)) == 0);
			index++
		:: else -> break
		od;
		/* As in leave(). */
		assert((saw & TAKEN) != 0 || (childs[b] & GENERATION) != (saw & GENERATION));
		childs[0] = 0;
		childs[1] = 0;
		index = 0
	}
	copy_and_leave(b);
	finish()
}

/*
 * Looks at a block of the queue, or at one that was marked.  A word that a last user has left to the
 * housekeeper is released in every case.
 */
inline look_at(block)
{
	atomic {
		if
		:: (word[block] & (TAKEN | MARKED)) == (TAKEN | MARKED) ->
			if
			:: LEFT_OUT(HANDED_IS_RELEASED) && (holds != 0 || (word[block] & ALTERED) != 0)
			:: else ->
				marked[block] = false;
				alone = true;
				holding++
			fi
		:: (word[block] & (TAKEN | MARKED)) == TAKEN ||
		   ((word[block] & TAKEN) == 0 && (word[block] & (PINNED | ALTERED)) != 0) ->
			marked[block] = false /* dropped: a later copy queues the block again */
		:: (word[block] & (TAKEN | PINNED | ALTERED)) == 0 && (word[block] & USERS) == 0 ->
			set_word(block, word[block] | TAKEN);
			marked[block] = false;
			alone = true;
			holding++
		:: (word[block] & (TAKEN | PINNED | ALTERED)) == 0 && (word[block] & USERS) != 0 ->
			set_word(block, word[block] | (LEFT_OUT(MARK) -> 0 : MARKED));
			marked[block] = true;
			wanted[block] = true;
			printf("thread %d marks block %d\n", _pid, block)
		fi
	}
	if
	:: alone -> pin_alone(block, 0, 0)
	:: else
	fi
}

/* It only tries, so it waits for nothing but the driver, and for its bell. */
proctype housekeeper()
{
	LOCALS;
	byte heard;
	bool marked[BLOCKS]; /* this thread has marked the word */

	do
	:: heard = bell;
		do
		:: b < blocks ->
			if
			:: queued[b] -> queued[b] = false; look_at(b)
			:: !queued[b] && marked[b] -> look_at(b)
			:: else
			fi;
			/* Unpinning: the device is idle and the gate is closed (gate.pml). */
			if
			:: holds == 0 -> try_alone(b, PINNED)
			:: true
			fi;
			if
			:: alone -> unregister(b); release(b, 0)
			:: else
			fi;
			b++
		:: else -> b = 0; break
		od;
		if
		:: LEFT_OUT(BELL_BEFORE_LOOKING) -> heard = bell
		:: else
		fi;
		atomic {
			assert(holding == 0);
			if
			:: bell == heard -> asleep[_pid] = BELL
			:: else
			fi;
			heard = 0
		}
end_idle:	asleep[_pid] == 0
	od
}
