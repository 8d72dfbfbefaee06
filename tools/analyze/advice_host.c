/*
 * advice_host.c - samples, sorted by function and line, and added up.
 */
#include "analyze/advice_host.h"
#include "analyze/advice_list.h"
#include "analyze/host_code.h"
#include "names/names.h"
#include "profile/sorted_lists.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

/* The functions on the stacks of copies and launches, by by_caller(). */
struct callers {
	const struct profile_frame **items;
	size_t count;
	bool is_python; /* the program runs Python */
};

static int by_function(const struct profile_frame *a, const struct profile_frame *b)
{
	return sorted_numbers(a->module, b->module) ?: sorted_texts(a->function, b->function);
}

static int by_caller(const void *left, const void *right)
{
	const struct profile_frame *const *a = left, *const *b = right;

	return by_function(*a, *b);
}

/* Code that cannot be ported.  Loops of OpenMP are functions of the program. */
static bool is_foreign(enum names_code code)
{
	return code != NAMES_PROGRAM && !names_is_libc(code);
}

static void add_callers(struct callers *callers, const struct profile_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++)
		callers->items[callers->count++] = &frames->items[i];
}

static struct callers find_callers(const struct profile *profile)
{
	struct callers callers = { NULL, 0 };
	size_t most = 0;

	for (size_t i = 0; i < profile->site_count; i++)
		most += profile->sites[i].frames.count;
	for (size_t i = 0; i < profile->launch_count; i++)
		most += profile->launches[i].frames.count;
	callers.items = profile_allocate(profile, most, sizeof(*callers.items));
	for (size_t i = 0; i < profile->site_count; i++)
		add_callers(&callers, &profile->sites[i].frames);
	for (size_t i = 0; i < profile->launch_count; i++)
		add_callers(&callers, &profile->launches[i].frames);
	qsort(callers.items, callers.count, sizeof(*callers.items), by_caller);
	return callers;
}

static bool copies_or_launches(const struct callers *callers, const struct profile_frame *frame)
{
	return callers->count > 0 && bsearch(&frame, callers->items, callers->count,
					     sizeof(*callers->items), by_caller) != NULL;
}

static bool is_in_header(const struct profile_frame *frame)
{
	return frame->path != NULL && names_is_system_source(frame->path);
}

static bool is_same_place(const struct profile_frame *a, const struct profile_frame *b)
{
	return a->module == b->module && a->offset == b->offset;
}

static bool is_main(const struct profile_frame *frame)
{
	return frame->function != NULL && strcmp(frame->function, "main") == 0;
}

/*
 * Of the functions that are inlined at the place of frames[first], and the one that contains it,
 * returns the outermost that neither copies nor launches and is not main(): it has the loops, and a
 * small function that it calls has not.  Functions of installed headers do not count.  Returns the
 * innermost if no function is left.
 */
static const struct profile_frame *without_calls(const struct callers *callers,
						 const struct profile_frames *frames, size_t first)
{
	const struct profile_frame *found = &frames->items[first];

	for (size_t i = first;
	     i < frames->count && is_same_place(&frames->items[i], &frames->items[first]); i++) {
		const struct profile_frame *frame = &frames->items[i];

		if (!copies_or_launches(callers, frame) && !is_main(frame) && !is_in_header(frame))
			found = frame;
	}
	return found;
}

/* Returns the frame that a sample counts for; NULL if no frame is the program's. */
static const struct profile_frame *own_frame(const struct profile *profile,
					     const struct profile_frames *frames, const void *arg)
{
	const struct callers *callers = arg;

	for (size_t i = 0; i < frames->count; i++) {
		const struct profile_frame *frame = &frames->items[i];
		enum names_code code = names_code(profile, frame);

		if (frame->module < 0)
			return frame->function != NULL ? frame : NULL;
		if (is_foreign(code))
			return NULL;
		if (!names_is_libc(code) &&
		    !(callers->is_python && advice_is_installed(profile, frame)))
			return without_calls(callers, frames, i);
	}
	return NULL;
}

/* True if the caller of the library may be the program: no frame says who it is. */
static bool has_lost_caller(const struct profile *profile, const struct profile_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++)
		if (!names_is_libc(names_code(profile, &frames->items[i])))
			return false;
	return frames->count > 0;
}

static int by_time(const void *left, const void *right)
{
	const struct advice_function *a = left, *b = right;

	return sorted_numbers(b->ns, a->ns) ?: sorted_numbers(b->samples, a->samples)
		?: by_function(a->frame, b->frame);
}

