/*
 * ranks_merge.c - adds up the profiles of ranks.
 *
 * The sum must not hide what a single rank lacks.  So a figure that one rank does not know is
 * unknown in the sum.  Bounds of the wall time are not merged, because ranks wait for each other.
 */
#include "places.h"
#include "ranks.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merged {
	const struct profile *profiles;
	size_t count;
	struct profile *to;
};

static void add_to(int64_t *sum, int64_t value)
{
	*sum = profile_add(*sum, value);
}

static struct profile_size *size_slot(struct profile_transfer *transfer, int64_t from_bytes)
{
	for (size_t i = 0; i < transfer->size_count; i++)
		if (transfer->sizes[i].from_bytes == from_bytes)
			return &transfer->sizes[i];
	transfer->sizes[transfer->size_count].from_bytes = from_bytes;
	return &transfer->sizes[transfer->size_count++];
}

static void add_transfer(struct profile *to, const struct profile_transfer *row)
{
	struct profile_transfer *sum = NULL;

	for (size_t i = 0; i < to->transfer_count && sum == NULL; i++)
		if (strcmp(to->transfers[i].view, row->view) == 0 &&
		    strcmp(to->transfers[i].direction, row->direction) == 0 &&
		    strcmp(to->transfers[i].memory, row->memory) == 0)
			sum = &to->transfers[i];
	if (sum == NULL) {
		sum = &to->transfers[to->transfer_count++];
		sum->view = row->view;
		sum->direction = row->direction;
		sum->memory = row->memory;
	}
	add_to(&sum->count, row->count);
	add_to(&sum->bytes, row->bytes);
	add_to(&sum->busy_ns, row->busy_ns);
	add_to(&sum->untimed_bytes, row->untimed_bytes);
	add_to(&sum->pieces, row->pieces);
	add_to(&sum->host_ns, row->host_ns);
	add_to(&sum->sync_count, row->sync_count);
	add_to(&sum->sync_bytes, row->sync_bytes);
	add_to(&sum->sync_ns, row->sync_ns);

	struct profile_size *sizes =
		profile_allocate(to, sum->size_count + row->size_count, sizeof(*sizes));
	if (sum->size_count > 0)
		memcpy(sizes, sum->sizes, sum->size_count * sizeof(*sizes));
	sum->sizes = sizes;
	for (size_t i = 0; i < row->size_count; i++) {
		struct profile_size *size = size_slot(sum, row->sizes[i].from_bytes);

		add_to(&size->count, row->sizes[i].count);
		add_to(&size->bytes, row->sizes[i].bytes);
		add_to(&size->busy_ns, row->sizes[i].busy_ns);
	}
}

static void merge_transfers(struct merged *merged)
{
	size_t most = 0;

	for (size_t i = 0; i < merged->count; i++)
		most += merged->profiles[i].transfer_count;
	merged->to->transfers = profile_allocate(merged->to, most, sizeof(*merged->to->transfers));
	for (size_t i = 0; i < merged->count; i++)
		for (size_t j = 0; j < merged->profiles[i].transfer_count; j++)
			add_transfer(merged->to, &merged->profiles[i].transfers[j]);
}

static int by_name(const void *left, const void *right)
{
	const struct profile_kernel *a = left, *b = right;

	return strcmp(a->name != NULL ? a->name : "", b->name != NULL ? b->name : "");
}

static void merge_kernels(struct merged *merged)
{
	struct profile *to = merged->to;
	size_t most = 0, all = 0;

	for (size_t i = 0; i < merged->count; i++) {
		if (merged->profiles[i].kernels == NULL)
			return;
		most += merged->profiles[i].kernel_count;
	}
	struct profile_kernel *kernels = profile_allocate(to, most, sizeof(*kernels));
	for (size_t i = 0; i < merged->count; i++)
		for (size_t j = 0; j < merged->profiles[i].kernel_count; j++)
			kernels[all++] = merged->profiles[i].kernels[j];
	qsort(kernels, all, sizeof(*kernels), by_name);
	to->kernels = kernels;
	for (size_t i = 0; i < all; i++) {
		struct profile_kernel *last = &kernels[i > 0 ? to->kernel_count - 1 : 0];

		if (i == 0 || by_name(last, &kernels[i]) != 0) {
			kernels[to->kernel_count++] = kernels[i];
			continue;
		}
		add_to(&last->count, kernels[i].count);
		add_to(&last->busy_ns, kernels[i].busy_ns);
		if (kernels[i].longest_ns > last->longest_ns)
			last->longest_ns = kernels[i].longest_ns;
	}
}

