/*
 * html_timeline_data.c - the timeline as data for page_timeline.js.
 *
 * To keep the page small, text that events have in common is written once, and starts are
 * differences.  A hundred thousand events then take two megabytes.
 */
#include "html_timeline_data.h"
#include "flows.h"
#include "names.h"
#include "page.h"
#include "show.h"

#include <stdlib.h>
#include <string.h>

struct numbers {
	int64_t what, number; /* UNKNOWN: not in the data */
};

struct data {
	FILE *to;
	const struct timeline *timeline;
	struct numbers *numbers; /* by slice */
	size_t *slices;          /* by row of the events */
	int64_t *sites;          /* number in the data, plus 1; 0: not in the data */
	int64_t site_count;
};

static int by_what(const void *left, const void *right)
{
	const struct profile_event *a = (*(struct timeline_slice *const *)left)->event,
				   *b = (*(struct timeline_slice *const *)right)->event;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->kind == PROFILE_SAMPLE && a->detail != b->detail)
		return a->detail < b->detail ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return (a->site > b->site) - (a->site < b->site);
}

static int64_t number_site(struct data *data, int64_t site)
{
	if (site < 0)
		return UNKNOWN;
	if (data->sites[site] == 0)
		data->sites[site] = ++data->site_count;
	return data->sites[site] - 1;
}

/* True for a call that counts as CUDA's start-up. */
static bool is_start_up(const struct profile *profile, const struct profile_event *event)
{
	const char *name = timeline_event(profile, event);

	for (size_t i = 0; i < profile->call_count; i++)
		if (strcmp(profile->calls[i].name, name) == 0)
			return profile->calls[i].class != NULL &&
			       strcmp(profile->calls[i].class, "start_up") == 0;
	return false;
}

/*
 * Numbers the distinct descriptions of events, and writes each as [name, bytes, site, is start-up].
 */
static void write_what(struct data *data, struct timeline_slice **sorted)
{
	const struct timeline *timeline = data->timeline;
	size_t count = 0;
	int64_t number = UNKNOWN;

	for (size_t i = 0; i < timeline->group_count; i++)
		for (size_t j = 0; j < timeline->groups[i].count; j++)
			if (timeline_shows(&timeline->groups[i], &timeline->groups[i].slices[j]))
				sorted[count++] = &timeline->groups[i].slices[j];
	qsort(sorted, count, sizeof(*sorted), by_what);
	fputs("\"what\":[", data->to);
	for (size_t i = 0; i < count; i++) {
		const struct profile_event *event = sorted[i]->event;

		if (i == 0 || by_what(&sorted[i - 1], &sorted[i]) != 0) {
			fputs(++number > 0 ? ",[" : "[", data->to);
			page_json(data->to,
				  show_text(timeline_event(timeline->profile, event), 120));
			fprintf(data->to, ",%lld,%lld%s]", (long long)event->bytes,
				(long long)number_site(data, event->site),
				is_start_up(timeline->profile, event) ? ",1" : "");
		}
		data->numbers[sorted[i] - timeline->slices].what = number;
	}
	fputs("],\n", data->to);
}

static void write_sites(const struct data *data, struct profile *profile)
{
	const struct profile_site **used =
		profile_allocate(profile, (size_t)data->site_count, sizeof(*used));
	char place[300];

	for (size_t i = 0; i < profile->site_count; i++)
		if (data->sites[i] > 0)
			used[data->sites[i] - 1] = &profile->sites[i];
	fputs("\"sites\":[", data->to);
	for (int64_t i = 0; i < data->site_count; i++) {
		names_place_short(profile, names_frame(profile, &used[i]->frames, false), place,
				  sizeof(place), 80);
		fputs(i > 0 ? "," : "", data->to);
		page_json(data->to, show_text(place, 120));
	}
	fputs("],\n", data->to);
}

