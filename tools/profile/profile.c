/*
 * profile.c - the memory of a profile, and facts that follow from its records.
 */
#include "profile/profile.h"
#include "system/messages.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct profile_memory {
	struct profile_memory *next;
	max_align_t items[];
};

void profile_end_without_memory(void)
{
	hotpin_say("not enough memory for the profile; read it on a machine with more memory");
	exit(EXIT_FAILURE);
}

void *profile_allocate(const struct profile *profile, size_t count, size_t size)
{
	struct profile *owner = (struct profile *)profile;
	size_t bytes;
	struct profile_memory *memory = NULL;

	if (!__builtin_mul_overflow(count, size, &bytes) &&
	    !__builtin_add_overflow(bytes, sizeof(*memory), &bytes))
		memory = calloc(1, bytes);
	if (memory == NULL)
		profile_end_without_memory();
	memory->next = owner->memory;
	owner->memory = memory;
	return memory->items;
}

void profile_close(struct profile *profile)
{
	struct profile_memory *memory = profile->memory;

	while (memory != NULL) {
		struct profile_memory *next = memory->next;

		free(memory);
		memory = next;
	}
	memset(profile, 0, sizeof(*profile));
}

void profile_close_all(struct profile *profiles, size_t count)
{
	for (size_t i = 0; profiles != NULL && i < count; i++)
		profile_close(&profiles[i]);
	free(profiles);
}

int64_t profile_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (a < 0 || b < 0)
		return UNKNOWN;
	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t profile_cost_ns(const struct profile *profile)
{
	const struct profile_overhead *cost = &profile->overhead;
	int64_t exit_ns = cost->exit_ns > 0 ? cost->exit_ns : 0;

	return profile_add(profile_add(cost->start_ns, cost->callbacks_ns),
			   profile_add(cost->appends_ns, exit_ns));
}

bool profile_same_frame(const struct profile_frame *a, const struct profile_frame *b)
{
	if (a->is_python && b->is_python)
		return a->number == b->number && strcmp(a->path, b->path) == 0 &&
		       strcmp(a->function, b->function) == 0;
	return a->is_python == b->is_python && a->module == b->module && a->offset == b->offset;
}

bool profile_has_split(const struct profile *profile)
{
	return profile->split.host_ns >= 0;
}

bool profile_is_unended(const struct profile *profile)
{
	return profile->state != NULL && strcmp(profile->state, "running") == 0;
}

bool profile_used_no_device(const struct profile *profile)
{
	return profile->backend.kind != NULL && strcmp(profile->backend.kind, "none") == 0;
}

const char *profile_option(const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->options.count; i++)
		if (strcmp(profile->options.items[i].name, name) == 0)
			return profile->options.items[i].text;
	return NULL;
}

bool profile_is_part(const struct profile *profile)
{
	const char *capture = profile_option(profile, "HOTPIN_CAPTURE");

	return capture != NULL && strcmp(capture, HP_CAPTURE_ALL) != 0;
}

bool profile_is_empty(const struct profile *profile)
{
	return profile_is_part(profile) && profile->wall_ns == 0;
}

bool profile_lacks_heap(const struct profile *profile)
{
	const char *least = profile_option(profile, "HOTPIN_HEAP_MIN");

	if (least == NULL || strcmp(least, "0") != 0)
		return false;
	for (size_t i = 0; i < profile->buffer_count; i++)
		if (strcmp(profile->buffers[i].kind, "other") == 0)
			return true;
	return false;
}

const char *profile_view(const struct profile *profile)
{
	bool cupti = profile->backend.kind != NULL && strcmp(profile->backend.kind, "cupti") == 0;

	return cupti || profile_used_no_device(profile) ? "cupti" : "hotpin";
}

bool profile_has_pageable(const struct profile *profile)
{
	for (size_t i = 0; i < profile->transfer_count; i++)
		if (strcmp(profile->transfers[i].view, profile_view(profile)) == 0 &&
		    strcmp(profile->transfers[i].memory, "pageable") == 0)
			return true;
	return false;
}

int64_t profile_timed_bytes(const struct profile_transfer *row)
{
	if (row->bytes < 0 || row->untimed_bytes > row->bytes)
		return UNKNOWN;
	return row->bytes - (row->untimed_bytes > 0 ? row->untimed_bytes : 0);
}

int64_t profile_peak(const struct profile *profile, const char *direction)
{
	return strcmp(direction, "h2d") == 0   ? profile->environment.peak_h2d_bytes_per_s
	       : strcmp(direction, "d2h") == 0 ? profile->environment.peak_d2h_bytes_per_s
					       : UNKNOWN;
}

int64_t profile_moved_ns(const struct profile_transfer *copies)
{
	return strcmp(copies->view, "cupti") == 0 ? copies->busy_ns : copies->host_ns;
}

struct profile_transfer profile_moved(const struct profile *profile, const char *view,
				      const char *direction)
{
	struct profile_transfer sum = { .view = view, .direction = direction };

	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, view) != 0 ||
		    (direction != NULL && strcmp(row->direction, direction) != 0))
			continue;
		sum.count = profile_add(sum.count, row->count);
		sum.bytes = profile_add(sum.bytes, row->bytes);
		sum.busy_ns = profile_add(sum.busy_ns, row->busy_ns);
		sum.host_ns = profile_add(sum.host_ns, row->host_ns);
		sum.sync_bytes = profile_add(sum.sync_bytes, row->sync_bytes);
		sum.sync_ns = profile_add(sum.sync_ns, row->sync_ns);
	}
	return sum;
}
