/*
 * advice_python.c - CPU time of Python lines, without imports and CUDA.
 */
#include "analyze/advice_list.h"
#include "names/names.h"
#include "analyze/python_lines.h"
#include "base/parse.h"

#include <string.h>

/* The rows of a line that advice counts. */
struct line {
	const struct profile_frame *frame;
	int64_t own_ns, own_samples;         /* without Python functions that the line calls */
	int64_t library_ns, library_samples; /* in Python functions of installed libraries */
	int64_t cuda_ns;                     /* in its CUDA calls, at most; UNKNOWN: it has none */
};

bool advice_runs_python(const struct profile *profile)
{
	for (size_t i = 0; i < profile->python_count; i++)
		if (profile->python[i].frames.count > 0)
			return true;
	return false;
}

/* True if the path lies in the folder lib next to the interpreter's folder bin or lib. */
static bool is_next_to(const char *interpreter, const char *path)
{
	const char *slash = strrchr(interpreter, '/');
	size_t length = slash != NULL ? (size_t)(slash - interpreter) : 0;

	if (length < 4 ||
	    (strncmp(slash - 4, "/bin", 4) != 0 && strncmp(slash - 4, "/lib", 4) != 0))
		return false;
	return strncmp(path, interpreter, length - 4) == 0 &&
	       strncmp(path + length - 4, "/lib/", 5) == 0;
}

