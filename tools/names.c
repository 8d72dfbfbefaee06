/*
 * names.c - which frame of many says where in the program something was done.
 */
#include "names.h"

#include <stdio.h>
#include <string.h>

const char *names_module(const struct profile *profile, const struct profile_frame *frame)
{
	const char *path = NULL, *slash;

	if (frame->module >= 0)
		path = profile->modules[frame->module].path;
	if (path == NULL)
		return "?";
	slash = strrchr(path, '/');
	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static bool begins(const char *text, const char *with)
{
	return text != NULL && strncmp(text, with, strlen(with)) == 0;
}

/* CUDA's runtime, linked statically (names as in the archive of CUDA 13.0) or not. */
static bool is_runtime(const char *module, const char *function)
{
	return begins(module, "libcudart.so") || begins(function, "cudart::") ||
	       begins(function, "__cudart") || begins(function, "libcudart_static_") ||
	       begins(function, "__cudaMemcpy") ||
	       (begins(function, "cuda") && function[4] >= 'A' && function[4] <= 'Z');
}

/* What allocates on somebody's behalf. */
static bool is_allocator(const char *module, const char *function)
{
	return begins(module, "libstdc++.so") || begins(module, "libc++.so") ||
	       begins(function, "operator new") || begins(function, "std::") ||
	       begins(function, "__gnu_cxx::") || begins(function, "void std::") ||
	       begins(function, "thrust::") || begins(function, "cudaMallocHost");
}

const struct profile_frame *names_frame(const struct profile *profile,
					const struct profile_frames *frames, bool allocation)
{
	for (size_t i = 0; i < frames->count; i++) {
		const struct profile_frame *frame = &frames->items[i];
		const char *module = names_module(profile, frame);

		if (!(allocation ? is_allocator : is_runtime)(module, frame->function))
			return frame;
	}
	return frames->count > 0 ? &frames->items[0] : NULL;
}

const char *names_place(const struct profile *profile, const struct profile_frame *frame, char *ret,
			size_t room)
{
	if (frame == NULL)
		snprintf(ret, room, "?");
	else if (frame->function != NULL && frame->line != NULL)
		snprintf(ret, room, "%s at %s", frame->function, frame->line);
	else if (frame->function != NULL)
		snprintf(ret, room, "%s in %s", frame->function, names_module(profile, frame));
	else if (frame->module >= 0)
		snprintf(ret, room, "%s+0x%llx", names_module(profile, frame),
			 (unsigned long long)frame->offset);
	else
		snprintf(ret, room, "0x%llx", (unsigned long long)frame->offset);
	return ret;
}
