/*
 * embed.c - a program that loads a Python interpreter privately, so that no other library finds it.
 *
 *	embed LIBPYTHON
 *
 * It prints the frames of Python code that it interrupts, innermost first.
 */
#include "trace/python/interpreter.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void tell(int number)
{
	struct python_frame frame[4];
	struct python_place place;

	(void)number;
	interpreter_look();
	size_t count = interpreter_frames(NULL, 4, frame);
	for (size_t i = 0; i < count; i++)
		if (interpreter_place(NULL, &frame[i], &place))
			printf("%s %s %u\n", place.file, place.function, place.line);
}

static void *find(void *library, const char *name, void *slot)
{
	void *address = dlsym(library, name);

	memcpy(slot, &address, sizeof(address));
	return address;
}

int main(int count, char **args)
{
	struct sigaction action = { .sa_handler = tell };
	void (*initialize)(int with_signals);
	int (*run)(const char *text);
	int (*finalize)(void);
	void *library = count > 1 ? dlopen(args[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	tell(0);
	sigaction(SIGUSR1, &action, NULL);
	if (library == NULL || !find(library, "Py_InitializeEx", &initialize) ||
	    !find(library, "PyRun_SimpleString", &run) ||
	    !find(library, "Py_FinalizeEx", &finalize))
		return 1;
	initialize(0);
	tell(0);
	run("import posix\n"
	    "def inner():\n"
	    "    posix.kill(posix.getpid(), 10)\n"
	    "\n"
	    "inner()\n");
	finalize();
	tell(0);
	return 0;
}