bool advice_is_installed(const struct profile *profile, const struct profile_frame *frame)
{
	static const char *const folders[] = { "/lib/", "/lib64/", "/usr/lib64/" };
	const char *path = frame->module >= 0 ? profile->modules[frame->module].path : NULL;

	if (path == NULL)
		return false;
	for (size_t i = 0; i < HP_LEN(folders); i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return true;
	for (size_t i = 0; i < profile->module_count; i++) {
		struct profile_frame other = { .module = (int64_t)i };

		if (names_code(profile, &other) == NAMES_INTERPRETER &&
		    is_next_to(profile->modules[i].path, path))
			return true;
	}
	return names_is_system_source(path);
}

bool advice_uses(const struct profile *profile, const char *part)
{
	for (size_t i = 0; i < profile->module_count; i++)
		if (strstr(profile->modules[i].path, part) != NULL)
			return true;
	return false;
}

bool advice_uses_torch(const struct profile *profile)
{
	return advice_runs_python(profile) && advice_uses(profile, "/libtorch");
}

/* Code without a file is generated, except for what a user enters at a prompt or in a notebook. */
static bool is_source(const char *path)
{
	static const char *const entered[] = { "<stdin>", "<python-input-", "<ipython-input-" };

	for (size_t i = 0; i < HP_LEN(entered); i++)
		if (strncmp(path, entered[i], strlen(entered[i])) == 0)
			return true;
	return path[0] != '<';
}

/* True if the program has no source: it is the text of python -c, or of an embedding program. */
static bool is_text(const struct profile *profile)
{
	for (size_t i = 0; i < profile->python_count; i++) {
		const struct profile_frames *frames = &profile->python[i].frames;

		for (size_t j = 0; j < frames->count; j++)
			if (is_source(frames->items[j].path) &&
			    !names_is_system_source(frames->items[j].path))
				return false;
	}
	return true;
}

/* True if somebody can edit the code. */
static bool is_editable(const struct profile_frame *frame, bool of_text)
{
	return is_source(frame->path) || (of_text && strcmp(frame->path, "<string>") == 0);
}

/* The standard library waits, reads and imports. */
static bool is_standard(const struct profile_frame *frame)
{
	return strstr(frame->path, "/lib/python3") != NULL &&
	       strstr(frame->path, "/site-packages/") == NULL &&
	       strstr(frame->path, "/dist-packages/") == NULL;
}

/* A call of CUDA from a line of Python: a copy or a launch, or a named call. */
struct use {
	const struct profile_frame *frame;
	const char *call; /* NULL: not named */
	int64_t ns;
};

static void add_use(const struct profile *profile, const struct profile_frames *frames,
		    const char *call, int64_t ns, struct use **next)
{
	const struct profile_frame *frame = names_frame(profile, frames, false);

	if (frame != NULL && frame->is_python)
		*(*next)++ = (struct use){ frame, call, ns > 0 ? ns : 0 };
}

/* Returns the uses of all lines, in the memory of the profile. */
static struct use *find_uses(const struct profile *profile, size_t *ret_count)
{
	size_t most = profile->launch_count + 2 * profile->gap_count;

	for (size_t i = 0; i < profile->site_count; i++)
		most += profile->sites[i].row_count;
	struct use *uses = profile_allocate(profile, most, sizeof(*uses)), *next = uses;
	for (size_t i = 0; i < profile->site_count; i++)
		for (size_t j = 0; j < profile->sites[i].row_count; j++)
			add_use(profile, &profile->sites[i].frames, NULL,
				profile->sites[i].rows[j].host_ns, &next);
	for (size_t i = 0; i < profile->launch_count; i++)
		add_use(profile, &profile->launches[i].frames, NULL, profile->launches[i].host_ns,
			&next);
	for (size_t i = 0; i < profile->gap_count; i++) {
		const struct profile_gap_end *ends[] = { &profile->gaps[i].before,
							 &profile->gaps[i].after };

		for (size_t j = 0; j < HP_LEN(ends); j++)
			if (ends[j]->call != NULL)
				add_use(profile, &ends[j]->frames, ends[j]->call, 0, &next);
	}
	*ret_count = (size_t)(next - uses);
	return uses;
}

static void add_cuda(struct line *line, int64_t ns)
{
	line->cuda_ns = profile_add(line->cuda_ns < 0 ? 0 : line->cuda_ns, ns > 0 ? ns : 0);
}

/*
 * Copies and launches are known by place.  Of other functions all calls count, wherever they were
 * made.  Sampling begins after the first cuInit.
 */
static void add_call(const struct profile *profile, const char *name, bool *seen, struct line *line)
{
	add_cuda(line, 0);
	for (size_t i = 0; i < profile->call_count; i++) {
		const struct profile_call *call = &profile->calls[i];

		if (seen[i] || call->name == NULL || strcmp(call->name, name) != 0)
			continue;
		seen[i] = true;
		if (call->class == NULL ||
		    (strcmp(call->class, "copy") != 0 && strcmp(call->class, "launch") != 0 &&
		     strcmp(name, "cuInit") != 0))
			add_cuda(line, call->total_ns);
	}
}

static void find_cuda(const struct profile *profile, const struct use *uses, size_t count,
		      bool *seen, struct line *line)
{
	memset(seen, 0, profile->call_count * sizeof(*seen));
	for (size_t i = 0; i < count; i++) {
		if (!profile_same_frame(uses[i].frame, line->frame))
			continue;
		if (uses[i].call != NULL)
			add_call(profile, uses[i].call, seen, line);
		else
			add_cuda(line, uses[i].ns);
	}
}

/* Adds a sample of the line, except what nobody can edit, and imports. */
static void add_row(struct line *line, const struct profile_python *row, bool of_text,
		    int64_t *ret_import_ns)
{
	const struct profile_frame *inner = row->frames.items;

	if (row->frames.count == 0 || row->cpu_ns <= 0)
		return;
	if (python_imports(&row->frames)) {
		*ret_import_ns = profile_add(*ret_import_ns, row->cpu_ns);
		return;
	}
	if (names_is_system_source(line->frame->path) || !is_editable(line->frame, of_text) ||
	    !is_editable(inner, of_text) || is_standard(inner))
		return;
	if (profile_same_frame(inner, line->frame)) {
		line->own_ns = profile_add(line->own_ns, row->cpu_ns);
		line->own_samples = profile_add(line->own_samples, row->samples);
	} else {
		line->library_ns = profile_add(line->library_ns, row->cpu_ns);
		line->library_samples = profile_add(line->library_samples, row->samples);
	}
}

static struct advice_function function_of(const struct line *line)
{
	struct advice_function function = { .frame = line->frame };

	if (line->cuda_ns < 0) {
		function.samples = profile_add(line->own_samples, line->library_samples);
		function.ns = profile_add(line->own_ns, line->library_ns);
	} else {
		function.calls_cuda = true;
		function.samples = line->own_samples;
		function.ns = line->own_ns > line->cuda_ns ? line->own_ns - line->cuda_ns : 0;
	}
	return function;
}

size_t advice_python_lines(const struct profile *profile, int64_t most_ns,
			   struct advice_function *ret, int64_t *ret_import_ns)
{
	bool of_text = is_text(profile);
	bool *seen = profile_allocate(profile, profile->call_count, 1);
	size_t kept = 0, use_count, rows = profile->python_count;
	const struct use *uses = find_uses(profile, &use_count);
	size_t *first = profile_allocate(profile, rows, sizeof(*first));
	const struct python_line *of_rows = python_lines_of_rows(profile, first);
	struct line *lines = profile_allocate(profile, rows, sizeof(*lines));
	int64_t all_ns = 0;

	for (size_t i = 0; i < rows; i++) {
		if (first[i] == i)
			lines[i] = (struct line){ .frame = of_rows[i].frame, .cuda_ns = UNKNOWN };
		add_row(&lines[first[i]], &profile->python[i], of_text, ret_import_ns);
	}
	for (size_t i = 0; i < rows; i++) {
		if (lines[i].own_ns == 0 && lines[i].library_ns == 0)
			continue;
		find_cuda(profile, uses, use_count, seen, &lines[i]);
		ret[kept] = function_of(&lines[i]);
		all_ns = profile_add(all_ns, ret[kept].ns);
		kept += ret[kept].ns > 0;
	}
	/* Several threads may take more CPU time than the wall time of host code. */
	for (size_t i = 0; i < kept && all_ns > most_ns; i++)
		ret[i].ns = (int64_t)((__int128_t)ret[i].ns * most_ns / all_ns);
	return kept;
}
