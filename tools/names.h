/*
 * Which function is it, as its author wrote the name?
 */
#ifndef HP_TOOLS_NAMES_H
#define HP_TOOLS_NAMES_H

#include "profile.h"

/*
 * Fills in what is readable: of kernels and names of events, and where `places`, function and line
 * of every frame whose file is on this machine and the very one that ran.  A file that several of
 * the `count` profiles name is read once.  The texts belong to the first profile: close all
 * together.  May take seconds; shows progress.
 */
void names_resolve(struct profile *profiles, size_t count, bool places);

/*
 * The frame that says most: for calls the innermost Python frame that is not an installed
 * library's, then any Python frame, then the innermost that is not CUDA's runtime; for allocations
 * the innermost that is neither an allocator's nor a container's.  NULL: there is none.
 */
const struct profile_frame *names_frame(const struct profile *profile,
					const struct profile_frames *frames, bool allocation);

/* The caller of one of the frames; NULL where there is none, or its place says nothing. */
const struct profile_frame *names_caller(const struct profile_frames *frames,
					 const struct profile_frame *frame);

/*
 * The innermost frame that has a source line and lies neither in CUDA nor in the C or C++ library.
 * *ret_in_cuda: it is a caller of code of CUDA's or hotpin's.  NULL: there is none.
 */
const struct profile_frame *names_source_frame(const struct profile *profile,
					       const struct profile_frames *frames,
					       bool *ret_in_cuda);

/* True if the file is the C or C++ library, CUDA or hotpin. */
bool names_is_system_module(const char *path);

/* True if the file at `path` is of an installed library or compiler. */
bool names_is_system_source(const char *path);

/*
 * "solve(float*) at solve.cu:42", "solve(float*) in stencil+0x4020" without lines, "stencil+0x4020"
 * without names; cut at `room`, not escaped.  No offset: that of the frame is UNKNOWN.
 */
const char *names_place(const struct profile *profile, const struct profile_frame *frame, char *ret,
			size_t room);

/*
 * The same in `columns` bytes where the line still fits: without parameters, "solve(..) at
 * solve.cu:42", and if need be with less of the function's name.
 */
const char *names_place_short(const struct profile *profile, const struct profile_frame *frame,
			      char *ret, size_t room, size_t columns);

/* True if the frame is the CUDA runtime's, linked statically or not. */
bool names_is_runtime(const struct profile *profile, const struct profile_frame *frame);

/* True if the frame is code of the CPython interpreter itself. */
bool names_is_interpreter(const struct profile *profile, const struct profile_frame *frame);

/* The last part of a module's path; "?" where it is not known. */
const char *names_module(const struct profile *profile, const struct profile_frame *frame);

#endif
