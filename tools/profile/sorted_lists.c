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

int sorted_numbers(int64_t a, int64_t b)
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
		order = sorted_texts(module_path(profile, a), module_path(profile, b))
				?: sorted_numbers(a->module, b->module);
	order = order ?: sorted_numbers(a->offset, b->offset);
	if (order != 0 || !a->is_python)
		return order;
	/* Python frames have no module or offset, so their lines decide. */
	return sorted_texts(a->line, b->line) ?: sorted_texts(a->path, b->path)
		?: sorted_texts(a->function, b->function);
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
	int order = sorted_numbers(b->ns, a->ns) ?: sorted_texts(a->name, b->name);

	if (order == 0 && a->frames != NULL && b->frames != NULL)
		order = sorted_frames(profile, a->frames, b->frames);
	/* Equal items stay in the order of the file. */
	return order ?: sorted_numbers((intptr_t)a->of, (intptr_t)b->of);
}

/* Returns pointers to the items in their order. */
static void *sort(const struct profile *profile, struct item *items, size_t count)
{
	const void **sorted = profile_allocate(profile, count, sizeof(*sorted));

	qsort_r(items, count, sizeof(*items), compare, (void *)profile);
	for (size_t i = 0; i < count; i++)
		sorted[i] = items[i].of;
	return sorted;
}

/* Unknown times count as 0. */
static int64_t both(int64_t a_ns, int64_t b_ns)
{
	return profile_add(a_ns > 0 ? a_ns : 0, b_ns > 0 ? b_ns : 0);
}

static int64_t site_ns(const struct profile_site *site)
{
	int64_t ns = 0;

	for (size_t i = 0; i < site->row_count; i++)
		ns = profile_add(ns, site->rows[i].host_ns);
	return ns;
}

/* The fields of struct item for each item `of` of a list. */
#define SORTED(function, type, list, list_count, ...)                                   \
	const struct type **function(const struct profile *profile)                     \
	{                                                                               \
		struct item *items =                                                    \
			profile_allocate(profile, profile->list_count, sizeof(*items)); \
                                                                                        \
		for (size_t i = 0; i < profile->list_count; i++) {                      \
			const struct type *of = &profile->list[i];                      \
                                                                                        \
			items[i] = (struct item){ of, __VA_ARGS__ };                    \
		}                                                                       \
		return sort(profile, items, profile->list_count);                       \
	}

SORTED(sorted_kernels, profile_kernel, kernels, kernel_count, both(of->busy_ns, 0), of->name)
SORTED(sorted_calls, profile_call, calls, call_count, both(of->total_ns, 0), of->name)
SORTED(sorted_gaps, profile_gap, gaps, gap_count, both(of->total_ns, 0), of->after.call,
       &of->before.frames)
SORTED(sorted_launches, profile_launch, launches, launch_count, both(of->device_ns, of->host_ns),
       NULL, &of->frames)
SORTED(sorted_sites, profile_site, sites, site_count, site_ns(of), NULL, &of->frames)
SORTED(sorted_buffers, profile_buffer, buffers, buffer_count,
       both(of->h2d.host_ns, of->d2h.host_ns), of->kind, &of->frames)
SORTED(sorted_pinned, profile_buffer, buffers, buffer_count, both(of->pinned.host_ns, 0), NULL,
       &of->frames)
