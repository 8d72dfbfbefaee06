/*
 * profile_frames.c - reads native frames, whose names names_resolve() finds, Python frames, whose
 * names are in the profile, and the names of native frames that `hotpin resolve` stored.
 */
#include "profile_read.h"
#include "base/parse.h"

#include <stdio.h>
#include <string.h>

#define PYTHON_MOST 3

/* A Python place in the profile. */
struct source {
	const char *file, *function;
	int64_t line;
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/*
 * Shortens "py::step:/home/me/train.py", as CPython's perf map has it under -X perf, to "step in
 * train.py".
 */
static void shorten_perf_name(struct profile *profile, struct profile_frame *frame)
{
	const char *name = frame->function, *colon;

	if (name == NULL || strncmp(name, "py::", 4) != 0 ||
	    (colon = strchr(name + 4, ':')) == NULL)
		return;
	size_t room = strlen(name);
	char *shown = profile_allocate(profile, room, 1);
	snprintf(shown, room, "%.*s in %s", (int)(colon - name) - 4, name + 4,
		 last_part(colon + 1));
	frame->function = shown;
}

void profile_read_frame(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		NUMBER_OF(profile_frame, module),
		NUMBER_OF(profile_frame, offset),
		{ "name", TEXT, offsetof(struct profile_frame, function) },
		{ "guessed", FLAG, offsetof(struct profile_frame, guessed) },
	};
	struct profile_frame *frame = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), frame);
	if (frame->module >= (int64_t)reader->profile->module_count)
		reader_complain(reader, "%smodule: there is no module %lld", reader->where,
				(long long)frame->module);
	if (frame->module < 0)
		shorten_perf_name(reader->profile, frame);
}

static void read_source(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		TEXT_OF(source, file),
		TEXT_OF(source, function),
		NUMBER_OF(source, line),
	};
	struct source *source = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), source);
	if (source->file == NULL || source->function == NULL || source->line < 1 ||
	    source->line > INT32_MAX)
		reader_complain(reader, "%sfile, function or line is missing", reader->where);
}

static struct profile_frame frame_of(struct profile *profile, const struct source *source)
{
	const char *name = last_part(source->file);
	size_t room = strlen(name) + 16;
	char *line = profile_allocate(profile, room, 1);

	snprintf(line, room, "%s:%lld", name, (long long)source->line);
	return (struct profile_frame){ .module = UNKNOWN,
				       .offset = UNKNOWN,
				       .function = source->function,
				       .line = line,
				       .path = source->file,
				       .number = source->line,
				       .is_python = true };
}

/* Returns the functions that are inlined at a named place; NULL: none. */
static const struct profile_frames *read_inlined(struct reader *reader, json_t *value)
{
	struct profile_frames *inlined;
	size_t count;
	const struct source *sources =
		reader_list(reader, value, "inlined", sizeof(*sources), read_source, &count);

	if (count == 0 || reader->wrong[0] != '\0')
		return NULL;
	/* Many frames may share this list, and each is shown with it. */
	count = count < PROFILE_FRAMES_MOST ? count : PROFILE_FRAMES_MOST;
	inlined = profile_allocate(reader->profile, 1, sizeof(*inlined));
	inlined->items = profile_allocate(reader->profile, count, sizeof(*inlined->items));
	for (; inlined->count < count; inlined->count++) {
		struct profile_frame *frame = &inlined->items[inlined->count];

		*frame = frame_of(reader->profile, &sources[inlined->count]);
		frame->is_python = false;
	}
	return inlined;
}

void profile_read_name(struct reader *reader, json_t *value, void *to)
{
	struct name {
		int64_t module, offset;
		struct source source;
	} name;
	static const struct reader_field fields[] = {
		NUMBER_OF(name, module),
		NUMBER_OF(name, offset),
		{ "file", TEXT, offsetof(struct name, source.file) },
		{ "function", TEXT, offsetof(struct name, source.function) },
		{ "line", NUMBER, offsetof(struct name, source.line) },
	};
	struct profile_frame *frame = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), &name);
	if (name.module < 0 || name.module >= (int64_t)reader->profile->module_count ||
	    name.offset < 0)
		reader_complain(reader, "%smodule or offset is missing or wrong", reader->where);
	if (name.source.file != NULL && name.source.line > 0 && name.source.line <= INT32_MAX)
		*frame = frame_of(reader->profile, &name.source);
	frame->module = name.module;
	frame->offset = name.offset;
	frame->function = name.source.function;
	frame->is_python = false;
	frame->inlined = read_inlined(reader, value);
}

void profile_read_frames(struct reader *reader, json_t *value, struct profile_frames *ret)
{
	size_t natives, sources;
	const struct profile_frame *native =
		reader_list(reader, value, "frames", sizeof(*native), profile_read_frame, &natives);
	const struct source *source =
		reader_list(reader, value, "python", sizeof(*source), read_source, &sources);

	if (reader->wrong[0] != '\0')
		return;
	sources = sources < PYTHON_MOST ? sources : PYTHON_MOST;
	if (natives > PROFILE_FRAMES_MOST - sources)
		natives = PROFILE_FRAMES_MOST - sources;
	ret->count = sources + natives;
	ret->items = profile_allocate(reader->profile, ret->count, sizeof(*ret->items));
	for (size_t i = 0; i < sources; i++)
		ret->items[i] = frame_of(reader->profile, &source[i]);
	if (natives > 0)
		memcpy(ret->items + sources, native, natives * sizeof(*native));
}
