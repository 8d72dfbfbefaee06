/*
 * The frames of one CPython thread: code and place in it, then file, function and line.
 *
 * Nothing of the interpreter is called, and its lock is not needed.  With any content of the
 * memory, the functions end: it may be read while its owner changes it.
 */
#ifndef HP_TRACE_PYTHON_FRAMES_H
#define HP_TRACE_PYTHON_FRAMES_H

#include "trace/python_layout.h"

#include <stddef.h>

#define PYTHON_FILE_ROOM     512
#define PYTHON_FUNCTION_ROOM 128

/* Copies `bytes` from any address.  False: they cannot be read. */
typedef bool (*python_read)(uintptr_t from, void *to, size_t bytes);

struct python {
	struct python_layout layout;
	python_read read;
	uintptr_t runtime;                          /* _PyRuntime */
	uintptr_t code_type, text_type, bytes_type; /* of the interpreter's objects */
};

struct python_frame {
	uintptr_t code;
	uint32_t at;    /* bytes of its instructions before the current one */
	uint64_t stamp; /* tells code apart that is made at the same address later */
};

/* UTF-8.  Of a longer file name the end is kept, of a longer function's the beginning. */
struct python_place {
	char file[PYTHON_FILE_ROOM];
	char function[PYTHON_FUNCTION_ROOM];
	uint32_t line;
};

/*
 * True if `state` is what CPython knows of the thread whose pthread_self() is `thread`.  False, and
 * no frames, while the interpreter ends: it frees the states of threads that still run.
 */
bool python_is_thread(const struct python *python, uintptr_t state, uintptr_t thread);

/* Writes the innermost frames of the thread of `state`, `most` at most; returns how many. */
size_t python_frames(const struct python *python, uintptr_t state, size_t most,
		     struct python_frame *ret);

/* True if the code of a frame that was read before is still there.  Of another thread's frames. */
bool python_is_there(const struct python *python, const struct python_frame *frame);

/* False: there is no sense in what was read. */
bool python_place(const struct python *python, const struct python_frame *frame,
		  struct python_place *ret);

/*
 * The line of the instruction at `at` by a line table of 3.10, or by a location table, as 3.11 and
 * later have it.  `next` returns the table's next byte, or -1 at its end.  0: no line is known.
 */
uint32_t python_line_by_lines(int (*next)(void *arg), void *arg, uint32_t first, uint32_t at);
uint32_t python_line_by_locations(int (*next)(void *arg), void *arg, uint32_t first, uint32_t at);

#endif
