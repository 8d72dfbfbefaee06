/*
 * html_timeline.c - the timeline of a trace as a picture that works without a script.
 */
#include "html.h"
#include "html_timeline_data.h"
#include "names.h"
#include "page.h"
#include "show.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS      500 /* width of the picture */
#define ROW_HEIGHT   20  /* as in page.css and page_timeline.js */
#define LONGEST_MOST 15

/* Draws the events of a row in columns of the picture; gaps of less than a column are closed. */
static void draw_row(FILE *to, const struct timeline *timeline, const struct timeline_group *group,
		     int subtrack, int row)
{
	int64_t from = UNKNOWN, end = UNKNOWN, last = 0;

	fprintf(to, "<path class=\"%s\" d=\"M0 %d", timeline_class(group),
		row * ROW_HEIGHT + ROW_HEIGHT / 2);
	for (size_t i = 0; i < group->count; i++) {
		const struct profile_event *event = group->slices[i].event;

		if (group->slices[i].subtrack != subtrack)
			continue;
		__int128_t scale = COLUMNS;
		int64_t first = (int64_t)(event->start_ns * scale / timeline->end_ns);
		int64_t after = (int64_t)((event->start_ns + event->duration_ns) * scale /
					  timeline->end_ns) +
				1;

		after = after > COLUMNS ? COLUMNS : after;
		first = first >= after ? after - 1 : first;
		if (from >= 0 && first <= end) {
			end = after > end ? after : end;
			continue;
		}
		if (from >= 0)
			fprintf(to, "m%lld 0h%lld", (long long)(from - last),
				(long long)(end - from));
		last = from >= 0 ? end : last;
		from = first;
		end = after;
	}
	if (from >= 0)
		fprintf(to, "m%lld 0h%lld", (long long)(from - last), (long long)(end - from));
	fputs("\"/>", to);
}

static int rows_of(const struct timeline *timeline)
{
	int rows = 0;

	for (size_t i = 0; i < timeline->group_count; i++)
		rows += timeline->groups[i].is_kept ? timeline->groups[i].subtracks : 0;
	return rows;
}

static void draw_names(FILE *to, const struct timeline *timeline)
{
	char name[TIMELINE_NAME];

	fputs("<ul class=\"names\">\n", to);
	for (size_t i = 0; i < timeline->group_count; i++) {
		const struct timeline_group *group = &timeline->groups[i];

		if (!group->is_kept)
			continue;
		timeline_name(timeline, group, name);
		page_element(to, "li", name);
		for (int subtrack = 1; subtrack < group->subtracks; subtrack++)
			fputs("<li aria-hidden=\"true\"></li>\n", to);
	}
	fputs("</ul>\n", to);
}

static void draw(FILE *to, const struct timeline *timeline)
{
	int row = 0, rows = rows_of(timeline);

	fputs("<div class=\"timeline\">\n", to);
	draw_names(to, timeline);
	fprintf(to,
		"<div class=\"subtracks\"><svg role=\"img\" viewBox=\"0 0 %d %d\" height=\"%d\" "
		"preserveAspectRatio=\"none\" aria-label=\"the timeline of %s, a row for each of "
		"the names\">",
		COLUMNS, rows * ROW_HEIGHT, rows * ROW_HEIGHT, show_time(timeline->end_ns));
	for (size_t i = 0; i < timeline->group_count; i++)
		for (int subtrack = 0;
		     timeline->groups[i].is_kept && subtrack < timeline->groups[i].subtracks;
		     subtrack++)
			draw_row(to, timeline, &timeline->groups[i], subtrack, row++);
	fputs("</svg>\n", to);
	page_ticks(to, timeline->end_ns);
	fputs("</div></div>\n", to);
}

static int by_duration(const void *left, const void *right)
{
	const struct profile_event *a = (*(struct timeline_slice *const *)left)->event,
				   *b = (*(struct timeline_slice *const *)right)->event;

	if (a->duration_ns != b->duration_ns)
		return a->duration_ns > b->duration_ns ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static void longest_row(FILE *to, const char *const *columns, size_t column_count,
			const struct timeline *timeline, const struct timeline_slice *slice)
{
	const struct profile *profile = timeline->profile;
	const struct profile_event *event = slice->event;
	char place[300] = "";

	if (event->site >= 0)
		names_place_short(profile,
				  names_frame(profile, &profile->sites[event->site].frames, false),
				  place, sizeof(place), 80);
	page_row(to, columns, column_count,
		 (const char *[]){ show_text(timeline_event(profile, event), 120),
				   show_time(event->start_ns), show_time(event->duration_ns),
				   event->bytes >= 0 ? show_bytes(event->bytes) : "",
				   show_text(place, 120) });
}

/* A table for readers who see no picture. */
static void longest(FILE *to, struct profile *profile, const struct timeline *timeline)
{
	static const char *const columns[] = { "<event", "begins", "takes", "bytes",
					       "<called from" };
	size_t count = profile->events.row_count;
	struct timeline_slice **sorted = profile_allocate(profile, count, sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		sorted[i] = &timeline->slices[i];
	qsort(sorted, count, sizeof(*sorted), by_duration);
	fputs("<details><summary>The longest events</summary>\n", to);
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < count && i < LONGEST_MOST; i++)
		longest_row(to, columns, HP_LEN(columns), timeline, sorted[i]);
	page_table_end(to);
	fputs("</details>\n", to);
}

static void say_left_out(FILE *to, const struct profile *profile, const struct timeline *timeline)
{
	if (profile->events.dropped > 0)
		fprintf(to,
			"<p class=\"note\">%s not recorded: those shorter than %s, or of too many "
			"threads.</p>\n",
			show_several(profile->events.dropped, "event was", "events were"),
			show_time(profile->events.shortest_ns));
	if (timeline->left_out > 0)
		fprintf(to,
			"<p class=\"note\">%s not shown: only the busiest rows are. "
			"hotpin trace has all.</p>\n",
			show_several((int64_t)timeline->left_out, "event is", "events are"));
}

void html_timeline(FILE *to, struct profile *profile)
{
	struct timeline timeline;

	if (profile->events.row_count == 0)
		return;
	timeline_make(profile, &timeline);
	page_section(to, "timeline", NULL);
	say_left_out(to, profile, &timeline);
	draw(to, &timeline);
	longest(to, profile, &timeline);
	html_timeline_data(to, profile, &timeline);
	page_section_end(to);
}
