/*
 * Reads the frames of one CPython thread: the code and the place in it, then file, function and
 * line.
 *
 * hotpin calls no function of the interpreter, and does not need its lock.  The owner may change
 * the memory while it is read, so the functions end with any content of the memory.
 */
#ifndef HP_TRACE_PYTHON_PYTHON_FRAMES_H
#define HP_TRACE_PYTHON_PYTHON_FRAMES_H

#include "trace/python/python_layout.h"

#include <stddef.h>

#define PYTHON_FILE_ROOM     512
#define PYTHON_FUNCTION_ROOM 128

/* Copies `bytes` from any address.  False: they are not readable. */
typedef bool (*python_read)(uintptr_t from, void *to, size_t bytes);

struct python {
	struct python_layout layout;
	python_read read;
	uintptr_t runtime;                          /* _PyRuntime */
	uintptr_t code_type, text_type, bytes_type; /* of the interpreter's objects */
};

struct python_frame {
	uintptr_t code;
	uint32_t at;    /* offset of the current instruction, in bytes */
	uint64_t stamp; /* differs from that of later code at the same address */
};

/* Texts in UTF-8.  A file name that is too long keeps its end, a function name its beginning. */
struct python_place {
	char file[PYTHON_FILE_ROOM];
	char function[PYTHON_FUNCTION_ROOM];
	uint32_t line;
};

/*
 * True if `state` is CPython's state of the thread whose pthread_self() is `thread`.  False, and no
 * frames, while the interpreter ends, since it frees the states of threads that still run.
 */
bool python_is_thread(const struct python *python, uintptr_t state, uintptr_t thread);

/* Writes the innermost frames of the thread of `state`, `most` at most.  Returns their number. */
size_t python_frames(const struct python *python, uintptr_t state, size_t most,
		     struct python_frame *ret);

/* True if the code of a frame that was read before still exists.  For frames of another thread. */
bool python_is_there(const struct python *python, const struct python_frame *frame);

/* Writes the place of a frame.  False: the memory holds no valid place. */
bool python_place(const struct python *python, const struct python_frame *frame,
		  struct python_place *ret);

/*
 * Returns the line of the instruction at `at` by a location table.  `next` returns the table's next
 * byte, or -1 at its end.  0: no line is known.
 */
uint32_t python_line_by_locations(int (*next)(void *arg), void *arg, uint32_t first, uint32_t at);

#endif
