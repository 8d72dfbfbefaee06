/*
 * order.c - one sort for all lists, by a key of each item.
 */
#include "order.h"

#include <stdlib.h>
#include <string.h>

struct item {
	const void *of;
	int64_t ns;
	const char *name;
	const struct profile_frames *frames;
};

int order_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

int order_texts(const char *a, const char *b)
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
		int order = order_texts(module_path(profile, &a->items[i]),
					module_path(profile, &b->items[i]));

		if (order == 0)
			order = order_numbers(a->items[i].offset, b->items[i].offset);
		/* Python frames have no module or offset, so their lines decide. */
		if (order == 0)
			order = order_texts(a->items[i].line, b->items[i].line);
		if (order != 0)
			return order;
	}
	return order_numbers((int64_t)a->count, (int64_t)b->count);
}

static int compare(const void *left, const void *right, void *profile)
{
	const struct item *a = left, *b = right;
	int order = order_numbers(b->ns, a->ns);

	if (order == 0)
		order = order_texts(a->name, b->name);
	if (order == 0 && a->frames != NULL && b->frames != NULL)
		order = compare_frames(profile, a->frames, b->frames);
	/* Equal items stay in the order of the file. */
	return order != 0 ? order : (a->of > b->of) - (a->of < b->of);
}

static void *sort(const struct profile *profile, const void *list, size_t count, size_t size,
		  struct item (*item_of)(const void *of))
{
	/* The memory of a profile grows; its data stay as they are. */
	struct profile *owner = (struct profile *)profile;
	struct item *items = profile_allocate(owner, count, sizeof(*items));
	const void **sorted = profile_allocate(owner, count, sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		items[i] = item_of((const char *)list + i * size);
	qsort_r(items, count, sizeof(*items), compare, owner);
	for (size_t i = 0; i < count; i++)
		sorted[i] = items[i].of;
	return sorted;
}

#define SORT(profile, list, count, item_of) sort(profile, list, count, sizeof(*(list)), item_of)

static int64_t at_least_0(int64_t ns)
{
	return ns > 0 ? ns : 0;
}

static struct item of_transfer(const void *of)
{
	const struct profile_transfer *row = of;

	return (struct item){ .of = of,
			      .ns = profile_add(at_least_0(row->busy_ns), at_least_0(row->host_ns)),
			      .name = row->direction };
}

const struct profile_transfer **order_transfers(const struct profile *profile)
{
	return SORT(profile, profile->transfers, profile->transfer_count, of_transfer);
}

static struct item of_kernel(const void *of)
{
	const struct profile_kernel *kernel = of;

	return (struct item){ .of = of, .ns = kernel->busy_ns, .name = kernel->name };
}

const struct profile_kernel **order_kernels(const struct profile *profile)
{
	return SORT(profile, profile->kernels, profile->kernel_count, of_kernel);
}

static struct item of_call(const void *of)
{
	const struct profile_call *call = of;

	return (struct item){ .of = of, .ns = call->total_ns, .name = call->name };
}

const struct profile_call **order_calls(const struct profile *profile)
{
	return SORT(profile, profile->calls, profile->call_count, of_call);
}

static struct item of_gap(const void *of)
{
	const struct profile_gap *gap = of;

	return (struct item){ of, gap->total_ns, gap->after.call, &gap->before.frames };
}

const struct profile_gap **order_gaps(const struct profile *profile)
{
	return SORT(profile, profile->gaps, profile->gap_count, of_gap);
}

static struct item of_launch(const void *of)
{
	const struct profile_launch *launch = of;

	return (struct item){ .of = of,
			      .ns = profile_add(at_least_0(launch->device_ns), launch->host_ns),
			      .frames = &launch->frames };
}

const struct profile_launch **order_launches(const struct profile *profile)
{
	return SORT(profile, profile->launches, profile->launch_count, of_launch);
}

static struct item of_site(const void *of)
{
	const struct profile_site *site = of;
	int64_t ns = 0;

	for (size_t i = 0; i < site->row_count; i++)
		ns = profile_add(ns, site->rows[i].host_ns);
	return (struct item){ .of = of, .ns = ns, .frames = &site->frames };
}

const struct profile_site **order_sites(const struct profile *profile)
{
	return SORT(profile, profile->sites, profile->site_count, of_site);
}

static struct item of_row(const void *of)
{
	const struct profile_row *row = of;

	return (struct item){ .of = of, .ns = row->host_ns, .name = row->direction };
}

const struct profile_row **order_rows(const struct profile *profile,
				      const struct profile_site *site)
{
	return SORT(profile, site->rows, site->row_count, of_row);
}

static struct item of_buffer(const void *of)
{
	const struct profile_buffer *buffer = of;

	return (struct item){ of, profile_add(buffer->h2d.host_ns, buffer->d2h.host_ns),
			      buffer->kind, &buffer->frames };
}

const struct profile_buffer **order_buffers(const struct profile *profile)
{
	return SORT(profile, profile->buffers, profile->buffer_count, of_buffer);
}

const struct profile_buffer **order_copied_buffers(const struct profile *profile, size_t *ret_count)
{
	const struct profile_buffer **sorted = order_buffers(profile);

	*ret_count = 0;
	for (size_t i = 0; i < profile->buffer_count; i++)
		if (sorted[i]->h2d.count != 0 || sorted[i]->d2h.count != 0)
			sorted[(*ret_count)++] = sorted[i];
	return sorted;
}
