/*
 * period_sums.c - computes the figures of a part of a run from its timeline.
 *
 * The count and the bytes of an event belong to the time at which it begins; its duration is
 * divided.
 */
#include "period.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in trace/collect/split.c: an earlier layer hides later ones; kernels and transfers may
 * overlap. */
enum layer { KERNELS, TRANSFERS, START_UP, CALLS, LAYERS };

struct edge {
	int64_t at_ns;
	enum layer layer;
	int change;
};

struct sums {
	struct profile *profile;
	const struct period_span *spans;
	size_t span_count;
	struct profile_kernel **kernels; /* by name; NULL: a name of no kernel */
};

static void add(int64_t *sum, int64_t value)
{
	*sum = profile_add(*sum, value > 0 ? value : 0);
}

static const char *name_of(const struct profile *profile, const struct profile_event *event)
{
	return event->name >= 0 ? profile->events.names[event->name] : "";
}

/* Returns the kernel of each name; looking each run up would take too long. */
static struct profile_kernel **kernels_by_name(struct profile *profile)
{
	struct profile_kernel **kernels =
		profile_allocate(profile, profile->events.name_count, sizeof(*kernels));

	for (size_t name = 0; name < profile->events.name_count; name++)
		for (size_t i = 0; i < profile->kernel_count; i++) {
			const char *its = profile->kernels[i].name;

			if (strcmp(its != NULL ? its : "", profile->events.names[name]) == 0)
				kernels[name] = &profile->kernels[i];
		}
	return kernels;
}

static bool begins_inside(const struct sums *sums, const struct profile_event *event)
{
	return period_overlap(sums->spans, sums->span_count, event->start_ns, event->start_ns + 1) >
	       0;
}

static int64_t time_inside(const struct sums *sums, const struct profile_event *event)
{
	return period_overlap(sums->spans, sums->span_count, event->start_ns,
			      event->start_ns + event->duration_ns);
}

static bool is_start_up(const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->call_count; i++)
		if (profile->calls[i].class != NULL && strcmp(profile->calls[i].name, name) == 0)
			return strcmp(profile->calls[i].class, "start_up") == 0 ||
			       strcmp(profile->calls[i].class, "module") == 0;
	return false;
}

/* False if the event belongs to no layer. */
static bool find_layer(const struct profile *profile, const struct profile_event *event,
		       enum layer *ret)
{
	const char *name = name_of(profile, event);

	switch (event->kind) {
	case PROFILE_KERNEL:
	case PROFILE_MEMSET:
		*ret = KERNELS;
		return true;
	case PROFILE_COPY:
		*ret = strncmp(name, "d2d", 3) == 0 || strncmp(name, "p2p", 3) == 0 ? KERNELS
										    : TRANSFERS;
		return true;
	case PROFILE_API:
		*ret = is_start_up(profile, name) ? START_UP : CALLS;
		return true;
	case PROFILE_COPY_CALL:
	case PROFILE_WAIT:
		*ret = CALLS;
		return true;
	default:
		return false;
	}
}

static int by_time(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static int64_t *state_of(struct profile_split *split, const int open[LAYERS])
{
	if (open[KERNELS] > 0)
		return open[TRANSFERS] > 0 ? &split->overlap_ns : &split->kernel_ns;
	if (open[TRANSFERS] > 0)
		return &split->transfer_ns;
	if (open[START_UP] > 0)
		return &split->startup_ns;
	return open[CALLS] > 0 ? &split->calls_ns : &split->host_ns;
}

/* Adds the states of one span, which the edges delimit. */
static void split_span(const struct edge *edges, size_t count, const struct period_span *span,
		       int open[LAYERS], size_t *at, struct profile_split *split)
{
	int64_t now_ns = span->from_ns;

	for (; *at < count && edges[*at].at_ns <= span->from_ns; ++*at)
		open[edges[*at].layer] += edges[*at].change;
	for (; *at < count && edges[*at].at_ns < span->to_ns; ++*at) {
		*state_of(split, open) += edges[*at].at_ns - now_ns;
		now_ns = edges[*at].at_ns;
		open[edges[*at].layer] += edges[*at].change;
	}
	*state_of(split, open) += span->to_ns - now_ns;
}

static void split(const struct sums *sums)
{
	struct profile *profile = sums->profile;
	struct edge *edges =
		profile_allocate(profile, profile->events.row_count * 2 + 1, sizeof(*edges));
	struct profile_split parts = { 0 };
	int open[LAYERS] = { 0 };
	size_t used = 0, at = 0;

	for (size_t i = 0; i < profile->events.row_count; i++) {
		const struct profile_event *event = &profile->events.rows[i];
		enum layer layer;

		if (event->duration_ns == 0 || !find_layer(profile, event, &layer))
			continue;
		edges[used++] = (struct edge){ event->start_ns, layer, 1 };
		edges[used++] = (struct edge){ event->start_ns + event->duration_ns, layer, -1 };
	}
	if (used > 0)
		qsort(edges, used, sizeof(*edges), by_time);
	for (size_t i = 0; i < sums->span_count; i++)
		split_span(edges, used, &sums->spans[i], open, &at, &parts);
	if (profile_has_split(profile))
		profile->split = parts;
}

static struct profile_transfer *transfer_of(struct profile *profile, const char *view,
					    const char *direction, const char *memory)
{
	for (size_t i = 0; i < profile->transfer_count; i++) {
		struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, view) == 0 && strncmp(row->direction, direction, 3) == 0 &&
		    strncmp(memory, row->memory, strlen(row->memory)) == 0)
			return row;
	}
	return NULL;
}

