/*
 * signals.c - the signal handler writes records in the kernel's format into its thread's ring.
 *
 * The handler only makes system calls and takes no lock.  It asks the kernel before it reads a
 * frame, because a frame pointer may point anywhere.  Every seccomp filter allows the system call
 * for this, since the program may install a filter between two signals.  Rings are never unmapped,
 * since a signal may be late.  The handler stays installed until the process ends for the same
 * reason.
 */
#define _GNU_SOURCE
#include "trace/samples/signals.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/kernel.h"
#include "trace/samples/perf_event.h"
#include "trace/samples/tasks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PERIOD_NS  (1000000000 / PERF_EVENT_HZ)
#define STACK_MOST ((uint64_t)64 << 20)

static struct slot {
	_Atomic pid_t tid; /* the sampled thread; 0: none */
	_Atomic uint64_t head, tail;
	_Atomic uint64_t lost; /* since the latest record of lost samples */
	int timer;
	bool taken; /* used only by the reading thread */
	uint8_t *data;
} slots[SIGNALS_MOST];

static int number; /* constant after signals_start() */

struct record {
	struct perf_event_header header;
	uint64_t words[3 + PERF_RING_CHAIN_MOST];
};

/* Appends a record to the ring.  False: there is no room. */
static bool put(struct slot *slot, struct record *record, uint32_t type, size_t words)
{
	uint64_t head = atomic_load_explicit(&slot->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&slot->tail, memory_order_acquire);
	size_t length = sizeof(record->header) + words * sizeof(record->words[0]);

	if (PERF_EVENT_DATA_BYTES - (size_t)(head - tail) < length)
		return false;
	record->header = (struct perf_event_header){ .type = type, .size = (uint16_t)length };
	for (size_t i = 0; i < length; i++)
		slot->data[(head + i) % PERF_EVENT_DATA_BYTES] = ((const uint8_t *)record)[i];
	atomic_store_explicit(&slot->head, head + length, memory_order_release);
	return true;
}

/* Reads the caller's frame pointer and the return address from a frame above `stack`. */
__attribute__((no_sanitize("address"))) static bool read_frame(uint64_t stack, uint64_t at,
							       uint64_t ret[2])
{
	if (at % sizeof(*ret) != 0 || at < stack || at - stack > STACK_MOST ||
	    !hp_can_read((const void *)at) || !hp_can_read((const void *)(at + sizeof(*ret))))
		return false;
	ret[0] = ((const uint64_t *)(uintptr_t)at)[0];
	ret[1] = ((const uint64_t *)(uintptr_t)at)[1];
	return true;
}

static void registers_of(const ucontext_t *context, uint64_t *ret_at, uint64_t *ret_frame,
			 uint64_t *ret_stack)
{
	*ret_at = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	*ret_frame = (uint64_t)context->uc_mcontext.gregs[REG_RBP];
	*ret_stack = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

static void on_signal(int signal_number, siginfo_t *info, void *context)
{
	struct slot *slot = info->si_code == SI_TIMER ? info->si_value.sival_ptr : NULL;
	int saved = errno;
	struct record record;
	uint64_t frame, stack, pair[2];
	size_t depth = 1;

	(void)signal_number;
	if (slot < slots || slot >= slots + SIGNALS_MOST ||
	    atomic_load_explicit(&slot->tid, memory_order_acquire) != (pid_t)syscall(SYS_gettid))
		return;
	uint64_t lost = atomic_exchange_explicit(&slot->lost, 0, memory_order_relaxed);
	record.words[0] = 0;
	record.words[1] = lost;
	if (lost > 0 && !put(slot, &record, PERF_RECORD_LOST, 2))
		atomic_fetch_add_explicit(&slot->lost, lost, memory_order_relaxed);

	record.words[0] = hp_now_ns();
	record.words[2] = (uint64_t)PERF_CONTEXT_USER;
	registers_of(context, &record.words[3], &frame, &stack);
	while (depth < PERF_RING_CHAIN_MOST && read_frame(stack, frame, pair)) {
		record.words[3 + depth++] = pair[1];
		if (pair[0] <= frame)
			break;
		frame = pair[0];
	}
	record.words[1] = 1 + depth;
	if (!put(slot, &record, PERF_RECORD_SAMPLE, 3 + depth))
		atomic_fetch_add_explicit(&slot->lost, 1, memory_order_relaxed);
	errno = saved;
}

int signals_start(void)
{
	struct sigaction mine = { .sa_sigaction = on_signal,
				  .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct sigaction there;

	sigfillset(&mine.sa_mask);
	for (int candidate = SIGRTMAX - 1; candidate > SIGRTMIN; candidate--) {
		if (sigaction(candidate, NULL, &there) < 0 || (there.sa_flags & SA_SIGINFO) ||
		    there.sa_handler != SIG_DFL)
			continue;
		if (sigaction(candidate, &mine, NULL) == 0) {
			number = candidate;
			return 0;
		}
	}
	return -EBUSY;
}

bool signals_hold(void)
{
	struct sigaction there;

	return sigaction(number, NULL, &there) == 0 && (there.sa_flags & SA_SIGINFO) &&
	       there.sa_sigaction == on_signal;
}

/* Returns the slot that was released longest ago, since a handler may still use a recent one. */
static struct slot *free_slot(void)
{
	static size_t next;

	for (size_t i = 0; i < SIGNALS_MOST; i++) {
		struct slot *slot = &slots[next++ % SIGNALS_MOST];

		if (slot->taken)
			continue;
		if (slot->data == NULL)
			slot->data = hp_arena_alloc(PERF_EVENT_DATA_BYTES);
		return slot->data != NULL ? slot : NULL;
	}
	return NULL;
}

int signals_sample(pid_t tid, struct perf_ring *ret)
{
	const struct itimerspec period = { { 0, PERIOD_NS }, { 0, PERIOD_NS } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number };
	struct slot *slot = free_slot();
	int error = 0;

	if (slot == NULL)
		return -ENOBUFS;
	event.sigev_value.sival_ptr = slot;
	event._sigev_un._tid = tid;
	atomic_store(&slot->head, 0);
	atomic_store(&slot->tail, 0);
	atomic_store(&slot->lost, 0);
	if (syscall(SYS_timer_create, tasks_clock(tid), &event, &slot->timer) < 0) {
		/* EINVAL: the thread has ended.  EAGAIN: RLIMIT_SIGPENDING. */
		error = errno == EINVAL ? -ESRCH : errno == EAGAIN ? -ENOBUFS : -errno;
	} else {
		atomic_store_explicit(&slot->tid, tid, memory_order_release);
		slot->taken = true;
		*ret = (struct perf_ring){ &slot->head, &slot->tail, slot->data,
					   PERF_EVENT_DATA_BYTES };
		syscall(SYS_timer_settime, slot->timer, 0, &period, NULL);
	}
	return error;
}

void signals_end(const struct perf_ring *ring)
{
	for (size_t i = 0; i < SIGNALS_MOST; i++) {
		struct slot *slot = &slots[i];

		if (!slot->taken || slot->data != ring->data)
			continue;
		syscall(SYS_timer_delete, slot->timer);
		atomic_store(&slot->tid, 0);
		slot->taken = false;
	}
}
