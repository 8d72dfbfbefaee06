/*
 * Starts a program in a child process, and waits for it as if it were this process.
 *
 * The child stays in the process group, so that the terminal's signals reach it directly.  Signals
 * that are sent to this process alone are passed on.  If the terminal stops the child, this process
 * stops too, and it continues the child when it goes on itself.  The child is killed if this
 * process is.
 */
#ifndef HP_TOOLS_LAUNCH_AWAIT_H
#define HP_TOOLS_LAUNCH_AWAIT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct await {
	pid_t pid;
	int asked;     /* the signal that has asked this process to end, or 0 */
	sigset_t mask; /* of the signals, before */
	struct sigaction on_child;
};

/* Forks.  Returns 0 in the child, which then executes the program, or its process number; -1. */
pid_t await_start(struct await *ret);

/* Leaves to the child what this process has inherited: others wait for the end of a pipe. */
void await_let_go(void);

/* Waits for the child's end.  Returns its wait status. */
int await_end(struct await *await);

/* Returns the exit status of the child, or ends this process by the signal that ended the child. */
int await_status(int status);

#endif