static void add_size(struct profile_transfer *row, int64_t bytes, int64_t ns)
{
	struct profile_size *slot = NULL;

	for (size_t i = 0; i < row->size_count; i++)
		if (row->sizes[i].from_bytes <= bytes &&
		    (slot == NULL || row->sizes[i].from_bytes > slot->from_bytes))
			slot = &row->sizes[i];
	if (slot == NULL)
		return;
	slot->count++;
	add(&slot->bytes, bytes);
	add(&slot->busy_ns, ns);
}

/* Adds a copy on the device, whose name is like "h2d pinned". */
static void add_copy(const struct sums *sums, const struct profile_event *event)
{
	const char *name = name_of(sums->profile, event);
	struct profile_transfer *row =
		strlen(name) > 4 ? transfer_of(sums->profile, "cupti", name, name + 4) : NULL;
	int64_t ns = time_inside(sums, event);

	if (row == NULL)
		return;
	add(&row->busy_ns, ns);
	if (!begins_inside(sums, event))
		return;
	row->count++;
	add(&row->bytes, event->bytes);
	add_size(row, event->bytes, ns);
	add(&sums->profile->coverage.cupti_copies, 1);
	add(&sums->profile->coverage.cupti_bytes, event->bytes);
}

static void add_to_site(struct profile *profile, const struct profile_event *event,
			const char *direction, const char *memory, int64_t ns)
{
	struct profile_site *site = event->site >= 0 ? &profile->sites[event->site] : NULL;
	bool waits = strstr(memory, " async") == NULL;

	for (size_t i = 0; site != NULL && i < site->row_count; i++) {
		struct profile_row *row = &site->rows[i];

		if (strncmp(row->direction, direction, 3) != 0 ||
		    strncmp(memory, row->memory, strlen(row->memory)) != 0)
			continue;
		row->count++;
		add(&row->bytes, event->bytes);
		add(&row->host_ns, ns);
		row->sync_count += waits;
		add(&row->sync_ns, waits ? ns : 0);
		return;
	}
}

/* Adds a call of the program, whose name is like "copy h2d pageable async". */
static void add_call(const struct sums *sums, const struct profile_event *event)
{
	struct profile *profile = sums->profile;
	const char *name = name_of(profile, event);
	const char *direction = strncmp(name, "copy ", 5) == 0 ? name + 5 : name;
	const char *memory = strlen(direction) > 4 ? direction + 4 : "";
	int64_t ns = time_inside(sums, event);
	bool waits = strstr(name, " async") == NULL;

	add(&profile->host.copy_calls_ns, ns);
	if (!begins_inside(sums, event))
		return;
	add(&profile->coverage.hotpin_copies, 1);
	add(&profile->coverage.hotpin_bytes, event->bytes);
	add_to_site(profile, event, direction, memory, ns);
	struct profile_transfer *row = transfer_of(profile, "hotpin", direction, memory);
	if (row == NULL)
		row = transfer_of(profile, "hotpin", direction, "unknown");
	if (row != NULL) {
		row->count++;
		add(&row->bytes, event->bytes);
		add(&row->host_ns, ns);
		row->sync_count += waits;
		add(&row->sync_bytes, waits ? event->bytes : 0);
		add(&row->sync_ns, waits ? ns : 0);
		add_size(row, event->bytes, ns);
	}
	if (event->detail < 0 || (direction[0] != 'h' && direction[0] != 'd'))
		return;
	struct profile_sum *sum = direction[0] == 'h' ? &profile->buffers[event->detail].h2d
						      : &profile->buffers[event->detail].d2h;
	sum->count++;
	add(&sum->bytes, event->bytes);
	add(&sum->host_ns, ns);
}

