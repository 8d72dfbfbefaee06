/*
 * deferral.pml - an upload that returns early, against the first call of another thread.
 *
 * Only the first thread that calls the driver defers: its synchronous uploads on the legacy stream
 * return before the device has them.  Another thread may learn through memory that such an upload has
 * returned, and use the data.  So its first call ends deferral for good, and waits for the uploads
 * that are deferred by then.
 *
 * Modeled: the choice of the first thread; its uploads, kernels and synchronizations; the first calls
 * of two other threads; the legacy stream, with copies, kernels and events in order.  The last kernel
 * of the first thread ends after a call of another thread has returned, so no such call may wait
 * behind it.  With TWO_WORDS, "deferral is possible" and the state of the stream are in two words, and
 * each thread has a store buffer, as on x86.
 *
 * Abstracted: one context.  The other orders behind a deferred upload (non-blocking streams, queries
 * and so on) are those of one thread.
 *
 * Proved, for the threads of each line in run.py:
 *
 *	- When a call of another thread continues to the driver, all uploads that have returned early
 *	  are complete, and none returns early afterwards.  So each thread waits in its first call only.
 *	- No call of another thread waits for a kernel that was launched behind the deferred uploads.
 *	- The first thread waits for another thread only while that one records the event.
 *	- With one word, which is changed by read-modify-write operations, no fence is needed.  With two
 *	  words, both sides need a sequentially consistent fence.
 */

/* The rules that a run can leave out. */
#define END_BEFORE_LOOKING 1
#define PUBLISH_LOOKS      2
#define RECORD_BEFORE_WORK 3
#define RECORDING_EXCLUDES 4
#define ALL_WAIT           5
#define FENCE              6

#include "settings.pml"

/* The word: a bit, and the state of the legacy stream. */
#define ALONE     1 /* deferral is possible: no other thread has called */
#define IDLE      0 /* no deferred upload is in flight */
#define OPEN      2 /* deferred uploads, with no other work behind them */
#define RECORDING 4 /* a thread records the event, before other work follows */
#define RECORDED  6
#define STATE     6
byte word = ALONE;

byte first;          /* the thread that defers; 0: none has called yet */
byte recorded;       /* the place of the event in the stream */

/* The legacy stream.  Work at a place is complete once `complete` has reached that place. */
#define MOST   8
#define UPLOAD 1
#define EVENT  2
#define KERNEL 3     /* ends by itself */
#define SPINS  4     /* ends when a call of another thread has returned */
byte stream[MOST];
byte enqueued, complete;

/* The facts. */
byte early;          /* the place of the last upload that returned early */
bool continued;      /* a call of another thread has continued to the driver */

/* The settings of a run. */
byte calls;          /* of the first thread */
bool two_words;

/* Store buffers for TWO_WORDS: the first thread has stored OPEN; another one has cleared ALONE. */
bool stored_open, stored_end;

proctype memory()
{
end_memory:
	do
	:: atomic { stored_open -> stored_open = false; word = (word & ALONE) | OPEN }
	:: atomic { stored_end -> stored_end = false; word = word & ~ALONE }
	od
}

proctype device()
{
end_device:
	do
	:: atomic {
		complete < enqueued && (stream[complete] != SPINS || continued) -> complete++
	   }
	od
}

inline enqueue(work, ret_place)
{
	stream[enqueued] = work;
	enqueued++;
	ret_place = enqueued
}

/* Records the event behind the deferred uploads.  The word is RECORDING by this thread. */
inline record()
{
	atomic {
		enqueue(EVENT, recorded);
		printf("thread %d records the event\n", _pid)
	}
	word = (word & ALONE) | RECORDED
}

/* A synchronous upload of the first thread. */
inline upload()
{
	may = (word & ALONE) != 0;
	atomic {
		enqueue(UPLOAD, place);
		printf("thread %d enqueues an upload\n", _pid)
	}
	if
	:: may && two_words ->
		stored_open = true;
		!stored_open || LEFT_OUT(FENCE)
	:: else
	fi;
	/* One read-modify-write operation tells whether deferral is still possible, and publishes. */
	atomic {
		if
		:: may && ((word & ALONE) != 0 || LEFT_OUT(PUBLISH_LOOKS)) ->
			assert(!continued);
			word = (two_words -> word : (word & ALONE) | OPEN);
			early = place;
			printf("thread %d returns early\n", _pid)
		:: else -> may = false
		fi
	}
	if
	:: !may -> complete >= place
	:: else
	fi
}

/* A kernel of the first thread. */
inline launch(kernel)
{
	!stored_open; /* A read-modify-write operation empties the store buffer. */
	do
	:: atomic {
		(word & STATE) == OPEN && KEPT(RECORD_BEFORE_WORK) ->
			word = (word & ALONE) | RECORDING
	   }
	   record()
	:: (word & STATE) == RECORDING -> (word & STATE) != RECORDING
	:: (word & STATE) == IDLE || (word & STATE) == RECORDED || LEFT_OUT(RECORD_BEFORE_WORK) -> break
	od;
	atomic {
		enqueue(kernel, place);
		printf("thread %d launches a kernel\n", _pid)
	}
}

/* A synchronization of the first thread. */
inline synchronize()
{
	!stored_open;
	place = enqueued;
	complete >= place;
	atomic {
		if
		:: (word & STATE) == OPEN || (word & STATE) == RECORDED -> word = word & ALONE
		:: else
		fi
	}
}

/* The first call of another thread. */
inline end_deferral()
{
	if
	:: two_words ->
		stored_end = true;
		!stored_end || LEFT_OUT(FENCE)
	:: else ->
		may = ((word & STATE) == IDLE && LEFT_OUT(END_BEFORE_LOOKING)) ||
		      ((word & ALONE) == 0 && LEFT_OUT(ALL_WAIT));
		word = word & ~ALONE
	fi;
	do
	:: may || (word & STATE) == IDLE -> break
	:: atomic {
		!may && (word & STATE) == OPEN ->
			word = (KEPT(RECORDING_EXCLUDES) -> (word & ALONE) | RECORDING : word)
	   }
	   record()
	:: !may && (word & STATE) == RECORDING -> (word & STATE) != RECORDING
	:: !may && (word & STATE) == RECORDED ->
		place = recorded;
		complete >= place;
		/* Nobody opens the stream again, so the state may be set in any order. */
		atomic {
			if
			:: (word & STATE) == RECORDED -> word = word & ALONE
			:: else
			fi
		}
	od;
	atomic {
		assert(complete >= early);
		continued = true;
		printf("thread %d continues to the driver\n", _pid)
	}
}

/* A thread that calls becomes the first, or is another one. */
proctype caller()
{
	byte left, place;
	bool may;

	atomic {
		if
		:: first == 0 -> first = _pid
		:: else
		fi
	}
	if
	:: first == _pid ->
		left = calls;
		do
		:: left > 0 -> left--; upload()
		:: left > 0 -> left--; launch(KERNEL)
		:: left > 0 -> left--; synchronize()
		:: left == 0 -> launch(SPINS); break
		od
	:: else -> end_deferral()
	fi;
	running--
}

/* Runs when nothing can happen any more. */
proctype judge()
{
	timeout;
	assert(running == 0)
}

init {
	atomic {
		c_code {
			now.without = setting("WITHOUT");
			now.running = setting("CALLERS");
			now.calls = setting("CALLS");
			now.two_words = setting("TWO_WORDS");
		};
		run judge();
		run device();
		run memory();
		if
		:: running > 2 -> run caller()
		:: else
		fi;
		run caller();
		run caller()
	}
}
