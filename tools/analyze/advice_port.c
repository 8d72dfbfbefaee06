/*
 * advice_port.c - host code that could become kernels.
 *
 * Functions are known from samples, host code between two copies from round trips and gaps.  The
 * kernels' own time is unknown, so no saving counts it.  In a program that runs Python, lines of
 * Python have the CPU time of the native functions that they call.
 */
#include "analyze/advice_list.h"
#include "analyze/round_trips.h"
#include "names/names.h"
#include "profile/texts.h"

#include <string.h>

#define GAPS_LEAST         2 /* times: a loop */
#define FUNCTIONS_MOST     16
#define PART_LEAST         20 /* a function with a smaller part of the host code explains nothing */
#define SAMPLES_LEAST      10 /* fewer samples do not show where a function runs */
/* cuInit() and a first context take 200 to 330 ms. */
#define STARTUP_TYPICAL_NS 300000000

/*
 * Returns the round trips with all copies that go when all host code between downloads and uploads
 * is ported.  A round trip is one download and one upload; its loop may have more copies.  A site
 * that copied once is in no loop.
 */
static struct advice_trips with_repeated(const struct profile *profile, struct advice_trips trips)
{
	int64_t copies = 0, copy_ns = 0, bytes = 0;

	for (size_t i = 0; i < profile->site_count; i++) {
		for (size_t j = 0; j < profile->sites[i].row_count; j++) {
			const struct profile_row *row = &profile->sites[i].rows[j];

			if (!advice_is_any(row) || row->count < 2 || row->host_ns < 0)
				continue;
			copies = profile_add(copies, row->count);
			copy_ns = profile_add(copy_ns, row->host_ns);
			bytes = profile_add(bytes, row->bytes);
		}
	}
	copy_ns = advice_without_copies(profile, advice_copying_ns(profile, copy_ns, bytes, copies),
					0);
	if (trips.copy_ns > 0 && copy_ns > trips.copy_ns) {
		trips.copies = copies;
		trips.copy_ns = copy_ns;
	}
	return trips;
}

/* Returns the time of all gaps that sampling may have seen. */
static int64_t gaps_ns(const struct profile *profile)
{
	int64_t ns = 0;

	for (size_t i = 0; i < profile->gap_count; i++)
		if (profile->gaps[i].before.call != NULL ||
		    profile->gaps[i].total_ns > profile->sampling.began_ns)
			ns = profile_add(ns, profile->gaps[i].total_ns);
	return ns;
}

/*
 * Writes the time in the copies that go with each function: it fills the gap between them.  Samples
 * do not tell in which gap they were taken, but all other gaps between copies and kernels have no
 * room for a part of them.
 */
static void find_copies(const struct profile *profile, const struct advice_host *host,
			int64_t ret[FUNCTIONS_MOST])
{
	int64_t all_ns = gaps_ns(profile);

	for (size_t i = 0; i < host->count; i++)
		all_ns -= host->items[i].ns - host->items[i].between_ns;
	for (size_t i = 0; i < 2 * profile->buffer_count; i++) {
		const struct profile_buffer *buffer = &profile->buffers[i / 2];
		const struct profile_trips *trips =
			i % 2 == 0 ? &buffer->round_trips : &buffer->follows;
		const struct profile_gap *gap =
			trips->copy_ns > 0 ? round_trips_gap(profile, trips) : NULL;
		int64_t copy_ns = advice_copying_ns(profile, trips->copy_ns,
						    profile_add(trips->bytes, trips->bytes),
						    profile_add(trips->count, trips->count));

		for (size_t j = 0; gap != NULL && j < host->count && j < FUNCTIONS_MOST; j++) {
			int64_t elsewhere = all_ns > gap->total_ns ? all_ns - gap->total_ns : 0;
			int64_t in_gap = host->items[j].between_ns - elsewhere;

			if (host->items[j].samples >= SAMPLES_LEAST &&
			    in_gap >= gap->total_ns / 4 * 3)
				ret[j] = profile_add(ret[j], copy_ns);
		}
	}
	for (size_t i = 0; i < FUNCTIONS_MOST; i++)
		ret[i] = advice_without_copies(profile, ret[i], 0);
}

/* Says how a line of Python is ported, with the library that the program uses for the GPU. */
static const char *how_in_python(const struct profile *profile)
{
	if (advice_uses_torch(profile))
		return "compute it in tensors that are created on the GPU (device='cuda')";
	if (advice_uses(profile, "/cupy"))
		return "compute it in CuPy arrays";
	return "compute on the GPU what this line computes on the host";
}

/* Returns the place of a function, or of a line of Python. */
static const char *name_function(const struct profile *profile, const struct profile_frame *frame)
{
	if (frame->module < 0 && !frame->is_python)
		return frame->function;
	if (frame->function == NULL)
		return text_made("%s without symbols", names_module(profile, frame));
	return advice_place(profile, frame);
}

