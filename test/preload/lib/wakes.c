/*
 * wakes.c - hooks open(), as Nsight Systems does: a call wakes a thread of the library through
 * descriptors, once until the thread has looked, whether that succeeds or not.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(default)
extern _Atomic int wakes_calls, wakes_calls_of_threads, wakes_calls_seen;
int open64(const char *path, int flags, ...);
#pragma GCC visibility pop

_Atomic int wakes_calls, wakes_calls_of_threads, wakes_calls_seen;

static int waits, bell;
static _Atomic bool was_woken;

/* The bell is always readable; each EPOLL_CTL_MOD to `event` wakes the thread. */
static struct epoll_event silent, event = { .events = EPOLLIN | EPOLLET };

static void *look(void *unused)
{
	struct epoll_event got;

	for (;;) {
		epoll_wait(waits, &got, 1, -1);
		atomic_store(&was_woken, false);
		atomic_store(&wakes_calls_seen, atomic_load(&wakes_calls));
	}
	return unused;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;

	waits = epoll_create1(EPOLL_CLOEXEC);
	bell = eventfd(1, EFD_CLOEXEC);
	epoll_ctl(waits, EPOLL_CTL_ADD, bell, &silent);
	pthread_create(&thread, NULL, look, NULL);
}

int open64(const char *path, int flags, ...)
{
	va_list list;

	va_start(list, flags);
	long fd = syscall(SYS_openat, (long)AT_FDCWD, path, flags, va_arg(list, int));
	va_end(list);
	if (syscall(SYS_gettid) != getpid())
		atomic_fetch_add(&wakes_calls_of_threads, 1);
	atomic_fetch_add(&wakes_calls, 1);
	if (!atomic_exchange(&was_woken, true))
		epoll_ctl(waits, EPOLL_CTL_MOD, bell, &event);
	return (int)fd;
}
