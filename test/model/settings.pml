/*
 * settings.pml - what all models share: the settings of a run, and futex(2).
 *
 * run.py compiles a model once and chooses threads and rules of each run by the environment.
 */
c_decl {
	static int setting(const char *name)
	{
		const char *text = getenv(name);

		return text != NULL ? atoi(text) : 0;
	}
}

/* The rule that this run leaves out, to see that the model can fail; 0: none. */
byte without;
#define LEFT_OUT(rule) (without == rule)
#define KEPT(rule)     (without != rule)

/* True if bounded waits may expire.  Then a second may pass at any moment of such a wait. */
bool seconds_pass;

#define THREADS 9 /* the most of any run, with init and judge */

/* For each thread: 0: awake; else the futex that it sleeps on. */
byte asleep[THREADS];

/*
 * FUTEX_WAIT: the kernel compares, and the thread sleeps in the same step.  Sets the thread's `late`
 * when a bounded wait has expired.
 */
inline sleep_if(is_unchanged, futex, bounded)
{
	atomic {
		if
		:: is_unchanged ->
			asleep[_pid] = futex;
			printf("thread %d sleeps on %d\n", _pid, futex)
		:: else
		fi;
		seen = 0
	}
	if
	:: asleep[_pid] == 0
	:: atomic {
		bounded && seconds_pass && asleep[_pid] != 0 ->
			asleep[_pid] = 0;
			late = true;
			printf("thread %d has waited for a second\n", _pid)
	   }
	fi
}

/* FUTEX_WAKE of all threads. */
inline wake(futex)
{
	d_step {
		index = 0;
		do
		:: index < THREADS ->
			if
			:: asleep[index] == futex -> asleep[index] = 0
			:: else
			fi;
			index++
		:: else -> break
		od;
		index = 0;
		printf("thread %d wakes %d\n", _pid, futex)
	}
}

byte bell; /* the housekeeper's futex, which a model calls BELL */
#define ring() bell++; wake(BELL)

byte running; /* threads of the program that have not ended */
byte count;

/* Starts as many threads as the setting says. */
#define SEVERAL(setting_of, thread) \
	c_code { now.count = setting(setting_of); }; \
	do \
	:: count > 0 -> count--; running++; run thread \
	:: else -> break \
	od