/* Names code that is not between copies and kernels: such code is no reason for copies. */
static const char *outside_loops(const struct advice_function *function)
{
	if (function->before > function->samples / 2)
		return ", mostly before the first copy or kernel, as input is";
	if (function->after > function->samples / 2)
		return ", mostly after the last copy or kernel, as a check of the result and "
		       "output are";
	return "";
}

/* copy_ns: the time in the copies that go with it; all_copies_ns: in those of all round trips. */
static void port_function(const struct profile *profile, struct advice_list *list,
			  const struct advice_function *function, int64_t copy_ns,
			  int64_t all_copies_ns)
{
	bool is_python = function->frame->is_python, with_copies = copy_ns > 0;
	struct advice advice = {
		.kind = ADVICE_PORT,
		.saves_ns = profile_add(function->ns, copy_ns),
		.is_estimate = true,
		.frame = function->frame,
		.where = name_function(profile, function->frame),
	};

	if (with_copies)
		advice.what = is_python ? "port line, drop copies" : "port function, drop copies";
	else
		advice.what = is_python ? "port this Python line" : "port this function";
	advice.how = text_made(
		"%s: %s of %s%s in %s%s%s",
		is_python ? how_in_python(profile) : "turn its loops into kernels",
		text_time(function->ns), is_python ? "CPU time" : "host code",
		function->calls_cuda ? " outside CUDA calls" : "",
		text_several(function->samples, "sample", "samples"), outside_loops(function),
		with_copies ? text_made(", and copies of %s", text_time(copy_ns)) : "");
	if (with_copies)
		advice.assumes = "it is the host code between download and upload; its kernel's "
				 "own time is not included";
	else if (all_copies_ns > 0)
		advice.assumes = text_made(
			"a GPU can compute it; its kernel's own time is not included; the copies "
			"of %s can go when all host code between them is ported",
			text_time(all_copies_ns));
	else
		advice.assumes = "a GPU can compute it; its kernel's own time and that of new "
				 "copies are not included";
	advice_add(profile, list, &advice);
}

static void port_gap(const struct profile *profile, struct advice_list *list,
		     const struct profile_gap *gap)
{
	bool in_cuda;
	int64_t host_ns = profile_has_split(profile)
				  ? advice_least(gap->total_ns, profile->split.host_ns)
				  : gap->total_ns;

	if (gap->before.call == NULL || gap->after.call == NULL || gap->count < GAPS_LEAST ||
	    gap->before.frames.count == 0 || gap->after.frames.count == 0)
		return;
	struct advice advice = {
		.kind = ADVICE_PORT,
		.saves_ns = host_ns,
		.frame = names_source_frame(profile, &gap->before.frames, &in_cuda),
		.what = "port this host code",
		.where = round_trips_name_gap(profile, gap),
		.how = text_made("turn its loops into kernels: %s, %s", text_time(host_ns),
				 text_several(gap->count, "time", "times")),
		.assumes = "a GPU can do all of it; the kernels' own time is not included",
	};

	advice_add(profile, list, &advice);
}

/*
 * Returns the functions with most samples, if each could be a part of `between_ns`: samples do not
 * tell which of them ran in the gap.  NULL: there are none.
 */
static const char *name_functions(const struct profile *profile, const struct advice_host *host,
				  int64_t between_ns)
{
	const char *names = NULL;

	for (size_t i = 0; i < host->count && i < 3; i++)
		if ((__int128_t)host->items[i].between_ns * PART_LEAST >= between_ns)
			names = text_made("%s%s%s (%s)", names != NULL ? names : "",
					  names != NULL ? ", " : "",
					  advice_place(profile, host->items[i].frame),
					  text_time(host->items[i].between_ns));
	return names;
}

/* True if a suggestion that says more saves most of this time, or one function is most of it. */
static bool is_explained(const struct advice_list *list, const struct advice_host *host,
			 int64_t host_ns, int64_t saves_ns)
{
	return (list->count > 0 && list->items[0].saves_ns >= saves_ns / 3 * 2) ||
	       (host->count > 0 && host->items[0].between_ns >= host_ns / 3 * 2);
}

/* Says which host code would be ported, by its functions or its place. */
static const char *how_between(const struct profile *profile, const struct advice_host *host,
			       int64_t host_ns, int64_t copy_ns,
			       const struct profile_buffer *largest)
{
	const char *functions = name_functions(profile, host, host_ns);
	const struct profile_gap *gap = round_trips_gap(profile, round_trips_main(largest));

	return text_made("%s: %s of host code%s%s, %s of repeated copies%s%s",
			 host->is_python ? "compute it on the GPU" : "turn its loops into kernels",
			 text_time(host_ns), functions == NULL && gap != NULL ? " " : "",
			 functions == NULL && gap != NULL ? round_trips_name_gap(profile, gap) : "",
			 text_time(copy_ns),
			 functions != NULL ? "; samples of the whole run: " : "",
			 functions != NULL ? functions : "");
}