/* Returns the index of the module in the merged list; a new module is appended. */
static int64_t module_in(struct profile *to, const struct profile_module *module)
{
	for (size_t i = 0; i < to->module_count; i++) {
		const struct profile_module *known = &to->modules[i];

		if (strcmp(known->path, module->path) == 0 &&
		    strcmp(known->build_id != NULL ? known->build_id : "",
			   module->build_id != NULL ? module->build_id : "") == 0)
			return (int64_t)i;
	}
	to->modules[to->module_count] = *module;
	return (int64_t)to->module_count++;
}

/* `modules` has the index of each module in the merged list. */
static struct profile_frames frames_in(struct profile *to, const int64_t *modules,
				       const struct profile_frames *frames)
{
	struct profile_frames copy = { profile_allocate(to, frames->count, sizeof(*copy.items)),
				       frames->count };

	for (size_t i = 0; i < frames->count; i++) {
		copy.items[i] = frames->items[i];
		if (copy.items[i].module >= 0)
			copy.items[i].module = modules[copy.items[i].module];
	}
	return copy;
}

static void add_sum(struct profile_sum *sum, const struct profile_sum *part)
{
	add_to(&sum->count, part->count);
	add_to(&sum->bytes, part->bytes);
	add_to(&sum->host_ns, part->host_ns);
}

/* The sum of several ranks does not state which buffer was downloaded, and at which sites. */
static void forget_places(struct profile_trips *trips)
{
	trips->after = trips->download_site = trips->upload_site = UNKNOWN;
}

static void add_trips(struct profile_trips *to, const struct profile_trips *from)
{
	add_to(&to->count, from->count);
	add_to(&to->bytes, from->bytes);
	add_to(&to->host_ns, from->host_ns);
	add_to(&to->copy_ns, from->copy_ns);
	forget_places(to);
}

static void add_buffer(struct profile_buffer *sum, const struct profile_buffer *buffer)
{
	add_sum(&sum->h2d, &buffer->h2d);
	add_sum(&sum->d2h, &buffer->d2h);
	if (buffer->largest_bytes > sum->largest_bytes)
		sum->largest_bytes = buffer->largest_bytes;
	add_to(&sum->promoted_bytes, buffer->promoted_bytes);
	add_to(&sum->pins, buffer->pins);
	add_to(&sum->pin_ns, buffer->pin_ns);
	add_to(&sum->saved_ns, buffer->saved_ns);
	add_to(&sum->could_save_ns, buffer->could_save_ns);
	add_trips(&sum->round_trips, &buffer->round_trips);
	add_trips(&sum->follows, &buffer->follows);
}

static void merge_buffers(struct profile *to, const struct profile_buffer *buffers, size_t count)
{
	struct places_item *items = profile_allocate(to, count, sizeof(*items));
	size_t *first = profile_allocate(to, count, sizeof(*first));

	for (size_t i = 0; i < count; i++)
		items[i] = (struct places_item){ buffers[i].kind, buffers[i].frames };
	places_find_first(to, items, count, first);
	to->buffers = profile_allocate(to, count, sizeof(*to->buffers));
	for (size_t i = 0; i < count; i++) {
		if (first[i] != i) {
			first[i] = first[first[i]];
			add_buffer(&to->buffers[first[i]], &buffers[i]);
			continue;
		}
		first[i] = to->buffer_count++;
		struct profile_buffer *sum = &to->buffers[first[i]];
		*sum = buffers[i];
		forget_places(&sum->round_trips);
		forget_places(&sum->follows);
	}
}

static void merge_places(struct merged *merged)
{
	struct profile *to = merged->to;
	size_t modules = 0, site_count = 0, buffer_count = 0;

	for (size_t i = 0; i < merged->count; i++) {
		modules += merged->profiles[i].module_count;
		site_count += merged->profiles[i].site_count;
		buffer_count += merged->profiles[i].buffer_count;
	}
	to->modules = profile_allocate(to, modules, sizeof(*to->modules));
	struct profile_site *sites = profile_allocate(to, site_count, sizeof(*sites)),
			    *site = sites;
	struct profile_buffer *buffers = profile_allocate(to, buffer_count, sizeof(*buffers));
	struct profile_buffer *buffer = buffers;
	for (size_t i = 0; i < merged->count; i++) {
		const struct profile *from = &merged->profiles[i];
		int64_t *now = profile_allocate(to, from->module_count, sizeof(*now));

		for (size_t j = 0; j < from->module_count; j++)
			now[j] = module_in(to, &from->modules[j]);
		for (size_t j = 0; j < from->site_count; j++, site++) {
			*site = from->sites[j];
			site->frames = frames_in(to, now, &site->frames);
		}
		for (size_t j = 0; j < from->buffer_count; j++, buffer++) {
			*buffer = from->buffers[j];
			buffer->frames = frames_in(to, now, &buffer->frames);
		}
	}
	places_merge(to, sites, site_count, profile_allocate(to, site_count, sizeof(size_t)));
	merge_buffers(to, buffers, buffer_count);
}

