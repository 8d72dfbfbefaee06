/*
 * profile.c - reads a profile's file into a checked struct.
 *
 * The first error in a file is reported here.
 */
#include "profile/profile.h"
#include "system/messages.h"
#include "system/progress.h"
#include "profile/reader.h"
#include "base/parse.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The records of a profile take up to four times as much memory as its text. */
#define HELD_LEAST ((uint64_t)16 << 20)
#define HELD_TIMES 8

#define BYTES_MOST ((size_t)PROFILE_MIB_MOST << 20)
#define PART_BYTES ((size_t)1 << 20) /* read between two signs of progress */

struct profile_memory {
	struct profile_memory *next;
	max_align_t items[];
};

static _Noreturn void end_without_memory(void)
{
	progress_clear();
	hotpin_say("not enough memory for the profile; read it on a machine with more memory");
	exit(EXIT_FAILURE);
}

void *profile_allocate(struct profile *profile, size_t count, size_t size)
{
	size_t bytes;
	struct profile_memory *memory = NULL;

	if (!__builtin_mul_overflow(count, size, &bytes) &&
	    !__builtin_add_overflow(bytes, sizeof(*memory), &bytes))
		memory = calloc(1, bytes);
	if (memory == NULL)
		end_without_memory();
	memory->next = profile->memory;
	profile->memory = memory;
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

/* Checks that the text is a profile of a known format; if not, other errors do not matter. */
static void check_schema(struct reader *reader)
{
	const char *name = reader->profile->schema, *version = reader->profile->schema_version;
	char shown[64];

	if (reader->is_broken)
		return;
	if (name == NULL || strcmp(name, "hotpin.profile") != 0)
		snprintf(reader->wrong, sizeof(reader->wrong),
			 "it is not a hotpin profile, but other JSON" PROFILE_NAME_ONE);
	else if (version == NULL || strncmp(version, "2.", 2) != 0)
		snprintf(
			reader->wrong, sizeof(reader->wrong),
			"its format is %s, but this hotpin reads 2.x; use the hotpin that wrote it",
			version != NULL ? units_escape(shown, sizeof(shown), version, 16)
					: "not named");
}

/* Returns the content of an open file of `all` bytes (0: not known), or NULL and the error. */
static char *read_all(int file, const char *path, size_t all, size_t *ret_length, int *ret_error)
{
	size_t length = 0, room = 0;
	char what[256], *text = NULL;
	ssize_t got;

	snprintf(what, sizeof(what), "reading %s", path);
	*ret_error = 0;
	do {
		if (length == room) {
			/* One byte more, so that the end of the file is found. */
			room = room == 0 && all < BYTES_MOST ? all + 1 : 2 * room + PART_BYTES;
			text = realloc(text, room);
			if (text == NULL)
				end_without_memory();
		}
		got = read(file, text + length,
			   room - length < PART_BYTES ? room - length : PART_BYTES);
		if (got < 0 && errno != EINTR)
			*ret_error = errno;
		length += got > 0 ? (size_t)got : 0;
		if (length > BYTES_MOST)
			*ret_error = EFBIG;
		progress_show(what, length, all);
	} while (got != 0 && *ret_error == 0);
	progress_clear();
	*ret_length = length;
	if (*ret_error == 0)
		return text;
	free(text);
	return NULL;
}

/* Returns the file's text, or NULL with the reason in `wrong`. */
static char *load(struct profile *profile, size_t *ret_length, char *wrong, size_t room)
{
	int file = open(profile->path, O_RDONLY | O_CLOEXEC | O_NOCTTY), error = errno;
	struct stat status;
	char *text = NULL;

	if (file >= 0 && fstat(file, &status) == 0) {
		profile->is_own = status.st_uid == geteuid();
		text = read_all(file, profile->path,
				S_ISREG(status.st_mode) ? (size_t)status.st_size : 0, ret_length,
				&error);
	}
	if (file >= 0)
		close(file);
	if (text != NULL)
		return text;
	if (error == EFBIG)
		snprintf(wrong, room, "it is larger than %d MiB", PROFILE_MIB_MOST);
	else
		snprintf(wrong, room, "%s%s", strerror(error),
			 error == ENOENT   ? PROFILE_NAME_ONE
			 : error == EISDIR ? "; name a file in it"
					   : "");
	return NULL;
}

/* Reads the text into the profile, which keeps its path. */
static void parse(struct reader *reader, const char *text, size_t length)
{
	struct profile *profile = reader->profile;
	const char *path = profile->path;
	bool is_own = profile->is_own;

	reader->text = reader->at = text;
	reader->end = text + length;
	reader->held_most = HELD_LEAST + HELD_TIMES * length;
	reader_read(reader, profile_id, profile);
	profile->path = path;
	profile->is_own = is_own;
	check_schema(reader);
}

int profile_open(const char *path, struct profile *ret)
{
	struct reader reader = { .profile = ret };
	char name[256], wrong[512];
	size_t length = 0;

	memset(ret, 0, sizeof(*ret));
	ret->path = path;
	char *text = load(ret, &length, reader.wrong, sizeof(reader.wrong));
	if (text != NULL && length == 0)
		snprintf(reader.wrong, sizeof(reader.wrong), "it is empty" PROFILE_NAME_ONE);
	else if (text != NULL)
		parse(&reader, text, length);
	free(text);
	if (reader.wrong[0] == '\0')
		return 0;
	/* The reason may quote the file, so it is escaped. */
	hotpin_say("cannot read %s: %s", units_escape(name, sizeof(name), path, 200),
		   units_escape(wrong, sizeof(wrong), reader.wrong, 300));
	profile_close(ret);
	return -EINVAL;
}

struct profile *profile_open_all(char *const *paths, size_t count)
{
	struct profile *profiles = calloc(count, sizeof(*profiles));
	size_t opened = 0;

	while (profiles != NULL && opened < count &&
	       profile_open(paths[opened], &profiles[opened]) == 0)
		opened++;
	if (opened == count)
		return profiles;
	profile_close_all(profiles, opened);
	return NULL;
}

void profile_close_all(struct profile *profiles, size_t count)
{
	for (size_t i = 0; profiles != NULL && i < count; i++)
		profile_close(&profiles[i]);
	free(profiles);
}

int profile_by_place(const void *left, const void *right)
{
	const struct profile_frame *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

const char *profile_copy(struct profile *profile, const char *text)
{
	return strcpy(profile_allocate(profile, strlen(text) + 1, 1), text);
}

int64_t profile_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (a < 0 || b < 0)
		return UNKNOWN;
	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
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

struct profile_sum profile_moved(const struct profile *profile, const char *direction)
{
	const char *view = profile_view(profile);
	bool device = strcmp(view, "cupti") == 0;
	struct profile_sum sum = { 0, 0, 0 };

	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, view) != 0 || strcmp(row->direction, direction) != 0)
			continue;
		sum.count = profile_add(sum.count, row->count);
		sum.bytes = profile_add(sum.bytes, row->bytes);
		sum.host_ns = profile_add(sum.host_ns, device ? row->busy_ns : row->host_ns);
	}
	return sum;
}