/*
 * Writes each event of a row as three numbers: start after the previous event's start, duration,
 * description.
 */
static int64_t write_row(const struct data *data, const struct timeline_group *group, int subtrack,
			 int64_t number)
{
	int64_t start_ns = 0;
	bool any = false;

	for (size_t i = 0; i < group->count; i++) {
		const struct timeline_slice *slice = &group->slices[i];
		struct numbers *numbers = &data->numbers[slice - data->timeline->slices];

		if (slice->subtrack != subtrack)
			continue;
		fprintf(data->to, "%s%lld,%lld,%lld", any ? "," : "",
			(long long)(slice->event->start_ns - start_ns),
			(long long)slice->event->duration_ns, (long long)numbers->what);
		any = true;
		start_ns = slice->event->start_ns;
		numbers->number = number++;
	}
	return number;
}

static void write_rows(const struct data *data)
{
	const struct timeline *timeline = data->timeline;
	char name[TIMELINE_NAME];
	int64_t number = 0;
	bool any = false;

	fputs("\"rows\":[", data->to);
	for (size_t i = 0; i < timeline->group_count; i++) {
		const struct timeline_group *group = &timeline->groups[i];

		timeline_name(timeline, group, name);
		for (int subtrack = 0; group->is_kept && subtrack < group->subtracks; subtrack++) {
			fputs(any ? ",\n{\"name\":" : "\n{\"name\":", data->to);
			any = true;
			page_json(data->to, name);
			fprintf(data->to, ",\"kind\":\"%s\",\"subtrack\":%d,\"events\":[",
				timeline_class(group), subtrack);
			number = write_row(data, group, subtrack, number);
			fputs("]}", data->to);
		}
	}
	fputs("],\n", data->to);
}

static int64_t number_of(const struct data *data, size_t row)
{
	return data->numbers[data->slices[row]].number;
}

/* Writes pairs of event numbers: a copy on the device, and its call. */
static void write_flows(const struct data *data)
{
	const struct profile *profile = data->timeline->profile;
	size_t *calls = flows_find(profile);
	bool any = false;

	fputs("\"flows\":[", data->to);
	for (size_t row = 0; row < profile->events.row_count && calls != NULL; row++) {
		if (calls[row] == SIZE_MAX || number_of(data, row) < 0 ||
		    number_of(data, calls[row]) < 0)
			continue;
		fprintf(data->to, "%s%lld,%lld", any ? "," : "", (long long)number_of(data, row),
			(long long)number_of(data, calls[row]));
		any = true;
	}
	fputs("]", data->to);
	free(calls);
}

/* True if the states of a part of the run can be derived from these events. */
static bool tells_states(const struct timeline *timeline)
{
	return profile_has_split(timeline->profile) && timeline->profile->events.dropped <= 0 &&
	       timeline->left_out == 0;
}

void html_timeline_data(FILE *to, struct profile *profile, const struct timeline *timeline)
{
	size_t count = profile->events.row_count;
	struct data data = { .to = to, .timeline = timeline };

	data.numbers = profile_allocate(profile, count, sizeof(*data.numbers));
	data.slices = profile_allocate(profile, count, sizeof(*data.slices));
	data.sites = profile_allocate(profile, profile->site_count, sizeof(*data.sites));
	for (size_t i = 0; i < count; i++) {
		data.numbers[i] = (struct numbers){ UNKNOWN, UNKNOWN };
		data.slices[timeline->slices[i].event - profile->events.rows] = i;
	}
	fprintf(to,
		"<script type=\"application/json\" id=\"timeline-data\">{\"end\":%lld,"
		"\"states\":%s,\n",
		(long long)timeline->end_ns, tells_states(timeline) ? "true" : "false");
	write_what(&data, profile_allocate(profile, count, sizeof(struct timeline_slice *)));
	write_sites(&data, profile);
	write_rows(&data);
	write_flows(&data);
	fputs("}</script>\n", to);
}
