/*
 * gate.pml - the gate in front of the driver, which the housekeeper closes to unpin.
 *
 * cuMemHostUnregister() waits for running kernels.  A kernel may run until its program makes the next
 * call.  So the housekeeper unregisters while the device is idle, and new work waits at the gate.
 *
 * Modeled: threads that submit work; a kernel that ends by itself, or with the next call of its
 * thread that reaches the driver; the housekeeper's round (5 ms of rest, one query, the closed gate,
 * unregistrations, the open gate); its round under memory pressure, which closes the gate before the
 * rest and asks again for up to a second; fork() that asks it for a round; captures and ends of
 * contexts, which the query must not meet.
 *
 * Abstracted: the rest is long enough that a call which passed the gate before it reaches the driver
 * (`between`), unless its thread was suspended (`suspended`).  Words of blocks are in block_word.pml:
 * the housekeeper only tries them.
 *
 * Proved, for the threads of each line in run.py:
 *
 *	- No work starts during an unregistration, unless a thread has waited at the gate for a second,
 *	  or was suspended between the gate and the driver for longer than the rest.
 *	- While the gate is closed, a thread waits for one unregistration at most, except under memory
 *	  pressure.
 *	- Without these exceptions nobody needs the limit of a second: all threads end without it, also
 *	  if each kernel waits for the next call of its thread.
 *	- The query is not in the driver while a capture lives or a context ends, and these wait for the
 *	  query alone, not for unregistrations.
 *	- Each fork() gets an answer.
 */

/* The rules that a run can leave out. */
#define COMPARE_BEFORE_SLEEP  1
#define REST                  2
#define LOOK_BEFORE_EACH      3
#define WAITER_CLEARS_WATCHED 4
#define WAKE_AT_OPEN          5
#define HOLDS_AFTER_ASKING    6
#define HOLD_WAITS_FOR_QUERY  7
#define WAKE_AFTER_QUERY      8
#define BELL_BEFORE_LOOKING   9
#define CLOSED_KEEPS_OUT      10

#include "settings.pml"

/* The gate, a word and a futex.  Zero: calls pass after one load. */
#define WATCHED 1 /* set by the housekeeper; work that passes clears it */
#define CLOSED  2 /* with the housekeeper's unregistrations between set and clear */
#define GATE    1 /* futexes */
#define BELL    2
#define QUERY   3
#define FORKS   4

byte gate;
bool asking;       /* the query is in the driver; a futex */
byte holds;        /* live captures, ends of contexts; as in word.pml */
byte asked, answered; /* requests of fork(); answered is a futex */

/* The facts. */
byte kernels;        /* running, not counting these: */
byte ending;         /* running, and end by themselves */
byte between;        /* threads that have passed the gate and not reached the driver */
bool unregistering;
bool given_up;       /* a thread has waited for this unregistration for a second */
byte begun;          /* unregistrations that the housekeeper has decided on */
byte closings;       /* of the gate */
byte excluded;       /* captures that live, contexts that end */

/* The settings of a run. */
byte due;            /* blocks to unpin */
bool suspended;      /* threads may be suspended longer than the rest */
bool pressure;       /* the rounds begin with the closed gate */

#define LOCALS \
	byte index, left, seen, number, closing; \
	bool late, passes, spins, done

/* A thread that submits two kernels. */
proctype submitter()
{
	LOCALS;

	left = 2;
	do
	:: left > 0 ->
		atomic {
			passes = (gate & (WATCHED | CLOSED)) == 0;
			between = between + (passes -> 1 : 0);
			late = false
		}
		do
		:: passes -> break
		:: atomic {
			!passes && (gate & CLOSED) != 0 && !late && KEPT(CLOSED_KEEPS_OUT) ->
				gate = gate & ~(KEPT(WAITER_CLEARS_WATCHED) -> WATCHED : 0);
				seen = gate;
				number = begun;
				closing = closings;
				printf("thread %d finds the gate closed\n", _pid)
		   }
		   sleep_if(gate == seen || LEFT_OUT(COMPARE_BEFORE_SLEEP), GATE, true);
		   assert(begun == number || closings != closing || pressure)
		:: atomic {
			!passes && ((gate & CLOSED) == 0 || late || LEFT_OUT(CLOSED_KEEPS_OUT)) ->
				/* Later calls do not wait for what this one has waited for. */
				given_up = given_up || (late && (gate & CLOSED) != 0);
				gate = gate & ~(WATCHED | (late -> CLOSED : 0));
				between++;
				break
		   }
		od;
		/* The call reaches the driver.  It ends the thread's last kernel. */
		atomic {
			assert(!unregistering || given_up || suspended);
			between--;
			kernels = kernels - (spins -> 1 : 0);
			if
			:: spins = true; kernels++; printf("thread %d: a kernel waits for it\n", _pid)
			:: spins = false; ending++; printf("thread %d: a kernel runs\n", _pid)
			fi;
			left--
		}
	:: else -> break
	od;
	/* The last call submits no work. */
	atomic {
		kernels = kernels - (spins -> 1 : 0);
		running--
	}
}

