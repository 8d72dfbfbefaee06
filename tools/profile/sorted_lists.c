/*
 * sorted_lists.c - one sort for all lists, by a key of each item.
 */
#include "profile/sorted_lists.h"

#include <stdlib.h>
#include <string.h>

struct item {
	const void *of;
	int64_t ns;
	const char *name;
	const struct profile_frames *frames;
};

static int sorted_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

int sorted_texts(const char *a, const char *b)
{
	return a == NULL || b == NULL ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static const char *module_path(const struct profile *profile, const struct profile_frame *frame)
{
	return frame->module >= 0 ? profile->modules[frame->module].path : NULL;
}

static int compare_frames(const struct profile *profile, const struct profile_frames *a,
			  const struct profile_frames *b)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		int order = sorted_texts(module_path(profile, &a->items[i]),
					 module_path(profile, &b->items[i]));

		if (order == 0)
			order = sorted_numbers(a->items[i].offset, b->items[i].offset);
		/* Python frames have no module or offset, so their lines decide. */
		if (order == 0)
			order = sorted_texts(a->items[i].line, b->items[i].line);
		if (order != 0)
			return order;
	}
	return sorted_numbers((int64_t)a->count, (int64_t)b->count);
}

static int compare(const void *left, const void *right, void *profile)
{
	const struct item *a = left, *b = right;
	int order = sorted_numbers(b->ns, a->ns);

	if (order == 0)
		order = sorted_texts(a->name, b->name);
	if (order == 0 && a->frames != NULL && b->frames != NULL)
		order = compare_frames(profile, a->frames, b->frames);
	/* Equal items stay in the order of the file. */
	return order != 0 ? order : (a->of > b->of) - (a->of < b->of);
}

/* The fields of an item that order its list: two times, a name, its place; 0: none. */
struct key {
	size_t size, ns, more_ns, name, frames;
	int64_t (*sum)(const void *item); /* in place of the times; NULL: none */
};

static int64_t time_at(const char *item, size_t at)
{
	int64_t ns = at > 0 ? *(const int64_t *)(const void *)(item + at - 1) : 0;

	return ns > 0 ? ns : 0;
}

static void *sort(const struct profile *profile, const void *list, size_t count,
		  const struct key *key)
{
	/* The memory of a profile grows; its data stay as they are. */
	struct profile *owner = (struct profile *)profile;
	struct item *items = profile_allocate(owner, count, sizeof(*items));
	const void **sorted = profile_allocate(owner, count, sizeof(*sorted));

	for (size_t i = 0; i < count; i++) {
		const char *item = (const char *)list + i * key->size;

		items[i].of = item;
		items[i].ns = key->sum != NULL ? key->sum(item)
					       : profile_add(time_at(item, key->ns),
							     time_at(item, key->more_ns));
		if (key->name > 0)
			items[i].name = *(const char *const *)(item + key->name - 1);
		if (key->frames > 0)
			items[i].frames =
				(const struct profile_frames *)(const void *)(item + key->frames -
									      1);
	}
	qsort_r(items, count, sizeof(*items), compare, owner);
	for (size_t i = 0; i < count; i++)
		sorted[i] = items[i].of;
	return sorted;
}

#define FIELD(type, field) (offsetof(struct type, field) + 1)

const struct profile_kernel **sorted_kernels(const struct profile *profile)
{
	static const struct key key = { sizeof(struct profile_kernel),
					.ns = FIELD(profile_kernel, busy_ns),
					.name = FIELD(profile_kernel, name) };

	return sort(profile, profile->kernels, profile->kernel_count, &key);
}

const struct profile_call **sorted_calls(const struct profile *profile)
{
	static const struct key key = { sizeof(struct profile_call),
					.ns = FIELD(profile_call, total_ns),
					.name = FIELD(profile_call, name) };

	return sort(profile, profile->calls, profile->call_count, &key);
}

const struct profile_gap **sorted_gaps(const struct profile *profile)
{
	static const struct key key = { sizeof(struct profile_gap),
					.ns = FIELD(profile_gap, total_ns),
					.name = FIELD(profile_gap, after.call),
					.frames = FIELD(profile_gap, before.frames) };

	return sort(profile, profile->gaps, profile->gap_count, &key);
}

const struct profile_launch **sorted_launches(const struct profile *profile)
{
	static const struct key key = { sizeof(struct profile_launch),
					.ns = FIELD(profile_launch, device_ns),
					.more_ns = FIELD(profile_launch, host_ns),
					.frames = FIELD(profile_launch, frames) };

	return sort(profile, profile->launches, profile->launch_count, &key);
}

static int64_t site_ns(const void *item)
{
	const struct profile_site *site = item;
	int64_t ns = 0;

	for (size_t i = 0; i < site->row_count; i++)
		ns = profile_add(ns, site->rows[i].host_ns);
	return ns;
}

const struct profile_site **sorted_sites(const struct profile *profile)
{
	static const struct key key = { sizeof(struct profile_site),
					.frames = FIELD(profile_site, frames), .sum = site_ns };

	return sort(profile, profile->sites, profile->site_count, &key);
}

const struct profile_buffer **sorted_buffers(const struct profile *profile)
{
	static const struct key key = { sizeof(struct profile_buffer),
					.ns = FIELD(profile_buffer, h2d.host_ns),
					.more_ns = FIELD(profile_buffer, d2h.host_ns),
					.name = FIELD(profile_buffer, kind),
					.frames = FIELD(profile_buffer, frames) };

	return sort(profile, profile->buffers, profile->buffer_count, &key);
}