static void add_functions(const struct profile *profile, struct advice_host *host)
{
	struct callers callers = find_callers(profile);
	struct host_code code;

	callers.is_python = host->is_python;
	host_code_sum(profile, own_frame, &callers, &code);
	for (size_t i = 0; i < code.function_count && code.order[i]->self > 0; i++) {
		const struct host_function *function = code.order[i];
		int64_t busiest = host_code_busiest(profile, function->threads);

		host->items[host->count++] = (struct advice_function){
			.frame = function->line,
			.caller = function->caller,
			.lines = function->hot,
			.samples = function->self,
			.ns = host_code_ns(profile, busiest),
			.before = function->before,
			.after = function->after,
		};
	}
}

/* Returns the wall time of host code that sampling may have seen, at most. */
static int64_t most_of(const struct profile *profile)
{
	return profile_has_split(profile) ? profile->split.host_ns : profile->wall_ns;
}

/* Several threads may take more CPU time than the wall time of host code. */
static int64_t time_of(const struct profile *profile, int64_t samples)
{
	int64_t ns = host_code_ns(profile, samples), most = most_of(profile);

	return profile->sampling.hz <= 0 ? 0 : ns >= 0 && ns < most ? ns : most;
}

static void set_times(const struct profile *profile, struct advice_host *host)
{
	int64_t threads[HOST_CODE_THREADS] = { 0 }, all_ns = 0, lost = 0;
	int64_t most = most_of(profile);

	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		host_code_add_threads(sample, threads);
		if (has_lost_caller(profile, &sample->frames))
			lost = profile_add(lost, host_code_samples(sample));
	}
	host->library_ns = time_of(profile, lost);
	host->busy_ns = time_of(profile, host_code_busiest(profile, threads));
	for (size_t i = 0; i < host->count; i++)
		all_ns = profile_add(all_ns, host->items[i].ns > 0 ? host->items[i].ns : 0);
	host->own_ns = all_ns < most ? all_ns : most;
	for (size_t i = 0; i < host->count; i++) {
		struct advice_function *function = &host->items[i];
		int64_t outside = profile_add(function->before, function->after);
		int64_t between = outside < function->samples ? function->samples - outside : 0;

		function->ns = all_ns > 0 && function->ns > 0
				       ? (int64_t)((__int128_t)host->own_ns * function->ns / all_ns)
				       : 0;
		function->between_ns =
			(int64_t)((__int128_t)function->ns * between / function->samples);
	}
}

/*
 * Returns the host code from the start of the process to the first CUDA call.  Sampling begins
 * after that call.
 */
static int64_t before_cuda(const struct profile *profile)
{
	int64_t ns = 0;

	for (size_t i = 0; i < profile->gap_count; i++)
		if (profile->gaps[i].before.call == NULL && profile->gaps[i].after.call != NULL &&
		    !profile_is_part(profile) && profile->gaps[i].count == 1 &&
		    profile->gaps[i].total_ns <= profile->sampling.began_ns)
			ns = profile->gaps[i].total_ns;
	return ns < most_of(profile) ? ns : most_of(profile);
}

/* A line and a function that it calls have the same time, so their times do not add up. */
static void add_python(const struct profile *profile, struct advice_host *host)
{
	struct advice_function *lines = host->items + host->count;
	int64_t ns = 0;
	int64_t most = most_of(profile) - host->before_ns;
	size_t count = advice_python_lines(profile, most, lines, &host->import_ns);

	for (size_t i = 0; i < count; i++) {
		ns = profile_add(ns, lines[i].ns);
		lines[i].between_ns = lines[i].ns;
	}
	host->count += count;
	host->import_ns = host->import_ns < most ? host->import_ns : most;
	host->own_ns = ns > host->own_ns ? ns : host->own_ns;
}

void advice_host_read(const struct profile *profile, struct advice_host *ret)
{
	*ret = (struct advice_host){ .is_python = advice_runs_python(profile) };
	ret->items = profile_allocate(profile, profile->sample_count + profile->python_count,
				      sizeof(*ret->items));
	add_functions(profile, ret);
	set_times(profile, ret);
	ret->before_ns = before_cuda(profile);
	if (ret->is_python)
		add_python(profile, ret);
	qsort(ret->items, ret->count, sizeof(*ret->items), by_time);
	ret->is_sampled = profile->sample_count > 0 || ret->is_python;
}
