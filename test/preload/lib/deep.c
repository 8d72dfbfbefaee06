/* deep.c - a plug-in that calls malloc() and free() by the names that the loader binds for it. */
#include <stdlib.h>

#pragma GCC visibility push(default)
void *deep_malloc(size_t bytes);
void *deep_realloc(void *address, size_t bytes);
void deep_free(void *address);
#pragma GCC visibility pop

void *deep_malloc(size_t bytes)
{
	return malloc(bytes);
}

void *deep_realloc(void *address, size_t bytes)
{
	return realloc(address, bytes);
}

void deep_free(void *address)
{
	free(address);
}