/* Every reader of the samples adds them up by line. */
static void merge_python(struct merged *merged)
{
	struct profile *to = merged->to;
	size_t most = 0;

	for (size_t i = 0; i < merged->count; i++)
		most += merged->profiles[i].python_count;
	if (most > 0)
		to->python = profile_allocate(to, most, sizeof(*to->python));
	for (size_t i = 0; i < merged->count; i++) {
		const struct profile *from = &merged->profiles[i];

		for (size_t j = 0; j < from->python_count; j++)
			to->python[to->python_count++] = from->python[j];
	}
}

static void merge_counters(struct merged *merged)
{
	struct profile *to = merged->to;
	const struct profile_entries *first = &merged->profiles[0].counters;

	to->counters.items = profile_allocate(to, first->count, sizeof(*to->counters.items));
	to->counters.count = first->count;
	for (size_t i = 0; i < first->count; i++)
		to->counters.items[i] = first->items[i];
	for (size_t i = 1; i < merged->count; i++)
		for (size_t j = 0; j < merged->profiles[i].counters.count; j++)
			for (size_t k = 0; k < to->counters.count; k++)
				if (strcmp(to->counters.items[k].name,
					   merged->profiles[i].counters.items[j].name) == 0)
					add_to(&to->counters.items[k].value,
					       merged->profiles[i].counters.items[j].value);
}

/* Notes that a table is not of all ranks: `have` of them have it. */
static void note_partial(struct merged *merged, const char *what, size_t have)
{
	struct profile *to = merged->to;

	if (have == 0 || have == merged->count)
		return;
	char *note = profile_allocate(to, 128, 1);
	snprintf(note, 128, "%s are of %zu of the %zu ranks", what, have, merged->count);
	to->warnings[to->warning_count++] = note;
}

static void note_all_partial(struct merged *merged)
{
	size_t sites = 0, python = 0;

	for (size_t i = 0; i < merged->count; i++) {
		sites += merged->profiles[i].sites != NULL;
		python += merged->profiles[i].python != NULL;
	}
	merged->to->warnings = profile_allocate(merged->to, 2, sizeof(*merged->to->warnings));
	note_partial(merged, "call sites and buffers", sites);
	note_partial(merged, "Python lines", python);
}

void ranks_merge(const struct profile *profiles, size_t count, struct profile *ret)
{
	/* Consecutive sums of struct profile, each an int64_t. */
	static const struct {
		size_t from, to;
	} sums[] = {
#define SUMS(part)                        \
	{ offsetof(struct profile, part), \
	  offsetof(struct profile, part) + sizeof(((struct profile *)0)->part) }
		SUMS(wall_ns),   SUMS(split),   SUMS(host),       SUMS(coverage),
		SUMS(promotion), SUMS(effect),  SUMS(memsets),    SUMS(kernel_runs),
		SUMS(overhead),  SUMS(records), SUMS(sites_lost), SUMS(sites_folded),
#undef SUMS
	};
	struct merged merged = { profiles, count, ret };

	memset(ret, 0, sizeof(*ret));
	ret->path = profiles[0].path;
	ret->stage = profiles[0].stage;
	ret->process = profiles[0].process;
	ret->process.rank = NULL;
	ret->environment = profiles[0].environment;
	ret->backend = profiles[0].backend;
	for (size_t i = 0; i < HP_LEN(sums); i++)
		for (size_t at = sums[i].from; at < sums[i].to; at += sizeof(int64_t))
			for (size_t j = 0; j < count; j++)
				add_to((int64_t *)((char *)ret + at),
				       *(const int64_t *)((const char *)&profiles[j] + at));
	for (size_t i = 0; i < count; i++) {
		/*
		 * Every rank has times at the call.  Device times count only if all ranks have
		 * them.
		 */
		if (strcmp(profile_view(&profiles[i]), "cupti") != 0)
			ret->backend = profiles[i].backend;
		ret->truncated |= profiles[i].truncated;
		if (ret->split_why == NULL)
			ret->split_why = profiles[i].split_why;
		if (profiles[i].process.exit_status > 0)
			ret->process.exit_status = profiles[i].process.exit_status;
		if (profile_is_unended(&profiles[i]))
			ret->state = profiles[i].state;
	}
	merge_transfers(&merged);
	merge_kernels(&merged);
	merge_places(&merged);
	merge_python(&merged);
	merge_counters(&merged);
	note_all_partial(&merged);
}
