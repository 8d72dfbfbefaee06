/*
 * advice_calls.c - driver calls that belong outside of a loop.
 */
#include "analyze/advice_list.h"
#include "analyze/advice_places.h"
#include "analyze/advice_python.h"
#include "names/names.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdio.h>
#include <string.h>

#define CALLS_LEAST 16 /* of a function that should be called outside of a loop */
#define BLOCK_LEAST                                                                  \
	((int64_t)1 << 20) /* bytes of a block whose pages are worth several threads \
			    */

static bool is_class(const struct profile_call *call, const char *class)
{
	return call->class != NULL && strcmp(call->class, class) == 0;
}

/* Finds where the function is called, by the gaps next to its calls. */
static void place_of_call(const struct profile *profile, const char *name, char *ret, size_t room)
{
	int64_t most = 0;

	for (size_t i = 0; i < profile->gap_count; i++) {
		const struct profile_gap_end *ends[] = { &profile->gaps[i].before,
							 &profile->gaps[i].after };

		for (size_t j = 0; j < HP_LEN(ends); j++) {
			if (ends[j]->call == NULL || strcmp(ends[j]->call, name) != 0 ||
			    ends[j]->frames.count == 0 || profile->gaps[i].count <= most)
				continue;
			most = profile->gaps[i].count;
			advice_place(profile, &ends[j]->frames, ret, room);
		}
	}
}

/*
 * Returns the most that `count` calls of `ns` cost, including the host's work around them.  The
 * device's time remains, but the host can use that time if it no longer waits in these calls.
 */
static int64_t most_of_calls(const struct profile *profile, int64_t ns, int64_t count)
{
	if (!profile_has_split(profile))
		return ns;
	return advice_least(profile_add(ns, advice_around_calls(profile, count)),
			    profile_add(profile->split.calls_ns, profile->split.host_ns));
}

/* True for cuMemHostAlloc() and its like. */
static bool is_host_memory(const struct profile_call *call)
{
	return strstr(call->name, "Host") != NULL;
}

/* True if the profile shows where the program pins memory, so that pin_once() judges it. */
static bool knows_pinned(const struct profile *profile)
{
	for (size_t i = 0; i < profile->buffer_count; i++)
		if (profile->buffers[i].pinned.calls > 0)
			return true;
	return false;
}

static void allocate_once(const struct profile *profile, struct advice_list *list)
{
	bool leaves_host = knows_pinned(profile);
	const struct profile_call *largest = NULL;
	int64_t ns = 0, count = 0;
	bool is_host = false;

	for (size_t i = 0; i < profile->call_count; i++) {
		const struct profile_call *call = &profile->calls[i];

		if ((!is_class(call, "allocate") && !is_class(call, "free")) ||
		    call->count < CALLS_LEAST || call->total_ns < call->longest_ns ||
		    call->longest_ns < 0 || call->name == NULL ||
		    (leaves_host && is_host_memory(call)))
			continue;
		ns = profile_add(ns, call->total_ns - call->longest_ns);
		count = profile_add(count, call->count);
		is_host |= is_host_memory(call);
		if (largest == NULL || call->total_ns > largest->total_ns)
			largest = call;
	}
	struct advice *advice =
		advice_add(profile, list, ADVICE_ALLOCATE, most_of_calls(profile, ns, count));
	if (advice == NULL)
		return;
	SAY(advice->what, "allocate outside the loop");
	place_of_call(profile, largest->name, advice->where, sizeof(advice->where));
	SAY(advice->how, "allocate before the loop and free after it: %s, most time in %s",
	    text_several(count, "call", "calls"), text_name(largest->name, 40));
	/* The program's first writes to new pages take longer: no calls, no part of the bound. */
	advice->is_estimate = is_host;
	SAY(advice->assumes, "the longest call of each function remains%s",
	    is_host ? "; faster writes to old host memory are not included" : "");
}

/* Judges pinned memory that is freed and pinned again: less of it is held than was pinned in all.
 */
