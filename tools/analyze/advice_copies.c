/*
 * advice_copies.c - copies that could be faster, fewer or overlapped.
 */
#include "analyze/advice_list.h"
#include "profile/texts.h"

#include <string.h>

#define SMALL_BYTES 65536
#define SMALL_LEAST 100 /* copies */

/* True if the run was only observed: hotpin pinned nothing. */
static bool is_observed(const struct profile *profile)
{
	const char *pin = profile_option(profile, "HOTPIN_PIN");

	return pin != NULL && strcmp(pin, "0") == 0;
}

static bool is_pageable(const struct profile_row *row)
{
	return strcmp(row->memory, "pageable") == 0;
}

static bool is_small(const struct profile_row *row)
{
	return advice_is_any(row) && row->count > 0 && row->bytes >= 0 &&
	       row->bytes / row->count < SMALL_BYTES;
}

static void pin(const struct profile *profile, struct advice_list *list)
{
	const struct profile_bound *bound = advice_bound(profile, "all_pinned");
	struct advice advice = { .kind = ADVICE_PIN, .what = "pin the host memory of copies" };

	for (size_t i = 0; bound == NULL && i < profile->buffer_count; i++)
		advice.saves_ns = profile_add(advice.saves_ns, profile->buffers[i].could_save_ns);
	if (!profile_has_pageable(profile))
		return;
	if (bound != NULL)
		advice.saves_ns = bound->saves_ns;
	advice.is_estimate = bound == NULL;
	advice.hotpin_does_it = is_observed(profile);
	advice_set_site(profile, &advice, advice_largest_site(profile, is_pageable));
	if (advice.hotpin_does_it)
		advice.how = "hotpin run without --observe; the program stays as it is";
	else if (advice_uses_torch(profile))
		advice.how = "pin_memory() of the tensors; hotpin left this memory pageable";
	else
		advice.how = "cudaMallocHost() or cudaHostRegister(); hotpin left this memory "
			     "pageable";
	advice.assumes =
		bound != NULL ? bound->assumes : "copies are as fast as hotpin's pinned copies";
	advice_add(profile, list, &advice);
}

static void upload_once(const struct profile *profile, struct advice_list *list)
{
	for (size_t i = 0; i < profile->repeats.site_count; i++) {
		const struct profile_repeat *repeat = &profile->repeats.sites[i];
		bool returns = strcmp(repeat->kind, "ping_pong") == 0;
		int64_t device_ns = advice_async_ns(profile, "h2d", repeat->bytes);
		bool outlasts = repeat->host_ns >= 0 && device_ns > repeat->host_ns;
		int64_t copy_ns =
			advice_copying_ns(profile, repeat->host_ns, repeat->bytes, repeat->count);
		struct advice advice = {
			.kind = ADVICE_UPLOAD_ONCE,
			.saves_ns = advice_without_copies(profile, outlasts ? device_ns : copy_ns,
							  repeat->count),
			.is_estimate = outlasts || copy_ns < repeat->host_ns,
			.what = returns ? "drop unchanged re-uploads"
					: "upload unchanged data once",
			.how = text_made("%s: %s, %s",
					 returns ? "keep the device's copy"
						 : "upload it before the loop",
					 text_several(repeat->count, "copy", "copies"),
					 text_bytes(repeat->bytes)),
			.assumes = "no kernel writes to the device's copy",
		};

		advice_set_site(profile, &advice, repeat->site);
		advice_add(profile, list, &advice);
	}
}

/* The time that bytes of a direction need at the link's peak; 0: the peak is not known. */
static int64_t bus_ns(const struct profile *profile, const char *direction, int64_t bytes)
{
	int64_t peak = profile_peak(profile, direction);

	return peak > 0 && bytes > 0 ? (int64_t)((__int128_t)bytes * 1000000000 / peak) : 0;
}

struct small {
	int64_t count, ns, bus_ns; /* copies, time in their calls, least time of their bytes */
};

/* Adds up the small copies of one direction. */
static struct small small_copies(const struct profile *profile, const char *direction)
{
	struct small sum = { 0 };

	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, "hotpin") != 0 || strcmp(row->direction, direction) != 0)
			continue;
		for (size_t j = 0; j < row->size_count; j++) {
			if (row->sizes[j].from_bytes >= SMALL_BYTES || row->sizes[j].from_bytes < 0)
				continue;
			sum.count = profile_add(sum.count, row->sizes[j].count);
			sum.ns = profile_add(sum.ns, row->sizes[j].busy_ns);
			sum.bus_ns = profile_add(sum.bus_ns,
						 bus_ns(profile, direction, row->sizes[j].bytes));
		}
	}
	return sum;
}

