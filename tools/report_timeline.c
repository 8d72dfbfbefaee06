/*
 * report_timeline.c - the tables of a timeline: each kernel, copy and call, with its place.
 */
#include "each.h"
#include "report.h"
#include "show.h"

#include <stdio.h>

#define ROWS       8
#define NAME_WIDTH 32

static void show_each(struct profile *profile, bool all)
{
	size_t count, shown;
	const struct each *each = each_make(profile, &count);

	shown = all || count < ROWS ? count : ROWS;
	printf("\nDURATIONS\n  %-11s %7s %9s %9s %9s %9s  %s\n", "Kind", "Count", "Min", "Median",
	       "P99", "Max", "Name");
	for (size_t i = 0; i < shown; i++) {
		const struct spread *spread = &each[i].spread;
		char count_of[32];

		snprintf(count_of, sizeof(count_of), "%s", show_count(each[i].count));
		printf("  %-11s %7s %9s %9s %9s %9s  %s\n", each_kind_name(each[i].kind), count_of,
		       show_time(spread->least), show_time(spread->median), show_time(spread->p99),
		       show_time(spread->most), show_text(each[i].name, all ? 1000 : NAME_WIDTH));
	}
	if (shown < count)
		printf("  and %zu more (--all)\n", count - shown);
}

static void name_track(const struct each_track *row, char *ret, size_t room)
{
	if (row->track == NULL)
		snprintf(ret, room, "device %s", show_count(row->device));
	else if (row->device >= 0)
		snprintf(ret, room, "stream %s, context %s", show_count(row->track->stream),
			 show_count(row->track->context));
	else if (row->track->tid >= 0)
		snprintf(ret, room, "thread %lld", (long long)row->track->tid);
	else
		snprintf(ret, room, "%s", show_several(row->track->threads, "thread", "threads"));
}

static void show_tracks(struct profile *profile, bool all)
{
	size_t count, shown;
	const struct each_track *rows = each_tracks(profile, &count);

	shown = all || count < ROWS ? count : ROWS;
	printf("\nTRACKS\n  %-21s %8s %9s %8s %9s %9s  %s\n", "Track", "Busy", "Kernels", "Copies",
	       "Bytes", "In copies", "Waits");
	for (size_t i = 0; i < shown; i++) {
		const struct each_track *row = &rows[i];
		char name[SHOW_BYTES(40)];

		name_track(row, name, sizeof(name));
		printf("  %-21s %8s %9s %8s %9s %9s", name,
		       show_share(row->busy_ns, profile->wall_ns),
		       row->device >= 0 ? show_count(row->kernels) : "-", show_count(row->copies),
		       show_bytes(row->copied_bytes), show_time(row->copies_ns));
		if (row->waits > 0)
			printf("  %s, %s", show_count(row->waits), show_time(row->waits_ns));
		putchar('\n');
	}
	if (shown < count)
		printf("  and %zu more (--all)\n", count - shown);
}

void report_timeline(struct profile *profile, bool all)
{
	if (!profile->events.known || profile->events.row_count == 0)
		return;
	show_each(profile, all);
	show_tracks(profile, all);
	if (profile->events.dropped > 0)
		printf("  %s not recorded: those shorter than %s\n",
		       show_several(profile->events.dropped, "event was", "events were"),
		       show_time(profile->events.shortest_ns));
}
