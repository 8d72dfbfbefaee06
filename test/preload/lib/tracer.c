/*
 * tracer.c - intercepts some allocation functions and calls libc by its internal names.
 *
 * Built with all of them, with free() alone and with malloc() alone.
 */
#include <stddef.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t each);
void *__libc_realloc(void *address, size_t bytes);
void __libc_free(void *address);

#pragma GCC visibility push(default)
extern int tracer_calls;
void *malloc(size_t bytes);
void *calloc(size_t count, size_t each);
void *realloc(void *address, size_t bytes);
void free(void *address);
#pragma GCC visibility pop

int tracer_calls;

#if defined(MALLOC)
void *malloc(size_t bytes)
{
	__atomic_fetch_add(&tracer_calls, 1, __ATOMIC_RELAXED);
	return __libc_malloc(bytes);
}
#endif

#if defined(FREE)
void free(void *address)
{
	__atomic_fetch_add(&tracer_calls, 1, __ATOMIC_RELAXED);
	__libc_free(address);
}
#endif

#if defined(OTHERS)
void *calloc(size_t count, size_t each)
{
	__atomic_fetch_add(&tracer_calls, 1, __ATOMIC_RELAXED);
	return __libc_calloc(count, each);
}

void *realloc(void *address, size_t bytes)
{
	__atomic_fetch_add(&tracer_calls, 1, __ATOMIC_RELAXED);
	return __libc_realloc(address, bytes);
}
#endif