static void add_kernel(const struct sums *sums, const struct profile_event *event)
{
	struct profile *profile = sums->profile;
	int64_t ns = time_inside(sums, event), begins = begins_inside(sums, event);

	add(&profile->kernel_runs.count, begins);
	add(&profile->kernel_runs.busy_ns, ns);
	struct profile_kernel *kernel = event->name >= 0 ? sums->kernels[event->name] : NULL;
	if (kernel == NULL)
		return;
	kernel->count += begins;
	add(&kernel->busy_ns, ns);
	kernel->longest_ns = ns > kernel->longest_ns ? ns : kernel->longest_ns;
}

static void add_event(const struct sums *sums, const struct profile_event *event)
{
	struct profile *profile = sums->profile;
	const char *name = name_of(profile, event);

	switch (event->kind) {
	case PROFILE_COPY:
		add_copy(sums, event);
		break;
	case PROFILE_COPY_CALL:
		add_call(sums, event);
		break;
	case PROFILE_KERNEL:
		add_kernel(sums, event);
		break;
	case PROFILE_MEMSET:
		add(&profile->memsets.count, begins_inside(sums, event));
		add(&profile->memsets.bytes, begins_inside(sums, event) ? event->bytes : 0);
		add(&profile->memsets.busy_ns, time_inside(sums, event));
		break;
	case PROFILE_WAIT:
		profile->host.waits += begins_inside(sums, event);
		add(&profile->host.waits_ns, time_inside(sums, event));
		break;
	case PROFILE_API:
		profile->host.launches +=
			strncmp(name, "cuLaunch", 8) == 0 && begins_inside(sums, event);
		profile->host.graph_launches +=
			strncmp(name, "cuGraphLaunch", 13) == 0 && begins_inside(sums, event);
		break;
	default:
		break;
	}
}

static void clear_transfers(struct profile *profile)
{
	for (size_t i = 0; i < profile->transfer_count; i++) {
		struct profile_transfer *row = &profile->transfers[i];

		row->count = row->bytes = row->busy_ns = row->untimed_bytes = row->pieces = 0;
		row->host_ns = row->sync_count = row->sync_bytes = row->sync_ns = 0;
		for (size_t j = 0; j < row->size_count; j++) {
			row->sizes[j].count = 0;
			row->sizes[j].bytes = row->sizes[j].busy_ns = 0;
		}
	}
	for (size_t i = 0; i < profile->site_count; i++)
		for (size_t j = 0; j < profile->sites[i].row_count; j++) {
			struct profile_row *row = &profile->sites[i].rows[j];

			row->count = row->bytes = row->host_ns = 0;
			row->sync_count = row->sync_ns = 0;
		}
}

/* A figure that is unknown for the whole run stays unknown. */
static void to_zero(int64_t *figure)
{
	*figure = *figure < 0 ? UNKNOWN : 0;
}

/* Figures that a timeline can sum up begin at 0. */
static void clear(struct profile *profile)
{
	const struct profile_trips unknown = { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN,
					       UNKNOWN, UNKNOWN, UNKNOWN };

	clear_transfers(profile);
	for (size_t i = 0; i < profile->kernel_count; i++)
		profile->kernels[i].count = profile->kernels[i].busy_ns =
			profile->kernels[i].longest_ns = 0;
	for (size_t i = 0; i < profile->buffer_count; i++) {
		struct profile_buffer *buffer = &profile->buffers[i];

		buffer->h2d = buffer->d2h = (struct profile_sum){ 0, 0, 0 };
		buffer->promoted_bytes = buffer->pins = buffer->pin_ns = UNKNOWN;
		buffer->saved_ns = buffer->could_save_ns = UNKNOWN;
		buffer->round_trips = buffer->follows = unknown;
	}
	int64_t *const figures[] = {
		&profile->kernel_runs.count,      &profile->kernel_runs.bytes,
		&profile->kernel_runs.busy_ns,    &profile->memsets.count,
		&profile->memsets.bytes,          &profile->memsets.busy_ns,
		&profile->coverage.hotpin_copies, &profile->coverage.hotpin_bytes,
		&profile->coverage.cupti_copies,  &profile->coverage.cupti_bytes,
	};
	for (size_t i = 0; i < HP_LEN(figures); i++)
		to_zero(figures[i]);
	profile->host.copy_calls_ns = profile->host.waits = profile->host.waits_ns = 0;
	profile->host.launches = profile->host.graph_launches = 0;
}

