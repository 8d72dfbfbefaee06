/* tool.c - looks up a name on its own behalf; built under the names of libraries that do this. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#pragma GCC visibility push(default)
void *tool_look(void *handle, const char *name);
void *tool_open(const char *name);
void *tool_open_as(const char *name, int mode);
void *tool_open_in(long space, const char *name, int mode);
#pragma GCC visibility pop

/* volatile prevents a tail call, which would be a jump: the caller would be another one. */
void *tool_look(void *handle, const char *name)
{
	void *volatile found = dlsym(handle, name);

	return found;
}

void *tool_open(const char *name)
{
	void *volatile handle = dlopen(name, RTLD_NOW);

	return handle;
}

void *tool_open_as(const char *name, int mode)
{
	void *volatile handle = dlopen(name, mode);

	return handle;
}

void *tool_open_in(long space, const char *name, int mode)
{
	void *volatile handle = dlmopen(space, name, mode);

	return handle;
}
