/*
 * debuginfod.c - asks by the client library of this machine, which brings the network code.
 */
#include "names/debuginfod.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

typedef void *(*begin_function)(void);
typedef int (*find_function)(void *client, const unsigned char *id, int bytes, char **path);
typedef void (*end_function)(void *client);

char *debuginfod_find(const char *build_id)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	char *path = NULL;

	if (servers == NULL || servers[0] == '\0')
		return NULL;
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return NULL;
	begin_function begin = (begin_function)dlsym(library, "debuginfod_begin");
	find_function find = (find_function)dlsym(library, "debuginfod_find_debuginfo");
	end_function end = (end_function)dlsym(library, "debuginfod_end");
	void *client = begin != NULL && find != NULL && end != NULL ? begin() : NULL;
	if (client == NULL)
		return NULL;
	/* 0 bytes: the ID is text. */
	int file = find(client, (const unsigned char *)build_id, 0, &path);
	if (file >= 0)
		close(file);
	else
		path = NULL;
	end(client);
	return path;
}