/* Figures that a timeline does not contain become unknown. */
static void forget(struct profile *profile)
{
	profile->host.copying_ns = profile->host.waiting_for_kernels_ns = UNKNOWN;
	profile->host.overhead_ns = profile->host.staging_ns = UNKNOWN;
	profile->host.captured_copies = UNKNOWN;
	/* All fields are numbers, and UNKNOWN has all bits set. */
	memset(&profile->promotion, 0xff, sizeof(profile->promotion));
	memset(&profile->effect, 0xff, sizeof(profile->effect));
	memset(&profile->overhead, 0xff, sizeof(profile->overhead));
	memset(&profile->records, 0xff, sizeof(profile->records));
	memset(&profile->repeats, 0, sizeof(profile->repeats));
	memset(&profile->sampling, 0xff, sizeof(profile->sampling));
	profile->sampling.mode = NULL;
	profile->sampling.why = "samples of a part of the run are only in the timeline";
	profile->sampling.in_turn = false;
	profile->samples = NULL;
	profile->python = NULL;
	profile->bounds = NULL;
	profile->stages = NULL;
	profile->calls = NULL;
	profile->gaps = NULL;
	profile->launches = NULL;
	profile->launches_rest.kernels = profile->launches_rest.device_ns = UNKNOWN;
	profile->activity.bins = NULL;
	profile->python_count = 0;
	profile->sample_count = profile->bound_count = profile->stage_count = 0;
	profile->call_count = profile->gap_count = profile->launch_count = 0;
	profile->activity.bin_count = 0;
	profile->counters.count = 0;
}

/* Drops lists that nothing refers to any longer. */
static void drop_unused(struct profile *profile)
{
	bool sites = false, buffers = false;

	for (size_t i = 0; i < profile->events.row_count; i++) {
		const struct profile_event *event = &profile->events.rows[i];

		sites |= event->site >= 0;
		buffers |= event->kind == PROFILE_COPY_CALL && event->detail >= 0;
	}
	profile->site_count = sites ? profile->site_count : 0;
	profile->buffer_count = buffers ? profile->buffer_count : 0;
}

/* Drops rows without a copy or a run. */
static void drop_empty(struct profile *profile)
{
	size_t kept = 0;

	for (size_t i = 0; i < profile->transfer_count; i++)
		if (profile->transfers[i].count > 0 || profile->transfers[i].busy_ns > 0)
			profile->transfers[kept++] = profile->transfers[i];
	profile->transfer_count = kept;
	kept = 0;
	for (size_t i = 0; i < profile->kernel_count; i++)
		if (profile->kernels[i].count > 0 || profile->kernels[i].busy_ns > 0)
			profile->kernels[kept++] = profile->kernels[i];
	profile->kernel_count = kept;
	for (size_t i = 0; i < profile->site_count; i++) {
		struct profile_site *site = &profile->sites[i];

		kept = 0;
		for (size_t j = 0; j < site->row_count; j++)
			if (site->rows[j].count > 0)
				site->rows[kept++] = site->rows[j];
		site->row_count = kept;
		/* These samples of the main thread are of the whole run. */
		site->mains = NULL;
		site->main_count = 0;
	}
	drop_unused(profile);
}

/* Puts the notes about the part before all others. */
static void add_notes(const struct sums *sums, int64_t whole_ns)
{
	struct profile *profile = sums->profile;
	const struct period_span *last = &sums->spans[sums->span_count - 1];
	const char **notes = profile_allocate(profile, profile->warning_count + 2, sizeof(*notes));
	char *part = profile_allocate(profile, 256, 1), *missing;
	size_t used = 0;

	snprintf(part, 256,
		 "only a part of the run of %s: from %s to %s, in %s; figures that the timeline "
		 "lacks are left out",
		 show_time(whole_ns), show_time(sums->spans[0].from_ns), show_time(last->to_ns),
		 show_several((int64_t)sums->span_count, "piece", "pieces"));
	notes[used++] = part;
	if (profile->events.dropped > 0) {
		missing = profile_allocate(profile, 256, 1);
		snprintf(missing, 256, "%s events shorter than %s are missing: figures are too low",
			 show_count(profile->events.dropped),
			 show_time(profile->events.shortest_ns));
		notes[used++] = missing;
	}
	for (size_t i = 0; i < profile->warning_count; i++)
		notes[used++] = profile->warnings[i];
	profile->warnings = notes;
	profile->warning_count = used;
}

void period_sum(struct profile *profile, const struct period_span *spans, size_t count)
{
	const struct sums sums = { profile, spans, count, kernels_by_name(profile) };
	int64_t whole_ns = profile->wall_ns;

	clear(profile);
	split(&sums);
	for (size_t i = 0; i < profile->events.row_count; i++)
		add_event(&sums, &profile->events.rows[i]);
	drop_empty(profile);
	forget(profile);
	profile->wall_ns = 0;
	for (size_t i = 0; i < count; i++)
		add(&profile->wall_ns, spans[i].to_ns - spans[i].from_ns);
	add_notes(&sums, whole_ns);
}
