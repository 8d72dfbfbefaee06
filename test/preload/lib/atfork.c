/*
 * atfork.c - a library with fork handlers that allocate memory, and wait for a lock that other
 * threads hold while they allocate.  With EARLY it is registered before any allocation, and does
 * not wait.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)
extern int atfork_calls;
void atfork_use(void);
#pragma GCC visibility pop

int atfork_calls;
static char *kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Frees the previous handler's memory, and allocates for the next one. */
static void use_memory(void)
{
	char *small = calloc(1, 100), *large = malloc(3 << 20);

	memset(large, 1, 3 << 20);
	large = realloc(large, 9 << 20);
	free(kept);
	kept = large;
	free(small);
	atfork_calls++;
}

#if !defined(EARLY)
static void before(void)
{
	pthread_mutex_lock(&lock);
	use_memory();
}

static void after(void)
{
	use_memory();
	pthread_mutex_unlock(&lock);
}

#endif

void atfork_use(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 20; i++)
		free(malloc(3 << 20));
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void on_load(void)
{
#if defined(EARLY)
	pthread_atfork(use_memory, use_memory, use_memory);
#else
	kept = malloc(100);
	pthread_atfork(before, after, after);
#endif
}
