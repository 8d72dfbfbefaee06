/*
 * The frame of a call chain that names the place in the program, and its text.
 */
#ifndef HP_TOOLS_NAMES_NAMES_H
#define HP_TOOLS_NAMES_NAMES_H

#include "profile/profile.h"

/* Whose code a frame is. */
enum names_code {
	NAMES_PROGRAM,     /* of the program and of its other libraries */
	NAMES_RUNTIME,     /* of CUDA's runtime, which may be linked statically */
	NAMES_CUDA,        /* of CUDA's other libraries and of hotpin */
	NAMES_DRIVER,      /* of NVIDIA's driver and tools, which export few names */
	NAMES_LIBC,        /* of the C library */
	NAMES_LIBCXX,      /* of the C++ library */
	NAMES_INTERPRETER, /* of CPython itself */
	NAMES_THREADS,     /* of OpenMP, where its threads wait, and of the kernel's page */
};
enum names_code names_code(const struct profile *profile, const struct profile_frame *frame);
bool names_is_cuda(enum names_code code); /* of the runtime, other libraries or the driver */
bool names_is_libc(enum names_code code); /* of the C or C++ library */

/*
 * Returns the most informative frame.  For calls: the innermost Python frame outside installed
 * libraries; else any Python frame; else the innermost frame outside CUDA's runtime.  For
 * allocations: the innermost frame outside allocators and containers.  NULL: there is none.
 */
const struct profile_frame *names_frame(const struct profile *profile,
					const struct profile_frames *frames, bool allocation);

/* Returns it for a buffer: the place that allocated or pinned it. */
const struct profile_frame *names_buffer_frame(const struct profile *profile,
					       const struct profile_buffer *buffer);

/* Returns the caller of one of the frames.  NULL: there is none, or its place says nothing. */
const struct profile_frame *names_caller(const struct profile_frames *frames,
					 const struct profile_frame *frame);

/*
 * Returns the innermost frame that has a source line and lies neither in CUDA nor in the C or C++
 * library.  *ret_in_cuda: the frame called code of CUDA or hotpin.  NULL: there is none.
 */
const struct profile_frame *names_source_frame(const struct profile *profile,
					       const struct profile_frames *frames,
					       bool *ret_in_cuda);

/* True if the file is the C or C++ library, CUDA or hotpin. */
bool names_is_system_module(const char *path);

/* True if the file at `path` belongs to an installed library or compiler. */
bool names_is_system_source(const char *path);

/*
 * Returns "solve(float*) at solve.cu:42"; without lines "solve(float*) in stencil+0x4020"; without
 * names "stencil+0x4020"; "?" if the frame is NULL; not escaped.  Without an offset if the frame's
 * is UNKNOWN.  Shortened to `columns` bytes so that the line still fits: without parameters,
 * "solve(..) at solve.cu:42", and if necessary with a part of the function's name.
 */
const char *names_place(const struct profile *profile, const struct profile_frame *frame,
			size_t columns);

/* Returns the last part of the module's path; "?" if it is not known. */
const char *names_module(const struct profile *profile, const struct profile_frame *frame);

#endif
