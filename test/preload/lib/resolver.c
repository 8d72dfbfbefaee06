/*
 * resolver.c - a library whose valloc() allocates when it is looked up: the resolver of an indirect
 * function runs inside dlsym().
 */
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)
extern char *resolver_blocks[3];
void *valloc(size_t bytes);
#pragma GCC visibility pop

char *resolver_blocks[3];

static void *aligned(size_t bytes)
{
	return aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
}

__attribute__((used)) static void *(*resolve(void))(size_t)
{
	for (int i = 0; i < 3 && resolver_blocks[i] == NULL; i++)
		resolver_blocks[i] = strcpy(malloc(100), "early");
	free(calloc(1, 100));
	return aligned;
}

void *valloc(size_t bytes) __attribute__((ifunc("resolve")));
