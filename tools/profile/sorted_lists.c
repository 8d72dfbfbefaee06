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

static int compare_frame(const struct profile *profile, const struct profile_frame *a,
			 const struct profile_frame *b)
{
	int order = b->is_python - a->is_python;

	if (order == 0 && a->module != b->module)
		order = sorted_texts(module_path(profile, a), module_path(profile, b));
	order = order != 0 ? order : sorted_numbers(a->module, b->module);
	order = order != 0 ? order : sorted_numbers(a->offset, b->offset);
	if (order != 0 || !a->is_python)
		return order;
	/* Python frames have no module or offset, so their lines decide. */
	order = sorted_texts(a->line, b->line);
	order = order != 0 ? order : sorted_texts(a->path, b->path);
	return order != 0 ? order : sorted_texts(a->function, b->function);
}

/* Returns the index of the first frame from `at` on that is not inlined; the count if none is. */
static size_t skip_inlined(const struct profile_frames *frames, size_t at)
{
	while (at < frames->count && frames->items[at].is_inlined)
		at++;
	return at;
}

int sorted_frames(const struct profile *profile, const struct profile_frames *a,
		  const struct profile_frames *b)
{
	size_t i = skip_inlined(a, 0), j = skip_inlined(b, 0);

	while (i < a->count && j < b->count) {
		int order = compare_frame(profile, &a->items[i], &b->items[j]);

		if (order != 0)
			return order;
		i = skip_inlined(a, i + 1);
		j = skip_inlined(b, j + 1);
	}
	return (i < a->count) - (j < b->count);
}

static int compare(const void *left, const void *right, void *profile)
{
	const struct item *a = left, *b = right;
	int order = sorted_numbers(b->ns, a->ns);

	if (order == 0)
		order = sorted_texts(a->name, b->name);
	if (order == 0 && a->frames != NULL && b->frames != NULL)
		order = sorted_frames(profile, a->frames, b->frames);
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
#define SORTED(function, type, list, list_count, ...)                               \
	const struct type **function(const struct profile *profile)                 \
	{                                                                           \
		static const struct key key = { sizeof(struct type), __VA_ARGS__ }; \
                                                                                    \
		return sort(profile, profile->list, profile->list_count, &key);     \
	}

SORTED(sorted_kernels, profile_kernel, kernels, kernel_count, .ns = FIELD(profile_kernel, busy_ns),
       .name = FIELD(profile_kernel, name))
SORTED(sorted_calls, profile_call, calls, call_count, .ns = FIELD(profile_call, total_ns),
       .name = FIELD(profile_call, name))
SORTED(sorted_gaps, profile_gap, gaps, gap_count, .ns = FIELD(profile_gap, total_ns),
       .name = FIELD(profile_gap, after.call), .frames = FIELD(profile_gap, before.frames))
SORTED(sorted_launches, profile_launch, launches, launch_count,
       .ns = FIELD(profile_launch, device_ns), .more_ns = FIELD(profile_launch, host_ns),
       .frames = FIELD(profile_launch, frames))
SORTED(sorted_buffers, profile_buffer, buffers, buffer_count,
       .ns = FIELD(profile_buffer, h2d.host_ns), .more_ns = FIELD(profile_buffer, d2h.host_ns),
       .name = FIELD(profile_buffer, kind), .frames = FIELD(profile_buffer, frames))

static int64_t site_ns(const void *item)
{
	const struct profile_site *site = item;
	int64_t ns = 0;

	for (size_t i = 0; i < site->row_count; i++)
		ns = profile_add(ns, site->rows[i].host_ns);
	return ns;
}

SORTED(sorted_sites, profile_site, sites, site_count, .frames = FIELD(profile_site, frames),
       .sum = site_ns)
SORTED(sorted_pinned, profile_buffer, buffers, buffer_count,
       .ns = FIELD(profile_buffer, pinned.host_ns), .frames = FIELD(profile_buffer, frames))