/* The saving includes all copies of the loops. */
void advice_port_between(const struct profile *profile, struct advice_list *list,
			 const struct advice_host *host)
{
	struct advice_trips trips = with_repeated(profile, advice_all_trips(profile));
	const struct profile_buffer *largest = profile->buffers;

	if (!profile_has_split(profile) || trips.copy_ns <= 0 || trips.between_ns <= 0)
		return;
	for (size_t i = 1; i < profile->buffer_count; i++)
		if (round_trips_copy_ns(&profile->buffers[i]) > round_trips_copy_ns(largest))
			largest = &profile->buffers[i];
	int64_t host_ns = advice_least(trips.between_ns, profile->split.host_ns);
	int64_t saves_ns =
		profile_add(host_ns, advice_without_copies(profile, trips.copy_ns, trips.copies));
	if (is_explained(list, host, host_ns, saves_ns))
		return;
	struct advice advice = {
		.kind = ADVICE_PORT,
		.saves_ns = saves_ns,
		.what = "port all code between copies",
		.where = advice_name_round_trip(profile, largest),
		.how = how_between(profile, host, host_ns, trips.copy_ns, largest),
		.assumes = "a GPU can do all of it, and no repeated copy remains; the kernels' own "
			   "time is not included",
	};

	advice_add(profile, list, &advice);
}

/* True for a loop that the compiler has made a function of its own, for OpenMP's threads. */
static bool is_parallel_loop(const struct profile_frame *frame)
{
	return frame->function != NULL && (strstr(frame->function, "._omp_fn.") != NULL ||
					   strstr(frame->function, ".omp_outlined") != NULL);
}

/* Adds the first stage of a port: a function of a program that does not use CUDA. */
static void port_first(const struct profile *profile, struct advice_list *list,
		       const struct advice_function *function, bool is_first)
{
	const struct host_lines *lines = &function->lines;
	const char *where = name_function(profile, function->frame), *caller = "";

	if (lines->first < lines->last)
		where = text_made("%s, hot lines %lld to %lld", where, (long long)lines->first,
				  (long long)lines->last);
	if (function->caller != NULL)
		caller = advice_place(profile, function->caller);
	struct advice advice = {
		.kind = ADVICE_PORT,
		.saves_ns = function->ns - STARTUP_TYPICAL_NS,
		.is_estimate = true,
		.frame = function->frame,
		.what = text_made("port this %s%s",
				  is_parallel_loop(function->frame) ? "parallel loop" : "function",
				  is_first ? " first" : ""),
		.where = where,
		.how = text_made("turn its loops into kernels: %s (%s of the run) in %s%s%s",
				 text_time(function->ns),
				 text_share(function->ns, profile->wall_ns),
				 text_several(function->samples, "sample", "samples"),
				 caller[0] != '\0' ? "; called from " : "", caller),
		.assumes = text_made(
			"a GPU can compute it: the rest of the run takes %s, and a typical "
			"start-up of CUDA adds %s; its kernel's own time and that of new copies "
			"are not "
			"included",
			text_time(profile->wall_ns - function->ns), text_time(STARTUP_TYPICAL_NS)),
	};

	advice_add(profile, list, &advice);
}

static void port_first_of(const struct profile *profile, struct advice_list *list,
			  const struct advice_host *host)
{
	for (size_t i = 0; i < host->count && i < FUNCTIONS_MOST; i++)
		port_first(profile, list, &host->items[i], i == 0);
	if (host->count > 0 && (list->count == 0 || !advice_is_worth(profile, &list->items[0])))
		list->left = text_made(
			"%s takes most, %s of %s: no more than the start-up of CUDA, which is "
			"typically %s, so its port would not make this run faster",
			advice_place(profile, host->items[0].frame), text_time(host->items[0].ns),
			text_time(profile->wall_ns), text_time(STARTUP_TYPICAL_NS));
}

void advice_port(const struct profile *profile, struct advice_list *list,
		 const struct advice_host *host)
{
	int64_t all_copies_ns = with_repeated(profile, advice_all_trips(profile)).copy_ns;
	int64_t copy_ns[FUNCTIONS_MOST] = { 0 };

	if (profile_used_no_device(profile)) {
		port_first_of(profile, list, host);
		return;
	}
	find_copies(profile, host, copy_ns);
	for (size_t i = 0; i < host->count && i < FUNCTIONS_MOST; i++)
		port_function(profile, list, &host->items[i], copy_ns[i], all_copies_ns);
	for (size_t i = 0; !host->is_sampled && i < profile->gap_count; i++)
		port_gap(profile, list, &profile->gaps[i]);
}
