/*
 * profile_check.c - completes the records that reader.c has read, and checks what their table does
 * not say.
 *
 * The file may be of another user's program.  Numbers are limited so that their sums cannot
 * overflow.
 */
#include "profile/reader.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

#define PYTHON_MOST 3

static void check_split(struct profile_split *split)
{
	if (split->host_ns < 0 || split->startup_ns < 0 || split->calls_ns < 0 ||
	    split->transfer_ns < 0 || split->kernel_ns < 0 || split->overlap_ns < 0)
		profile_forget(profile_split_id, split);
}

static void check_bin(struct reader *reader, const struct profile_bin *bin)
{
	for (size_t i = 0; i < ACTIVITY_COLUMNS; i++)
		if (bin->column[i] > INT64_MAX / 4096)
			reader_complain(reader, "is out of range");
}

/* Notes the index to which the detail of an event of this kind refers. */
static void note_detail(struct reader *reader, const struct profile_event *event)
{
	size_t count_at = offsetof(struct profile, buffer_count);

	if (event->kind == PROFILE_KERNEL)
		count_at = offsetof(struct profile, events.shape_count);
	else if (event->kind == PROFILE_SAMPLE)
		count_at = offsetof(struct profile, events.place_count);
	reader_note_index(reader, count_at, event->detail);
}

static void check_event(struct reader *reader, const struct profile_event *event)
{
	if (event->kind < 0 || event->track < 0 || event->start_ns < 0 || event->duration_ns < 0)
		reader_complain(reader, "lacks its kind, track or time");
	/* Their sums must not overflow. */
	if (event->start_ns > INT64_MAX / 4 || event->duration_ns > INT64_MAX / 4 ||
	    event->call_ns > INT64_MAX / 4)
		reader_complain(reader, "is out of range");
	note_detail(reader, event);
}

static void check_source(struct reader *reader, const struct profile_source *source)
{
	if (source->line < 1 || source->line > INT32_MAX)
		reader_complain(reader, "has a line that is out of range");
}

struct profile_frame profile_frame_of(const struct profile_source *source)
{
	const char *name = basename(source->file);

	return (struct profile_frame){ .module = UNKNOWN,
				       .offset = UNKNOWN,
				       .function = source->function,
				       .line = text_made("%s:%lld", name, (long long)source->line),
				       .path = source->file,
				       .number = source->line,
				       .is_python = true };
}

/* Python frames come first, as the innermost ones: the native frames ran on their behalf. */
static void join_frames(struct reader *reader, const struct profile_source *python, size_t count,
			struct profile_frames *frames)
{
	struct profile_frames joined = { .count = count < PYTHON_MOST ? count : PYTHON_MOST };
	size_t natives = PROFILE_FRAMES_MOST - joined.count;

	natives = frames->count < natives ? frames->count : natives;
	joined.items = reader_allocate(reader, joined.count + natives, sizeof(*joined.items));
	if (joined.items == NULL)
		return;
	for (size_t i = 0; i < joined.count; i++)
		joined.items[i] = profile_frame_of(&python[i]);
	if (natives > 0)
		memcpy(joined.items + joined.count, frames->items, natives * sizeof(*joined.items));
	joined.count += natives;
	*frames = joined;
}

/* Completes the call stacks of a record. */
static void check_frames(struct reader *reader, enum profile_record_id id, char *record)
{
	const struct profile_table table = profile_table(id);

	if (reader->wrong != NULL)
		return;
	for (const struct profile_field *field = table.fields; field < table.fields + table.count;
	     field++) {
		size_t *count = (size_t *)(record + field->count);

		if (field->kind == FIELD_FRAMES && *count > PROFILE_FRAMES_MOST)
			*count = PROFILE_FRAMES_MOST;
		if (field->kind == FIELD_PYTHON && *count > 0)
			join_frames(reader, *(struct profile_source **)(record + field->at), *count,
				    (struct profile_frames *)(record + field->other));
	}
}

/* A place of the timeline is one frame; it becomes a list of one. */
static void check_events(struct reader *reader, struct profile_events *events)
{
	struct profile_frame *frames =
		reader_allocate(reader, events->place_count, sizeof(*frames));

	for (size_t i = 0; i < events->place_count && !reader->is_broken; i++) {
		struct profile_event_place *place = &events->places[i];

		frames[i] =
			(struct profile_frame){ .module = place->module, .offset = place->offset };
		place->frames = (struct profile_frames){ &frames[i], 1 };
		if (place->caller >= (int64_t)i)
			reader_complain(reader, "has a place whose caller comes later: %zu", i);
	}
	if (events->rows == NULL)
		reader_complain(reader, "has no rows");
}

static void check_profile(struct reader *reader, struct profile *profile)
{
	if (reader->wrong != NULL)
		return;
	if (profile->wall_ns < 0 || profile->process.program == NULL)
		reader_complain(reader, "lacks wall_ns or process.program");
	for (size_t i = 0; i < profile->module_count; i++)
		if (profile->modules[i].path == NULL)
			profile->modules[i].path = "";
}

void profile_check(struct reader *reader, enum profile_record_id id, void *record)
{
	switch (id) {
	case profile_split_id:
		check_split(record);
		break;
	case profile_bin_id:
		check_bin(reader, record);
		break;
	case profile_frame_id:
		((struct profile_frame *)record)->function = ((struct profile_frame *)record)->name;
		break;
	case profile_source_id:
		check_source(reader, record);
		break;
	case profile_event_id:
		check_event(reader, record);
		break;
	case profile_repeats_id:
		((struct profile_repeats *)record)->known = true;
		break;
	case profile_events_id:
		((struct profile_events *)record)->known = true;
		check_events(reader, record);
		break;
	case profile_id:
		check_profile(reader, record);
		break;
	default:
		check_frames(reader, id, record);
	}
}
