/*
 * probe.c - reads the frames of the interpreter that loads this file, as hotpin does, for
 * frames.py.
 */
#define _GNU_SOURCE
#include "trace/python/interpreter.h"
#include "trace/python/python_frames.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#pragma GCC visibility push(default)
int probe_frames(int most, char *ret, size_t room);
int probe_changed(void);
int probe_watch(void);
unsigned long probe_watched(void);
void probe_unwatch(void);
#pragma GCC visibility pop

/* Writes "file TAB function TAB line NEWLINE" for at most `most` frames of the calling thread. */
int probe_frames(int most, char *ret, size_t room)
{
	struct python_frame *frame = calloc((size_t)most, sizeof(*frame));
	struct python_place place;
	size_t used = 0, shown = 0;

	interpreter_look();
	size_t count = interpreter_frames(NULL, (size_t)most, frame);
	ret[0] = '\0';
	for (; shown < count && used < room && interpreter_place(NULL, &frame[shown], &place);
	     shown++)
		used += (size_t)snprintf(ret + used, room - used, "%s\t%s\t%u\n", place.file,
					 place.function, place.line);
	free(frame);
	return shown == count && used < room ? (int)count : -1;
}

/* Tells whether the innermost frames' stamps differ from those of this thread's last call. */
int probe_changed(void)
{
	static _Thread_local struct python_frame last;
	struct python_frame frame = { 0 };

	interpreter_look();
	interpreter_frames(NULL, 1, &frame);
	int changed = frame.code != last.code || frame.at != last.at || frame.stamp != last.stamp;
	last = frame;
	return changed;
}

/* Reads through the kernel: the memory may be another thread's, and may be unmapped at any time. */
static bool read_by_kernel(uintptr_t from, void *to, size_t bytes)
{
	struct iovec here = { to, bytes }, there = { (void *)from, bytes };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static struct python python;
static uintptr_t watched;
static _Atomic int ends;
static _Atomic unsigned long found;
static pthread_t watcher;

static bool make_python(void)
{
	const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
	const uint64_t *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");

	python.read = read_by_kernel;
	python.runtime = (uintptr_t)runtime;
	python.code_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyCode_Type");
	python.text_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyUnicode_Type");
	python.bytes_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyBytes_Type");
	return version != NULL && (python_layout_of((uint32_t)*version, &python.layout) ||
				   python_layout_from(runtime, &python.layout));
}

static void *watch(void *arg)
{
	struct python_frame frame[64];
	struct python_place place;

	(void)arg;
	while (!atomic_load(&ends)) {
		size_t count = python_frames(&python, watched, 64, frame);

		for (size_t i = 0; i < count; i++)
			if (python_place(&python, &frame[i], &place))
				atomic_fetch_add(&found, 1);
	}
	return NULL;
}

/* Another thread reads the calling thread's frames until probe_unwatch(). */
int probe_watch(void)
{
	if (!make_python())
		return 0;
	for (unsigned key = 0; key < 1024 && watched == 0; key++) {
		uintptr_t state = (uintptr_t)pthread_getspecific(key);

		if (python_is_thread(&python, state, (uintptr_t)pthread_self()))
			watched = state;
	}
	return watched != 0 && pthread_create(&watcher, NULL, watch, NULL) == 0;
}

unsigned long probe_watched(void)
{
	return atomic_load(&found);
}

void probe_unwatch(void)
{
	atomic_store(&ends, 1);
	pthread_join(watcher, NULL);
}
