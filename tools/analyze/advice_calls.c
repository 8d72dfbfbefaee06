/*
 * advice_calls.c - driver calls that belong outside of a loop.
 */
#include "analyze/advice_list.h"
#include "names/names.h"
#include "profile/texts.h"

#include <string.h>

#define CALLS_LEAST 16 /* of a function that should be called outside of a loop */
/* Bytes of a block whose pages are worth several threads. */
#define BLOCK_LEAST ((int64_t)1 << 20)

/* Returns where the function is called, by the gaps next to its calls; NULL: not known. */
static const char *place_of_call(const struct profile *profile, const char *name)
{
	const struct profile_frames *place = NULL;
	int64_t most = 0;

	for (size_t i = 0; i < 2 * profile->gap_count; i++) {
		const struct profile_gap *gap = &profile->gaps[i / 2];
		const struct profile_gap_end *end = i % 2 == 0 ? &gap->before : &gap->after;

		if (end->call == NULL || strcmp(end->call, name) != 0 || end->frames.count == 0 ||
		    gap->count <= most)
			continue;
		most = gap->count;
		place = &end->frames;
	}
	return place != NULL ? advice_place(profile, names_frame(profile, place, false)) : NULL;
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
	bool leaves_host = knows_pinned(profile), is_host = false;
	const struct profile_call *largest = NULL;
	int64_t ns = 0, count = 0;

	for (size_t i = 0; i < profile->call_count; i++) {
		const struct profile_call *call = &profile->calls[i];

		if ((!advice_is_class(call, "allocate") && !advice_is_class(call, "free")) ||
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
	if (largest == NULL)
		return;
	struct advice advice = {
		.kind = ADVICE_ALLOCATE,
		.saves_ns = most_of_calls(profile, ns, count),
		/* The program's first writes to new pages take longer: no calls, no part
		 * of the bound. */
		.is_estimate = is_host,
		.what = "allocate outside the loop",
		.where = place_of_call(profile, largest->name),
		.how = text_made("allocate before the loop and free after it: %s, most time in %s",
				 text_several(count, "call", "calls"),
				 text_name(largest->name, 40)),
		.assumes = is_host ? "the longest call of each function remains; faster writes to "
				     "old host memory are not included"
				   : "the longest call of each function remains",
	};

	advice_add(profile, list, &advice);
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
		struct advice advice = {
			.kind = ADVICE_ALLOCATE,
			.saves_ns = most_of_calls(profile, ns, pinned->calls),
			.is_estimate = true,
			.what = "pin memory outside the loop",
			.where = advice_place(profile,
					      names_buffer_frame(profile, &profile->buffers[i])),
			.how = text_made(
				"pin it before the loop, and keep it: %s pinned %s, %s at once",
				text_several(pinned->calls, "call", "calls"),
				text_bytes(pinned->bytes), text_bytes(pinned->most_bytes)),
			.assumes = "faster writes to old host memory are not included",
		};

		advice_add(profile, list, &advice);
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
	struct advice advice = {
		.kind = ADVICE_SETTING,
		.saves_ns = ns,
		.what = "let PyTorch pin with threads",
		.how = text_made(
			"set "
			"PYTORCH_CUDA_ALLOC_CONF=pinned_use_cuda_host_register:True,pinned_num_register_threads:%d, "
			"for %s",
			cpus >= 8   ? 8
			: cpus >= 4 ? 4
				    : 2,
			text_bytes(bytes)),
		.assumes = "the threads find free CPUs; registering takes no time",
	};

	advice_add(profile, list, &advice);
}

static void synchronize_less(const struct profile *profile, struct advice_list *list)
{
	const struct profile_call *largest = NULL;
	int64_t ns = 0, count = 0;

	for (size_t i = 0; i < profile->call_count; i++) {
		const struct profile_call *call = &profile->calls[i];

		if (!advice_is_class(call, "synchronize") || call->count < CALLS_LEAST ||
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
	struct advice advice = {
		.kind = ADVICE_SYNCHRONIZE,
		.saves_ns = profile_add(most_of_calls(profile, ns, count), downloads_ns),
		.what = "wait for the GPU less often",
		.assumes = "the host has other work during that time; a launch takes as long as "
			   "before",
	};
	if (largest == NULL && downloads_ns == 0)
		return;
	if (downloads_ns > ns)
		advice_set_site(profile, &advice, site);
	else
		advice.where = place_of_call(profile, largest->name);
	if (advice_uses_torch(profile))
		advice.how = text_made(
			"remove item(), cpu() and synchronize() that the loop can do without: %s",
			text_several(profile_add(count, downloads), "call", "calls"));
	else if (downloads_ns > 0)
		advice.how = text_made(
			"compute on the device what %s below 64 KiB decide, or look only at every "
			"n-th step",
			text_several(downloads, "download", "downloads"));
	else
		advice.how = text_made(
			"remove waits before work on the same stream: %s, most time in %s",
			text_several(count, "call", "calls"), text_name(largest->name, 40));
	advice_add(profile, list, &advice);
}

void advice_calls(const struct profile *profile, struct advice_list *list)
{
	allocate_once(profile, list);
	pin_once(profile, list);
	pin_with_threads(profile, list);
	synchronize_less(profile, list);
}
