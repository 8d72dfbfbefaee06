/*
 * fault.c - SIGSEGV, shared with the program.
 *
 * After the manner of signal chaining in runtimes with a collector (Android ART's sigchain): our
 * handler is the kernel's, the program's action is kept here and carried out by us for whatever is
 * not ours, with its mask and flags.  What it asks of libc about signals comes to the functions
 * below; what is asked of the kernel past libc is seen before pages are closed the next time.
 *
 * Nobody may block SIGSEGV while pages are closed: the kernel would end the process at the first
 * touch.  So a program that does gets no page closed any more; in the masks of its other handlers
 * it is left out, and answered for when they are asked about.  A fault that is not ours ends all of
 * this too: the program's handler then runs with the mask that it asked for.
 */
#define _GNU_SOURCE
#include "shim/fault.h"
#include "base/bare.h"
#include "base/protections.h"
#include "defer/protect.h"
#include "shim/fetching.h"
#include "shim/io.h"
#include "shim/shim.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ucontext.h>

/* What a handler of the program's waits for the device at most, before it runs. */
#define PATIENCE_NS 2000000000u

#define INTERRUPT   0x20000000 /* SA_INTERRUPT: in no header for all */

_Atomic uint32_t shim_fault_watching;

/* What the kernel keeps on x86-64 and aarch64. */
struct kernel_action {
	uintptr_t handler;
	unsigned long flags;
	uintptr_t restorer;
	hp_mask mask;
};

/* Under `taken`, with all signals blocked. */
static _Atomic bool taken;
static bool installed;
static struct sigaction program; /* what the program believes to be in force; once installed */

/* Of which handlers' masks SIGSEGV was left out. */
static _Atomic bool left_out[_NSIG];

typedef int (*sigaction_fn)(int, const struct sigaction *, struct sigaction *);
#define NEXT(name) ((__typeof__(name) *)shim_io_find(IO_ROW_##name))

/* Declared for nobody, or with an attribute that this file would be warned about. */
void (*shim_signal(int number, void (*handler)(int)))(int);
int shim_sigaction(int number, const struct sigaction *action, struct sigaction *ret_old);
int shim___sigaction(int number, const struct sigaction *action, struct sigaction *ret_old);
void (*shim_bsd_signal(int number, void (*handler)(int)))(int);
void (*shim_ssignal(int number, void (*handler)(int)))(int);
void (*shim_sysv_signal(int number, void (*handler)(int)))(int);
void (*shim___sysv_signal(int number, void (*handler)(int)))(int);
void (*shim_sigset(int number, void (*handler)(int)))(int);
int shim_sighold(int number);
int shim_sigignore(int number);

/* A holder is never interrupted, so it is soon gone. */
static hp_mask take(void)
{
	const hp_mask all = ~(hp_mask)0;
	hp_mask before;

	hp_bare_mask(SIG_SETMASK, &all, &before);
	while (atomic_exchange_explicit(&taken, true, memory_order_acquire))
		hp_bare_pause();
	return before;
}

static void give_back(hp_mask before)
{
	atomic_store_explicit(&taken, false, memory_order_release);
	hp_bare_mask(SIG_SETMASK, &before, NULL);
}

static hp_mask kernel_mask(const sigset_t *set)
{
	hp_mask mask;

	memcpy(&mask, set, sizeof(mask));
	return mask;
}

static void on_fault(int number, siginfo_t *info, void *context);

static bool is_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/*
 * With a system call interrupted by a SIGSEGV that somebody sent, as it would be by the program's
 * own action.
 */
static struct sigaction ours(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

	action.sa_sigaction = on_fault;
	sigfillset(&action.sa_mask);
	if ((program.sa_flags & SA_RESTART) || !is_handler(&program))
		action.sa_flags |= SA_RESTART;
	return action;
}

/* The program's action is the kernel's again; what led here happens once more, to that. */
static void die(const siginfo_t *info)
{
	struct sigaction action = { .sa_flags = 0 };

	action.sa_handler = SIG_DFL;
	NEXT(sigaction)(SIGSEGV, &action, NULL);
	if (info->si_code <= 0)
		hp_bare4(SYS_rt_tgsigqueueinfo, hp_bare4(SYS_getpid, 0, 0, 0, 0),
			 hp_bare4(SYS_gettid, 0, 0, 0, 0), SIGSEGV, (long)info);
}