proctype device()
{
end_device:
	do
	:: ending > 0 -> ending--
	od
}

/* A capture, or the end of a context: the query must not be in the driver at that time. */
proctype holder()
{
	LOCALS;

	holds++;
	do
	:: asking && KEPT(HOLD_WAITS_FOR_QUERY) ->
		seen = 1;
		sleep_if(asking || LEFT_OUT(COMPARE_BEFORE_SLEEP), QUERY, false)
	:: !asking || LEFT_OUT(HOLD_WAITS_FOR_QUERY) -> break
	od;
	excluded++;
	excluded--;
	holds--;
	running--
}

/* fork(): asks for a round, and waits for the answer. */
proctype forker()
{
	LOCALS;

	atomic {
		asked++;
		number = asked
	}
	ring();
	do
	:: answered < number ->
		seen = answered;
		if
		:: seen < number ->
			sleep_if(answered < number || LEFT_OUT(COMPARE_BEFORE_SLEEP), FORKS, true)
		:: else
		fi
	:: else -> break
	od;
	running--
}

/* Asks whether the device is idle: sets `done` if it is not, or if it may not be asked. */
inline query()
{
	if
	:: LEFT_OUT(HOLDS_AFTER_ASKING) -> done = holds != 0; asking = true
	:: else -> asking = true; done = holds != 0
	fi;
	if
	:: !done ->
		assert(excluded == 0);
		done = kernels + ending != 0;
		assert(excluded == 0)
	:: else
	fi;
	asking = false;
	if
	:: KEPT(WAKE_AFTER_QUERY) -> wake(QUERY)
	:: else
	fi
}

/* The bit that work clears when it passes the gate. */
#define WATCH (pressure -> CLOSED : WATCHED)

/* Unpins what is due, if the device is idle. */
inline round()
{
	atomic { gate = gate | WATCH; closings = closings + (pressure -> 1 : 0) }
	do
	:: between == 0 || suspended || LEFT_OUT(REST) -> /* the rest of 5 ms */
		if
		:: (gate & WATCH) != 0 -> query()
		:: else -> done = true
		fi;
		if
		:: !done -> break
		:: done -> break
		:: done && pressure && (gate & WATCH) != 0 -> done = false
		fi
	od;
	if
	:: !done && !pressure -> atomic { gate = gate | CLOSED; closings++ }
	:: else
	fi;
	do
	:: atomic {
		!done && due > 0 && ((gate & WATCH) != 0 || LEFT_OUT(LOOK_BEFORE_EACH)) ->
			begun++
	   }
	   atomic {
		unregistering = true;
		due--;
		printf("the housekeeper unregisters\n")
	   }
	   atomic {
		kernels + ending == 0;
		unregistering = false;
		given_up = false
	   }
	:: else -> break
	od;
	gate = 0;
	if
	:: KEPT(WAKE_AT_OPEN) -> wake(GATE)
	:: else
	fi;
	done = false
}

proctype housekeeper()
{
	LOCALS;
	byte heard;

	do
	:: heard = bell;
		number = asked;
		if
		:: due > 0 -> round()
		:: else
		fi;
		if
		:: number != answered -> answered = number; wake(FORKS)
		:: else
		fi;
		if
		:: LEFT_OUT(BELL_BEFORE_LOOKING) -> heard = bell
		:: else
		fi;
		number = 0;
		atomic {
			if
			:: bell == heard -> asleep[_pid] = BELL
			:: else
			fi;
			heard = 0
		}
end_idle:	asleep[_pid] == 0
	od
}

/* Runs when nothing can happen any more. */
proctype judge()
{
	timeout;
	assert(running == 0 && !unregistering && gate == 0 && !asking)
}

init {
	atomic {
		c_code {
			now.without = setting("WITHOUT");
			now.seconds_pass = setting("SECONDS");
			now.due = setting("DUE");
			now.suspended = setting("SUSPENDED");
			now.pressure = setting("PRESSURE");
		};
		run judge();
		run device();
		run housekeeper();
		SEVERAL("SUBMITTERS", submitter());
		SEVERAL("HOLDERS", holder());
		SEVERAL("FORKS", forker())
	}
}
