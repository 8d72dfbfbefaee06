/*
 * native.c - a thread that copies and runs no Python, for profiled.py.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
void native_prepare(int (*use)(void *context),
		    int (*copy)(uint64_t to, const void *from, size_t bytes), void *context,
		    uint64_t to, const void *from, size_t bytes, int times);
int native_ended(void);
int native_end(void);
#pragma GCC visibility pop

static struct {
	int (*use)(void *context);
	int (*copy)(uint64_t to, const void *from, size_t bytes);
	void *context;
	uint64_t to;
	const void *from;
	size_t bytes;
	int times, failed;
	bool begun;
	_Atomic bool ended;
} work;
static pthread_t thread;

static bool is_many(void)
{
	return work.times > 100;
}

/* Two call sites: compilers may merge calls that differ only in an argument. */
static void __attribute__((noinline)) copy_whole(void)
{
	work.failed = work.copy(work.to, work.from, work.bytes);
	__asm__ volatile("" : : "r"(&work) : "memory");
}

static void __attribute__((noinline)) copy_half(void)
{
	__asm__ volatile("" : : "r"(&work) : "memory");
	work.failed = work.copy(work.to, work.from, work.bytes / 2);
	__asm__ volatile("nop" : : "r"(&work) : "memory");
}

static void *run(void *unused)
{
	(void)unused;
	work.failed = work.use(work.context);
	for (int i = 0; i < work.times && work.failed == 0; i++)
		(is_many() ? copy_half : copy_whole)();
	work.ended = true;
	return NULL;
}

void native_prepare(int (*use)(void *context),
		    int (*copy)(uint64_t to, const void *from, size_t bytes), void *context,
		    uint64_t to, const void *from, size_t bytes, int times)
{
	work.use = use;
	work.copy = copy;
	work.context = context;
	work.to = to;
	work.from = from;
	work.bytes = bytes;
	work.times = times;
	work.begun = false;
	work.ended = false;
}

/* Begins the copies at its first call, so that the caller's place is known during all of them. */
static int begin(void)
{
	int status = work.begun ? 0 : pthread_create(&thread, NULL, run, NULL);

	work.begun = status == 0;
	return status;
}

int native_ended(void)
{
	return begin() != 0 || work.ended;
}

/* Waits for the copies.  If they begin here, the caller is in this function during each of them. */
int native_end(void)
{
	int status = begin();

	status = status != 0 ? status : pthread_join(thread, NULL);
	return status != 0 ? status : work.failed;
}
