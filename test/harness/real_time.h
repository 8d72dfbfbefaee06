/*
 * Threads of real-time priority that wait for a thread without it, on one CPU.
 *
 * The kernel measures how long a real-time thread runs without a blocking system call;
 * sched_yield() does not count as one (setrlimit(2), RLIMIT_RTTIME).  So SIGXCPU kills a test whose
 * thread waits by running.  The load of the machine does not matter.
 */
#ifndef HP_HARNESS_REAL_TIME_H
#define HP_HARNESS_REAL_TIME_H

/* CPU time that a real-time thread may use without blocking, in us. */
#define REAL_TIME_MOST_US 500000

/*
 * Binds the calling thread, and those that it creates later, to one CPU.  Skips the test if threads
 * of this process may not have real-time priority.
 */
void real_time_prepare(void);

/* Gives the calling thread real-time priority. */
void real_time_enter(void);

/* Runs for a while, so that a real-time thread of this CPU would have to wait for it. */
void real_time_burn(void);

#endif
