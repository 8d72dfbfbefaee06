/*
 * await.c - blocks all signals and takes them one by one, so that none is lost or comes between.
 */
#include "launch/await.h"
#include "system/messages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void await_let_go(void)
{
	int nowhere = open("/dev/null", O_RDWR);
	struct dirent *entry;

	if (nowhere < 0)
		return;
	if (fcntl(STDERR_FILENO, F_GETFD) < 0)
		dup2(nowhere, STDERR_FILENO);
	dup2(nowhere, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	/*
	 * A descriptor with FD_CLOEXEC was not inherited: a library in this process needs it, such
	 * as that of Nsight Systems.  By libc's close(), where the library of Nsight Compute keeps
	 * what it needs in any process of the run.
	 */
	DIR *open_ones = opendir("/proc/self/fd");
	while (open_ones != NULL && (entry = readdir(open_ones)) != NULL) {
		int fd = atoi(entry->d_name);

		if (fd > STDERR_FILENO && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0)
			close(fd);
	}
	if (open_ones != NULL)
		closedir(open_ones);
}

pid_t await_start(struct await *ret)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	pid_t parent = getpid();
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &ret->mask);
	/* A parent that ignores SIGCHLD learns no status. */
	sigaction(SIGCHLD, &plain, &ret->on_child);
	ret->pid = fork();
	ret->asked = 0;
	if (ret->pid > 0)
		return ret->pid;
	sigaction(SIGCHLD, &ret->on_child, NULL);
	sigprocmask(SIG_SETMASK, &ret->mask, NULL);
	if (ret->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The parent may already have been killed. */
		if (getppid() != parent)
			_exit(EXIT_OURSELVES);
	}
	return ret->pid;
}

/* True for a stop by the terminal, which the user's shell must see. */
static bool is_stopped(int status)
{
	if (!WIFSTOPPED(status))
		return false;
	return WSTOPSIG(status) == SIGTSTP || WSTOPSIG(status) == SIGTTIN ||
	       WSTOPSIG(status) == SIGTTOU;
}

/* True for a signal that asks this process to end, unless it ignores the signal. */
static bool asks_to_end(int number)
{
	struct sigaction action;

	return (number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP) &&
	       sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN;
}

int await_end(struct await *await)
{
	siginfo_t info;
	sigset_t all;
	int status;

	sigfillset(&all);
	for (;;) {
		pid_t changed = waitpid(await->pid, &status, WNOHANG | WUNTRACED);

		if (changed < 0 && errno != EINTR)
			status = EXIT_OURSELVES << 8;
		if (changed < 0 || (changed > 0 && !WIFSTOPPED(status)))
			break;
		if (changed > 0 && is_stopped(status)) {
			/* The SIGCONT that continues this process is passed on. */
			raise(SIGSTOP);
		} else if (changed == 0 && sigwaitinfo(&all, &info) > 0 &&
			   info.si_signo != SIGCHLD) {
			if (asks_to_end(info.si_signo))
				await->asked = info.si_signo;
			/* A process has sent it, and not the program, to its whole group. */
			if (info.si_code <= 0 && info.si_pid != await->pid)
				kill(await->pid, info.si_signo);
		}
	}
	sigprocmask(SIG_SETMASK, &await->mask, NULL);
	return status;
}

int await_status(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	/* The program has dumped its core. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}