/* Nothing is closed any more, and will be: the handler may block what it likes. */
static void leave_it_to_the_program(void)
{
	shim_fetch_stop("the program has had a fault of its own");
	protect_join_all_within(PATIENCE_NS);
}

static void pass_on(int number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	hp_mask before = take();
	struct sigaction action = program;

	if (is_handler(&action) && (action.sa_flags & (int)SA_RESETHAND))
		program.sa_handler = SIG_DFL;
	give_back(before);

	/* A fault cannot be ignored, a signal can. */
	if (action.sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (!is_handler(&action)) {
		die(info);
		return;
	}
	if (hp_keeps(fault_of_the_program))
		leave_it_to_the_program();

	hp_mask mask = kernel_mask(&interrupted->uc_sigmask) | kernel_mask(&action.sa_mask);
	if (!(action.sa_flags & SA_NODEFER))
		mask |= HP_MASK_OF(SIGSEGV);
	hp_bare_mask(SIG_SETMASK, &mask, NULL);
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(number, info, context);
	else
		action.sa_handler(number);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;

	if (info->si_code == SEGV_ACCERR &&
	    protect_fault((uintptr_t)info->si_addr, kernel_mask(&interrupted->uc_sigmask)) !=
		    PROTECT_STRANGE)
		return;
	pass_on(number, info, context);
}

/* Under a debugger each touch would stop the program. */
static bool is_traced(void)
{
	static const char key[] = "\nTracerPid:\t";
	char text[2048];
	long fd =
		hp_bare4(SYS_openat, AT_FDCWD, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
	long bytes = fd >= 0 ? hp_bare4(SYS_read, fd, (long)text, sizeof(text) - 1, 0) : 0;

	if (fd >= 0)
		hp_bare4(SYS_close, fd, 0, 0, 0);
	text[bytes > 0 ? bytes : 0] = '\0';
	const char *at = strstr(text, key);
	return at == NULL || at[sizeof(key) - 1] != '0';
}

static void install(void)
{
	static _Atomic bool tried;

	if (atomic_exchange(&tried, true) || is_traced())
		return;
	sigaction_fn next = NEXT(sigaction);
	hp_mask before = take();
	struct sigaction old;
	if (next(SIGSEGV, NULL, &old) == 0) {
		program = old;
		struct sigaction action = ours();
		installed = next(SIGSEGV, &action, NULL) == 0;
	}
	give_back(before);
}

bool shim_fault_is_ours(const char **ret_why)
{
	struct kernel_action action = { .handler = 0 };
	hp_mask mask;

	install();
	hp_bare4(SYS_rt_sigaction, SIGSEGV, 0, (long)&action, sizeof(hp_mask));
	hp_bare_mask(SIG_BLOCK, NULL, &mask);
	*ret_why = action.handler != (uintptr_t)on_fault ? "SIGSEGV is not ours to answer"
		   : mask & HP_MASK_OF(SIGSEGV)          ? "SIGSEGV is blocked"
							 : NULL;
	return *ret_why == NULL || !hp_keeps(fault_is_ours);
}

void shim_fault_watch(void)
{
	shim_io_find_all();
	atomic_store(&shim_fault_watching, 1);
}

/* The program's SIGSEGV, once ours is in the kernel.  False: not yet. */
static bool change(const struct sigaction *action, struct sigaction *ret_old)
{
	struct sigaction wish, old;

	/* The program's memory is touched before and after. */
	if (action != NULL)
		wish = *action;
	hp_mask before = take();
	bool is_ours = installed;
	if (is_ours) {
		old = program;
		if (action != NULL) {
			program = wish;
			struct sigaction mine = ours();
			NEXT(sigaction)(SIGSEGV, &mine, NULL);
		}
	}
	give_back(before);
	if (is_ours && ret_old != NULL)
		*ret_old = old;
	return is_ours;
}

/* Another signal's handler must not run with SIGSEGV blocked. */
static int set_other(int number, const struct sigaction *action, struct sigaction *ret_old)
{
	bool is_valid = number > 0 && number < _NSIG, was = is_valid && left_out[number];
	struct sigaction open;
	bool leave_out = hp_keeps(fault_in_handlers) && is_valid && action != NULL &&
			 sigismember(&action->sa_mask, SIGSEGV) == 1;

	if (leave_out) {
		open = *action;
		sigdelset(&open.sa_mask, SIGSEGV);
	}
	int result = NEXT(sigaction)(number, leave_out ? &open : action, ret_old);
	if (result == 0 && ret_old != NULL && was)
		sigaddset(&ret_old->sa_mask, SIGSEGV);
	if (result == 0 && is_valid && action != NULL)
		left_out[number] = leave_out;
	return result;
}

int shim_sigaction(int number, const struct sigaction *action, struct sigaction *ret_old)
{
	if (number != SIGSEGV)
		return set_other(number, action, ret_old);
	if (change(action, ret_old))
		return 0;
	return NEXT(sigaction)(number, action, ret_old);
}

int shim___sigaction(int number, const struct sigaction *action, struct sigaction *ret_old)
{
	return shim_sigaction(number, action, ret_old);
}

typedef void (*signal_fn)(int);

/* True: it is done, and *ret_old is the answer. */
static bool set_handler(int number, signal_fn handler, int flags, bool blocks, signal_fn *ret_old)
{
	struct sigaction action = { .sa_flags = flags }, old;

	if (number != SIGSEGV || handler == SIG_ERR)
		return false;
	action.sa_handler = handler;
	if (blocks)
		sigaddset(&action.sa_mask, number);
	if (!change(&action, &old))
		return false;
	*ret_old = old.sa_handler;
	return true;
}

#define SIGNAL(name, flags, blocks)                                                           \
	signal_fn shim_##name(int number, signal_fn handler)                                  \
	{                                                                                     \
		signal_fn old;                                                                \
                                                                                              \
		return set_handler(number, handler, flags, blocks, &old)                      \
			       ? old                                                          \
			       : ((signal_fn(*)(int, signal_fn))shim_io_find(IO_ROW_##name))( \
					 number, handler);                                    \
	}
SIGNAL(signal, SA_RESTART, true)
SIGNAL(bsd_signal, SA_RESTART, true)
SIGNAL(ssignal, SA_RESTART, true)
SIGNAL(sysv_signal, (int)(SA_RESETHAND | SA_NODEFER | INTERRUPT), false)
SIGNAL(__sysv_signal, (int)(SA_RESETHAND | SA_NODEFER | INTERRUPT), false)
#undef SIGNAL

/* libc itself sets and blocks; ours stays in the kernel, and it answers with it. */
signal_fn shim_sigset(int number, signal_fn handler)
{
	signal_fn hold = (signal_fn)2; /* SIG_HOLD: for X/Open only */
	signal_fn old;
	hp_mask mask = 0, one = HP_MASK_OF(SIGSEGV);

	if (number == SIGSEGV && handler == hold)
		shim_fault_is_blocked();
	else if (set_handler(number, handler, 0, false, &old)) {
		hp_bare_mask(SIG_UNBLOCK, &one, &mask);
		return mask & one ? hold : old;
	}
	struct sigaction before;
	bool was_ours = number == SIGSEGV && change(NULL, &before);
	signal_fn result =
		((signal_fn(*)(int, signal_fn))shim_io_find(IO_ROW_sigset))(number, handler);
	return was_ours && result != SIG_ERR && result != hold ? before.sa_handler : result;
}

int shim_sighold(int number)
{
	if (number == SIGSEGV)
		shim_fault_is_blocked();
	return ((int (*)(int))shim_io_find(IO_ROW_sighold))(number);
}

int shim_sigignore(int number)
{
	signal_fn old;

	if (set_handler(number, SIG_IGN, 0, false, &old))
		return 0;
	return ((int (*)(int))shim_io_find(IO_ROW_sigignore))(number);
}
