/*
 * names.c - chooses the frame of a call chain that names the place in the program.
 */
#include "names/names.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdio.h>
#include <string.h>

/* Characters of a function's name: shown even in the narrowest column, and at most. */
#define NAME_LEAST    8
#define FUNCTION_MOST 500

const char *names_module(const struct profile *profile, const struct profile_frame *frame)
{
	const char *path = NULL, *slash;

	if (frame->module >= 0)
		path = profile->modules[frame->module].path;
	if (path == NULL || path[0] == '\0')
		return "?";
	slash = strrchr(path, '/');
	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static bool begins(const char *text, const char *with)
{
	return text != NULL && strncmp(text, with, strlen(with)) == 0;
}

/* True if the text begins with one of the words, which '|' separates. */
static bool begins_any(const char *text, const char *words)
{
	const char *at = text;

	while (text != NULL && *words != '|' && *words != '\0') {
		if (*words++ == *at++)
			continue;
		words = strchr(words, '|');
		if (words == NULL)
			return false;
		words++;
		at = text;
	}
	return text != NULL;
}

static enum names_code code_of_module(const char *name)
{
	static const char *const begins[] = {
		[NAMES_RUNTIME] = "libcudart.so",
		[NAMES_DRIVER] = "libcuda.so|libcupti.so|libnvidia-",
		[NAMES_CUDA] = "libcublas|libcudnn|libcufft|libcurand|libcusolver|libcusparse|"
			       "libnv|libhotpin.so",
		[NAMES_LIBC] = "libc.so|libc-2|libm.so|libm-2|libmvec.so|libpthread|ld-linux|"
			       "libdl.|libgcc_s.so",
		[NAMES_LIBCXX] = "libstdc++.so|libc++.so",
		[NAMES_INTERPRETER] = "libpython|python3",
		[NAMES_THREADS] = "libgomp|libomp|libiomp|linux-vdso",
	};
	enum names_code code = NAMES_THREADS;

	while (code != NAMES_PROGRAM && !begins_any(name, begins[code]))
		code--;
	return code;
}

enum names_code names_code(const struct profile *profile, const struct profile_frame *frame)
{
	enum names_code code = code_of_module(names_module(profile, frame));
	const char *function = frame->function;

	if (code != NAMES_PROGRAM)
		return code;
	/* The runtime may be linked statically; names as in the archive of CUDA 13.0. */
	if (begins_any(function, "cudart::|__cudart|libcudart_static_|__cudaMemcpy") ||
	    (begins(function, "cuda") && function[4] >= 'A' && function[4] <= 'Z'))
		return NAMES_RUNTIME;
	/* On the stand-in device, a twin on the host runs in place of a kernel. */
	return begins(function, "standin_twin_") ? NAMES_CUDA : NAMES_PROGRAM;
}

bool names_is_cuda(enum names_code code)
{
	return code == NAMES_RUNTIME || code == NAMES_CUDA || code == NAMES_DRIVER;
}

bool names_is_libc(enum names_code code)
{
	return code == NAMES_LIBC || code == NAMES_LIBCXX;
}

bool names_is_system_module(const char *path)
{
	enum names_code code = code_of_module(basename(path));

	return names_is_cuda(code) || names_is_libc(code);
}

/* Copies the identifier of a function: "scale" of "void n::scale<int>(int*)". */
static void copy_identifier(const char *function, char *ret, size_t room)
{
	size_t end = strcspn(function, "<("), begin = end;

	while (begin > 0 && function[begin - 1] != ' ' && function[begin - 1] != ':')
		begin--;
	snprintf(ret, room, "%.*s", (int)(end - begin), function + begin);
}

/*
 * True for the code of a launch that nvcc generates: a stub, "__device_stub__Z5scalePfi(..)", and
 * the function with the kernel's name that calls it.  The compiler may inline that function, or
 * replace its call by a jump.
 */
static bool is_launch(const struct profile_frames *frames, size_t index)
{
	static const char stub[] = "__device_stub__";
	const char *function = frames->items[index].function;
	char kernel[256];

	if (begins(function, stub))
		return true;
	if (index == 0 || function == NULL || !begins(frames->items[index - 1].function, stub))
		return false;
	copy_identifier(function, kernel, sizeof(kernel));
	return kernel[0] != '\0' && strstr(frames->items[index - 1].function, kernel) != NULL;
}

/* True for functions that allocate for their caller. */
static bool is_allocator(const struct profile *profile, const struct profile_frame *frame)
{
	return names_code(profile, frame) == NAMES_LIBCXX ||
	       begins_any(frame->function,
			  "operator new|std::|__gnu_cxx::|void std::|thrust::|cudaMallocHost");
}

static const struct profile_frame *python_frame(const struct profile_frames *frames)
{
	for (size_t i = 0; i < frames->count && frames->items[i].is_python; i++)
		if (!names_is_system_source(frames->items[i].path))
			return &frames->items[i];
	return frames->count > 0 && frames->items[0].is_python ? &frames->items[0] : NULL;
}

const struct profile_frame *names_frame(const struct profile *profile,
					const struct profile_frames *frames, bool allocation)
{
	if (frames->place != NULL && !allocation)
		return frames->place;
	const struct profile_frame *python = python_frame(frames);
	if (python != NULL)
		return python;
	for (size_t i = 0; i < frames->count; i++) {
		const struct profile_frame *frame = &frames->items[i];
		bool skipped = allocation ? is_allocator(profile, frame)
					  : names_code(profile, frame) == NAMES_RUNTIME;

		if (!skipped && !is_launch(frames, i))
			return frame;
	}
	return frames->count > 0 ? &frames->items[0] : NULL;
}

const struct profile_frame *names_buffer_frame(const struct profile *profile,
					       const struct profile_buffer *buffer)
{
	bool is_copied_there = strcmp(buffer->kind, "file") == 0;

	return names_frame(profile, &buffer->frames,
			   !is_copied_there && strcmp(buffer->kind, "pinned") != 0);
}

const struct profile_frame *names_caller(const struct profile_frames *frames,
					 const struct profile_frame *frame)
{
	if (frame == NULL || frame + 1 >= frames->items + frames->count)
		return NULL;
	/* Python is called by the interpreter.  A nameless place in another file is no help. */
	if (frame->is_python ? !frame[1].is_python
			     : frame->function != NULL && frame[1].function == NULL &&
				       frame[1].module != frame->module)
		return NULL;
	return frame + 1;
}

bool names_is_system_source(const char *path)
{
	static const char *const parts[] = { "/include/c++/", "-linux/include/", "/site-packages/",
					     "/dist-packages/", "/lib/python3" };

	for (size_t i = 0; i < HP_LEN(parts); i++)
		if (strstr(path, parts[i]) != NULL)
			return true;
	return begins_any(path, "/usr/include/|/usr/lib/|/usr/local/cuda|<frozen ");
}

const struct profile_frame *names_source_frame(const struct profile *profile,
					       const struct profile_frames *frames,
					       bool *ret_in_cuda)
{
	const struct profile_frame *found = NULL;
	bool in_cuda = false;

	*ret_in_cuda = false;
	for (size_t i = 0; i < frames->count; i++) {
		const struct profile_frame *frame = &frames->items[i];
		enum names_code code = names_code(profile, frame);

		if (names_is_cuda(code) || is_launch(frames, i)) {
			in_cuda = true;
			continue;
		}
		if (frame->path == NULL || names_is_libc(code))
			continue;
		bool system = names_is_system_source(frame->path);
		if (found == NULL || !system) {
			found = frame;
			*ret_in_cuda = in_cuda;
		}
		if (!system)
			return found;
	}
	if (found == NULL)
		*ret_in_cuda = in_cuda;
	return found;
}

static const char *place_of(const struct profile *profile, const struct profile_frame *frame)
{
	const char *module = names_module(profile, frame);

	if (frame->function != NULL && frame->line != NULL)
		return text_made("%s at %s", frame->function, frame->line);
	if (frame->function != NULL && frame->offset >= 0)
		return text_made("%s in %s+0x%llx", frame->function, module,
				 (unsigned long long)frame->offset);
	if (frame->function != NULL)
		return text_made("%s in %s", frame->function, module);
	return text_made("%s%s0x%llx", frame->module >= 0 ? module : "",
			 frame->module >= 0 ? "+" : "", (unsigned long long)frame->offset);
}

/* Returns the length without " [clone .constprop.0]", which the compiler adds. */
static size_t without_clones(const char *function)
{
	const char *clone = strstr(function, " [clone ");

	return clone != NULL ? (size_t)(clone - function) : strlen(function);
}

/* Returns where the last parenthesis opens if only " const" and the like follow; else `length`. */
static size_t parameters_at(const char *function, size_t length)
{
	size_t end = length, depth = 0;

	while (end > 0 && (function[end - 1] == ' ' || function[end - 1] == '&' ||
			   (function[end - 1] >= 'a' && function[end - 1] <= 'z')))
		end--;
	if (end == 0 || function[end - 1] != ')')
		return length;
	for (size_t at = end; at > 0; at--) {
		depth += function[at - 1] == ')';
		depth -= function[at - 1] == '(';
		if (depth == 0)
			return at - 1;
	}
	return length;
}

/* Returns the function's name in `most` bytes if that is enough for its least form. */
static const char *short_function(const char *function, size_t most)
{
	size_t length = without_clones(function), name = parameters_at(function, length);

	most = most < FUNCTION_MOST ? most : FUNCTION_MOST;
	if (length <= most)
		return text_made("%.*s", (int)length, function);
	if (name < length && (name + 4 <= most || name < NAME_LEAST))
		return text_made("%.*s(..)", (int)name, function);
	most = most < NAME_LEAST + 2 ? NAME_LEAST : most - 2;
	most = most > name ? name : most;
	/* A multi-byte character must not be cut. */
	while (most > 0 && ((unsigned char)function[most] & 0xc0) == 0x80)
		most--;
	return text_made("%.*s%s", (int)most, function, most < length ? ".." : "");
}

const char *names_place(const struct profile *profile, const struct profile_frame *frame,
			size_t columns)
{
	struct profile_frame shorter;

	if (frame == NULL)
		return "?";
	if (frame->function == NULL)
		return place_of(profile, frame);
	shorter = *frame;
	shorter.function = "";
	size_t rest = strlen(place_of(profile, &shorter));
	shorter.function = short_function(frame->function, columns > rest ? columns - rest : 0);
	return place_of(profile, &shorter);
}