/* Returns the time in such calls without waits for kernels, which remain. */
static int64_t without_waits(const struct profile *profile, int64_t ns)
{
	int64_t waiting_ns = profile->host.waiting_for_kernels_ns;

	return waiting_ns >= 0 && profile->host.copy_calls_ns >= waiting_ns
		       ? advice_least(ns, profile->host.copy_calls_ns - waiting_ns)
		       : ns;
}

/* True if most of the small downloads may each decide the next launch. */
static bool decide(const struct profile *profile, const struct small *downloads)
{
	return downloads->count / 2 <
	       profile_add(profile->host.launches, profile->host.graph_launches);
}

static bool is_small_download(const struct profile_row *row)
{
	return is_small(row) && strcmp(row->direction, "d2h") == 0;
}

int64_t advice_deciding_downloads(const struct profile *profile, int64_t *ret_site,
				  int64_t *ret_count)
{
	struct small down = small_copies(profile, "d2h");

	if (down.count < SMALL_LEAST || down.ns < 0 || !decide(profile, &down))
		return 0;
	*ret_site = advice_largest_site(profile, is_small_download);
	*ret_count = down.count;
	return advice_without_copies(profile, without_waits(profile, down.ns), down.count);
}

static void batch(const struct profile *profile, struct advice_list *list)
{
	struct small up = small_copies(profile, "h2d"), down = small_copies(profile, "d2h");
	int64_t ns, remains_ns, count;

	if (decide(profile, &down))
		down = (struct small){ 0 };
	count = profile_add(up.count, down.count);
	ns = advice_copying_ns(profile, without_waits(profile, profile_add(up.ns, down.ns)), 0,
			       count);
	remains_ns = profile_add(up.bus_ns, down.bus_ns);
	if (count < SMALL_LEAST || ns < 0)
		return;
	/* Their bytes still cross the bus, in one call at least. */
	if (remains_ns < ns / count)
		remains_ns = ns / count;
	struct advice advice = {
		.kind = ADVICE_BATCH,
		.saves_ns = advice_without_copies(profile, ns - advice_least(ns, remains_ns),
						  count - 1),
		.what = "combine small copies",
		.how = text_made("use one copy instead of %s below 64 KiB",
				 text_several(count, "copy", "copies")),
		.assumes = "no copy is needed before the last one; one copy remains and moves all "
			   "bytes at the link's peak",
	};
	advice_set_site(profile, &advice, advice_largest_site(profile, is_small));
	advice_add(profile, list, &advice);
}

static bool is_host_copy(const struct profile_row *row)
{
	return strcmp(row->direction, "h2h") == 0;
}

/* Such a copy waits for the device, as any other; the work on the GPU remains. */
static void copy_on_host(const struct profile *profile, struct advice_list *list)
{
	const struct profile_transfer moved = profile_moved(profile, "hotpin", "h2h");
	int64_t device_ns =
		profile_add(profile->split.transfer_ns,
			    profile_add(profile->split.kernel_ns, profile->split.overlap_ns));
	struct advice advice = {
		.kind = ADVICE_HOST_COPY,
		.saves_ns = device_ns > 0
				    ? advice_least(moved.host_ns, profile->wall_ns - device_ns)
				    : moved.host_ns,
		.what = "use memcpy() on the host",
		.how = text_made("use no CUDA call for %s from host to host, %s",
				 text_several(moved.count, "copy", "copies"),
				 text_bytes(moved.bytes)),
		.assumes = "memcpy() takes no time, and no code relies on the call's wait for the "
			   "device",
	};
	advice_set_site(profile, &advice, advice_largest_site(profile, is_host_copy));
	advice_add(profile, list, &advice);
}

static void overlap(const struct profile *profile, struct advice_list *list)
{
	const struct profile_bound *bound = advice_bound(profile, "all_overlapped");
	struct advice advice = { .kind = ADVICE_OVERLAP, .what = "overlap copies and kernels" };

	if (bound == NULL)
		return;
	advice.saves_ns = bound->saves_ns;
	advice.how = advice_uses_torch(profile)
			     ? "use two streams and two pinned tensors, with non_blocking=True"
			     : "use two streams and two pinned buffers";
	advice.assumes = bound->assumes;
	advice_set_site(profile, &advice, advice_largest_site(profile, advice_is_any));
	advice_add(profile, list, &advice);
}

void advice_copies(const struct profile *profile, struct advice_list *list)
{
	pin(profile, list);
	upload_once(profile, list);
	batch(profile, list);
	copy_on_host(profile, list);
	overlap(profile, list);
}
