/*
 * html_buffers.c - the buffers of a run: their uploads and downloads, and the host code in between.
 */
#include "html.h"
#include "advice_kinds.h"
#include "order.h"
#include "page.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void repeats(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<data", "copies", "bytes", "at call" };
	static const char *const names[] = { "same as last time",
					     "came from the device, unchanged by the host" };
	const struct profile_sum *sums[] = { &profile->repeats.duplicates,
					     &profile->repeats.ping_pong };

	if (!profile->repeats.known || (sums[0]->count <= 0 && sums[1]->count <= 0))
		return;
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < HP_LEN(sums); i++)
		if (sums[i]->count > 0)
			page_row(to, columns, HP_LEN(columns),
				 (const char *[]){ names[i], show_count(sums[i]->count),
						   show_bytes(sums[i]->bytes),
						   show_time(sums[i]->host_ns) });
	page_table_end(to);
}

static const char *const columns[] = {
	"<buffers, by who allocated them",
	"largest",
	"HtoD",
	"bytes",
	"DtoH",
	"bytes",
	"at call",
	"unchanged",
	"round trips",
	"<host code in between",
	"pins",
	"cost",
	"saved, about",
	"could save, about",
};

static void name_buffer(const struct profile *profile, const struct profile_buffer *buffer,
			char *ret, size_t room)
{
	bool is_static = strcmp(buffer->kind, "static") == 0;

	if (strcmp(buffer->kind, "other") == 0) {
		snprintf(ret, room, "memory that hotpin did not allocate");
		return;
	}
	snprintf(ret, room, "%s", is_static ? "static " : "");
	html_place(profile, &buffer->frames, true, ret + strlen(ret), room - strlen(ret));
}

/* Returns the number of copies whose bytes the device already had. */
static const char *unchanged(const struct profile *profile, size_t index)
{
	int64_t count = 0;

	if (!profile->repeats.known)
		return "n/a";
	for (size_t i = 0; i < profile->repeats.site_count; i++)
		if (profile->repeats.sites[i].buffer == (int64_t)index)
			count = profile_add(count, profile->repeats.sites[i].count);
	return show_count(count);
}

/* Writes "3.00 s: from the download at heat.c:49 to the upload at heat.c:43". */
static void name_between(const struct profile *profile, const struct profile_trips *trips,
			 char *ret, size_t room)
{
	const struct profile_gap *gap = advice_gap_of(profile, trips);
	char name[ADVICE_TEXT] = "";

	ret[0] = '\0';
	if (trips->count <= 0)
		return;
	if (gap != NULL)
		advice_name_gap(profile, gap, name, sizeof(name));
	snprintf(ret, room, "%s%s%s", show_time(trips->host_ns), gap != NULL ? ": " : "",
		 show_text(name, 200));
}

static const char *copied(const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		exit(EXIT_FAILURE);
	return copy;
}

static void buffer_cells(const struct profile *profile, const struct profile_buffer *buffer,
			 const char **ret)
{
	const struct profile_trips *trips = buffer->follows.count > buffer->round_trips.count
						    ? &buffer->follows
						    : &buffer->round_trips;
	char name[1024], between[1024];

	name_buffer(profile, buffer, name, sizeof(name));
	name_between(profile, trips, between, sizeof(between));
	const char *const cells[HP_LEN(columns)] = {
		name,
		show_bytes(buffer->largest_bytes),
		show_count(buffer->h2d.count),
		show_bytes(buffer->h2d.bytes),
		show_count(buffer->d2h.count),
		show_bytes(buffer->d2h.bytes),
		show_time(profile_add(buffer->h2d.host_ns, buffer->d2h.host_ns)),
		unchanged(profile, (size_t)(buffer - profile->buffers)),
		show_count(profile_add(buffer->round_trips.count, buffer->follows.count)),
		between,
		show_count(buffer->pins),
		show_time(buffer->pin_ns),
		show_time(buffer->saved_ns),
		show_time(buffer->could_save_ns),
	};
	for (size_t i = 0; i < HP_LEN(columns); i++)
		ret[i] = copied(cells[i]);
}

static void list(FILE *to, const struct profile *profile,
		 const struct profile_buffer *const *buffers, size_t count)
{
	size_t shown = count < PAGE_ROWS_MOST ? count : PAGE_ROWS_MOST;
	const char **cells = calloc(shown * HP_LEN(columns), sizeof(*cells));

	if (cells == NULL)
		exit(EXIT_FAILURE);
	for (size_t i = 0; i < shown; i++)
		buffer_cells(profile, buffers[i], &cells[i * HP_LEN(columns)]);
	page_list(to, columns, HP_LEN(columns), cells, shown, count);
	for (size_t i = 0; i < shown * HP_LEN(columns); i++)
		free((char *)cells[i]);
	free(cells);
}

void html_buffers(FILE *to, const struct profile *profile, bool opened)
{
	size_t count;
	const struct profile_buffer **sorted = order_copied_buffers(profile, &count);

	if (count > 0) {
		page_part(to, opened, "buffers");
		list(to, profile, sorted, count);
		if (profile_lacks_heap(profile))
			page_element(
				to, "p class=\"soft\"",
				"To distinguish buffers of malloc(): hotpin run --observe=buffers.");
		if (!profile->repeats.known)
			page_element(to, "p class=\"soft\"",
				     "HOTPIN_HASH=1 finds copies of unchanged data.");
		repeats(to, profile);
		page_part_end(to, opened);
	}
}
