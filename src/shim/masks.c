/*
 * masks.c - the ways in which a program blocks SIGSEGV, for a thread or while it waits.
 *
 * A thread that blocks it is ended by the kernel at the first touch of a closed page.  A handler
 * that runs while sigsuspend() and its kind wait has the mask of the wait, and a thread, a context
 * or a timer's function starts with one that nobody sets.  What else the kernel reads or writes in
 * such a wait is opened first, as io.c has it for other calls.
 */
#define _GNU_SOURCE
#include "shim/fault.h"
#include "base/protections.h"
#include "defer/protect.h"
#include "shim/fetching.h"
#include "shim/io.h"
#include "shim/shim.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <ucontext.h>

#define NEXT(name) ((__typeof__(shim_##name) *)shim_io_find(IO_ROW_##name))

/* The program's structures come without promises about what may be NULL. */
int shim_sigprocmask(int how, const sigset_t *set, sigset_t *ret_old);
int shim_pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_old);
int shim_sigblock(int mask);
int shim_sigsetmask(int mask);
int shim_pthread_attr_setsigmask_np(pthread_attr_t *attributes, const sigset_t *set);
int shim_sigsuspend(const sigset_t *set);
int shim_sigpause(int mask);
int shim___sigpause(int signal_or_mask, int is_signal);
int shim_pselect(int count, fd_set *to_read, fd_set *to_write, fd_set *others,
		 const struct timespec *patience, const sigset_t *set);
int shim_ppoll(struct pollfd *files, nfds_t count, const struct timespec *patience,
	       const sigset_t *set);
int shim___ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *patience,
		     const sigset_t *set, size_t room);
int shim_epoll_pwait(int epoll, struct epoll_event *events, int most, int patience_ms,
		     const sigset_t *set);
int shim_epoll_pwait2(int epoll, struct epoll_event *events, int most,
		      const struct timespec *patience, const sigset_t *set);
int shim_setcontext(const ucontext_t *context);
int shim_swapcontext(ucontext_t *ret_before, const ucontext_t *context);
int shim_timer_create(clockid_t clock, struct sigevent *event, timer_t *ret);

void shim_fault_is_blocked(void)
{
	if (!hp_keeps(fault_not_blocked))
		return;
	shim_fetch_stop("the program blocks SIGSEGV");
	protect_join_all();
}

/*
 * The driver blocks everything while it starts threads of its own, which touch nothing of the
 * program's.
 */
static bool is_the_programs(const void *caller)
{
	return !real_driver_contains(caller) && !shim_is_nvidias(caller);
}

static void note_mask(int how, const sigset_t *set, const void *caller)
{
	if (set != NULL && how != SIG_UNBLOCK && sigismember(set, SIGSEGV) == 1 &&
	    is_the_programs(caller))
		shim_fault_is_blocked();
}

int shim_sigprocmask(int how, const sigset_t *set, sigset_t *ret_old)
{
	note_mask(how, set, __builtin_return_address(0));
	return NEXT(sigprocmask)(how, set, ret_old);
}

int shim_pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_old)
{
	note_mask(how, set, __builtin_return_address(0));
	return NEXT(pthread_sigmask)(how, set, ret_old);
}

/* Of the BSDs; libc goes on to the kernel by itself. */
static void note_word(int mask, const void *caller)
{
	if (((unsigned)mask & HP_MASK_OF(SIGSEGV)) && is_the_programs(caller))
		shim_fault_is_blocked();
}

int shim_sigblock(int mask)
{
	note_word(mask, __builtin_return_address(0));
	return NEXT(sigblock)(mask);
}

int shim_sigsetmask(int mask)
{
	note_word(mask, __builtin_return_address(0));
	return NEXT(sigsetmask)(mask);
}

int shim_sigpause(int mask)
{
	note_word(mask, __builtin_return_address(0));
	return NEXT(sigpause)(mask);
}

/* A signal, as X/Open has it, is taken out of the thread's mask. */
int shim___sigpause(int signal_or_mask, int is_signal)
{
	if (!is_signal)
		note_word(signal_or_mask, __builtin_return_address(0));
	return NEXT(__sigpause)(signal_or_mask, is_signal);
}

int shim_pthread_attr_setsigmask_np(pthread_attr_t *attributes, const sigset_t *set)
{
	note_mask(SIG_SETMASK, set, __builtin_return_address(0));
	return NEXT(pthread_attr_setsigmask_np)(attributes, set);
}

/* What only the kernel reads: where it answers EFAULT, nothing is blocked. */
static void note_wait(const sigset_t *set, const void *caller)
{
	hp_mask mask;

	if (set != NULL && shim_io_peek(&mask, set, sizeof(mask)) && (mask & HP_MASK_OF(SIGSEGV)) &&
	    is_the_programs(caller))
		shim_fault_is_blocked();
}

int shim_sigsuspend(const sigset_t *set)
{
	note_wait(set, __builtin_return_address(0));
	return NEXT(sigsuspend)(set);
}

int shim_pselect(int count, fd_set *to_read, fd_set *to_write, fd_set *others,
		 const struct timespec *patience, const sigset_t *set)
{
	note_wait(set, __builtin_return_address(0));
	protect_join_range(to_read, 1);
	protect_join_range(to_write, 1);
	protect_join_range(others, 1);
	return NEXT(pselect)(count, to_read, to_write, others, patience, set);
}

int shim_ppoll(struct pollfd *files, nfds_t count, const struct timespec *patience,
	       const sigset_t *set)
{
	note_wait(set, __builtin_return_address(0));
	protect_join_range(files, 1);
	return NEXT(ppoll)(files, count, patience, set);
}

int shim___ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *patience,
		     const sigset_t *set, size_t room)
{
	note_wait(set, __builtin_return_address(0));
	protect_join_range(files, 1);
	return NEXT(__ppoll_chk)(files, count, patience, set, room);
}

int shim_epoll_pwait(int epoll, struct epoll_event *events, int most, int patience_ms,
		     const sigset_t *set)
{
	note_wait(set, __builtin_return_address(0));
	protect_join_range(events, 1);
	return NEXT(epoll_pwait)(epoll, events, most, patience_ms, set);
}

int shim_epoll_pwait2(int epoll, struct epoll_event *events, int most,
		      const struct timespec *patience, const sigset_t *set)
{
	note_wait(set, __builtin_return_address(0));
	protect_join_range(events, 1);
	protect_join_range(patience, 1);
	return NEXT(epoll_pwait2)(epoll, events, most, patience, set);
}

int shim_setcontext(const ucontext_t *context)
{
	note_mask(SIG_SETMASK, &context->uc_sigmask, __builtin_return_address(0));
	return NEXT(setcontext)(context);
}

int shim_swapcontext(ucontext_t *ret_before, const ucontext_t *context)
{
	note_mask(SIG_SETMASK, &context->uc_sigmask, __builtin_return_address(0));
	return NEXT(swapcontext)(ret_before, context);
}

/* Its function is called with all signals blocked (glibc 2.36). */
int shim_timer_create(clockid_t clock, struct sigevent *event, timer_t *ret)
{
	if (event != NULL && event->sigev_notify == SIGEV_THREAD &&
	    is_the_programs(__builtin_return_address(0)))
		shim_fault_is_blocked();
	return NEXT(timer_create)(clock, event, ret);
}