static void pin_once(const struct profile *profile, struct advice_list *list)
{
	for (size_t i = 0; i < profile->buffer_count; i++) {
		const struct profile_pinned *pinned = &profile->buffers[i].pinned;

		if (pinned->calls < CALLS_LEAST || pinned->bytes <= 0 || pinned->most_bytes < 0 ||
		    pinned->bytes / 2 < pinned->most_bytes)
			continue;
		int64_t ns = (int64_t)((__int128_t)pinned->host_ns *
				       (pinned->bytes - pinned->most_bytes) / pinned->bytes);
		struct advice *advice = advice_add(profile, list, ADVICE_ALLOCATE,
						   most_of_calls(profile, ns, pinned->calls));
		if (advice == NULL)
			continue;
		SAY(advice->what, "pin memory outside the loop");
		names_place_short(profile, names_buffer_frame(profile, &profile->buffers[i]),
				  advice->where, sizeof(advice->where), ADVICE_PLACE_COLUMNS);
		SAY(advice->how, "pin it before the loop, and keep it: %s pinned %s, %s at once",
		    text_several(pinned->calls, "call", "calls"), text_bytes(pinned->bytes),
		    text_bytes(pinned->most_bytes));
		advice->is_estimate = true;
		SAY(advice->assumes, "faster writes to old host memory are not included");
	}
}

/* True if PyTorch pinned the memory. */
static bool is_of_torch(const struct profile *profile, const struct profile_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++)
		if (frames->items[i].module >= 0 &&
		    strstr(profile->modules[frames->items[i].module].path, "/libtorch") != NULL)
			return true;
	return false;
}

/* PyTorch can touch the pages of large blocks with several threads before it registers them. */
static void pin_with_threads(const struct profile *profile, struct advice_list *list)
{
	int64_t cpus = profile->process.cpus, ns = 0, bytes = 0;

	for (size_t i = 0; i < profile->buffer_count; i++) {
		const struct profile_buffer *buffer = &profile->buffers[i];
		const struct profile_pinned *pinned = &buffer->pinned;

		if (pinned->calls <= 0 || pinned->registered ||
		    pinned->bytes / pinned->calls < BLOCK_LEAST ||
		    !is_of_torch(profile, &buffer->frames))
			continue;
		ns = profile_add(ns, pinned->host_ns);
		bytes = profile_add(bytes, pinned->bytes);
	}
	if (!profile->environment.torch_registers || cpus < 2)
		return;
	struct advice *advice = advice_add(profile, list, ADVICE_SETTING, ns);
	if (advice == NULL)
		return;
	SAY(advice->what, "let PyTorch pin with threads");
	SAY(advice->how,
	    "set PYTORCH_CUDA_ALLOC_CONF=pinned_use_cuda_host_register:True,"
	    "pinned_num_register_threads:%d, for %s",
	    cpus >= 8   ? 8
	    : cpus >= 4 ? 4
			: 2,
	    text_bytes(bytes));
	SAY(advice->assumes, "the threads find free CPUs; registering takes no time");
}

static void synchronize_less(const struct profile *profile, struct advice_list *list)
{
	const struct profile_call *largest = NULL;
	int64_t ns = 0, count = 0;

	for (size_t i = 0; i < profile->call_count; i++) {
		const struct profile_call *call = &profile->calls[i];

		if (!is_class(call, "synchronize") || call->count < CALLS_LEAST ||
		    call->name == NULL || call->total_ns < 0)
			continue;
		ns = profile_add(ns, call->total_ns);
		count = profile_add(count, call->count);
		if (largest == NULL || call->total_ns > largest->total_ns)
			largest = call;
	}
	/* Without a split, waits for kernels cannot be separated from unnecessary waits. */
	if (!profile_has_split(profile))
		return;
	int64_t site = UNKNOWN, downloads = 0;
	int64_t downloads_ns = advice_deciding_downloads(profile, &site, &downloads);
	struct advice *advice =
		advice_add(profile, list, ADVICE_SYNCHRONIZE,
			   profile_add(most_of_calls(profile, ns, count), downloads_ns));
	if (advice == NULL)
		return;
	SAY(advice->what, "wait for the GPU less often");
	if (downloads_ns > ns)
		advice_set_site(profile, advice, site);
	else
		place_of_call(profile, largest->name, advice->where, sizeof(advice->where));
	if (advice_uses_torch(profile))
		SAY(advice->how,
		    "remove item(), cpu() and synchronize() that the loop can do without: %s",
		    text_several(profile_add(count, downloads), "call", "calls"));
	else if (downloads_ns > 0)
		SAY(advice->how,
		    "compute on the device what %s below 64 KiB decide, or look only at every n-th "
		    "step",
		    text_several(downloads, "download", "downloads"));
	else
		SAY(advice->how, "remove waits before work on the same stream: %s, most time in %s",
		    text_several(count, "call", "calls"), text_name(largest->name, 40));
	SAY(advice->assumes, "the host has other work during that time; a launch takes as long as "
			     "before");
}

void advice_calls(const struct profile *profile, struct advice_list *list)
{
	allocate_once(profile, list);
	pin_once(profile, list);
	pin_with_threads(profile, list);
	synchronize_less(profile, list);
}
