/* tool.c - looks a name up by itself; built under the names of libraries that do so. */
#include <dlfcn.h>
#include <stddef.h>

#pragma GCC visibility push(default)
void *tool_look(void *handle, const char *name);
void *tool_open(const char *name);
#pragma GCC visibility pop

/* volatile: a call in tail position would be a jump, and the caller somebody else. */
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
