/*
 * profile.c - reads a profile's file into a checked struct.
 *
 * The first error in a file is reported here.  Numbers are limited so that their sums cannot
 * overflow.
 */
#include "profile.h"
#include "hotpin.h"
#include "profile_read.h"
#include "progress.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Empty values take up to 80 times as much memory as text, those of a profile up to 25 times.
 */
#define HELD_LEAST ((uint64_t)16 << 20)
#define HELD_TIMES 32

#define NAME_ONE   "; name a file of `hotpin run -o FILE`"

struct profile_memory {
	struct profile_memory *next;
	max_align_t items[];
};

struct input {
	const char *what;
	int file;
	int error;
	bool ended; /* the whole file was read */
	uint64_t done, all;
	uint64_t held; /* by JSON values, when reading began */
};

/* The memory of all JSON values. */
static uint64_t held_bytes;

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
	json_decref(profile->json);
	memset(profile, 0, sizeof(*profile));
}

/* Checks that the file is a profile of a known format. */
static void check_schema(struct reader *reader, json_t *root)
{
	const char *name = json_string_value(json_object_get(root, "schema"));
	const char *version = json_string_value(json_object_get(root, "schema_version"));
	char shown[64];

	if (name == NULL || strcmp(name, "hotpin.profile") != 0)
		reader_complain(reader, "it is not a hotpin profile, but other JSON" NAME_ONE);
	else if (version == NULL || strncmp(version, "2.", 2) != 0)
		reader_complain(
			reader,
			"its format is %s, but this hotpin reads 2.x; use the hotpin that wrote it",
			version != NULL ? units_escape(shown, sizeof(shown), version, 16)
					: "not named");
}

static size_t fill(void *buffer, size_t room, void *arg)
{
	struct input *input = arg;
	ssize_t got;

	do
		got = read(input->file, buffer, room);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		input->error = errno;
		return (size_t)-1;
	}
	input->ended = got == 0;
	input->done += (uint64_t)got;
	if (input->done > (uint64_t)PROFILE_MIB_MOST << 20)
		input->error = EFBIG;
	else if (held_bytes - input->held > HELD_LEAST + HELD_TIMES * input->done)
		input->error = E2BIG;
	if (input->error != 0)
		return (size_t)-1;
	progress_show(input->what, input->done, input->all);
	return (size_t)got;
}

/* True if the file ends within a word like "null": it was cut, not damaged. */
static bool is_half_a_word(const json_error_t *error, uint64_t bytes)
{
	return strncmp(error->text, "invalid token", 13) == 0 && (uint64_t)error->position >= bytes;
}

/* Without memory, jansson 2.14 crashes or reports an invalid token. */
static void *take_memory(size_t bytes)
{
	void *memory = malloc(bytes);

	if (memory == NULL && bytes > 0)
		end_without_memory();
	held_bytes += malloc_usable_size(memory);
	return memory;
}

static void give_memory(void *memory)
{
	held_bytes -= malloc_usable_size(memory);
	free(memory);
}

/* Returns the file's JSON, or NULL with the reason in `wrong`.  *ret_own: the user owns the file.
 */
static json_t *load(const char *path, char *wrong, size_t room, bool *ret_own)
{
	struct input input = { 0 };
	struct stat status;
	json_error_t error;
	char shown[128], what[256];

	snprintf(what, sizeof(what), "reading %s", path);
	input.what = what;
	input.held = held_bytes;
	input.file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (input.file < 0 || fstat(input.file, &status) < 0) {
		snprintf(wrong, room, "%s%s", strerror(errno), errno == ENOENT ? NAME_ONE : "");
		if (input.file >= 0)
			close(input.file);
		return NULL;
	}
	*ret_own = status.st_uid == geteuid();
	if (S_ISREG(status.st_mode))
		input.all = (uint64_t)status.st_size;
	json_set_alloc_funcs(take_memory, give_memory);
	json_t *root = json_load_callback(fill, &input, JSON_REJECT_DUPLICATES, &error);
	close(input.file);
	progress_clear();
	if (root != NULL)
		return root;
	if (input.error == EFBIG)
		snprintf(wrong, room, "it is larger than %d MiB", PROFILE_MIB_MOST);
	else if (input.error == E2BIG)
		snprintf(wrong, room, "it needs more memory than any profile of its size");
	else if (input.error != 0)
		snprintf(wrong, room, "%s%s", strerror(input.error),
			 input.error == EISDIR ? "; name a file in it" : "");
	else if (input.done == 0)
		snprintf(wrong, room, "it is empty" NAME_ONE);
	else if (input.ended && (json_error_code(&error) == json_error_premature_end_of_input ||
				 is_half_a_word(&error, input.done)))
		snprintf(wrong, room,
			 "it ends early, in line %d: it was cut off; copy or record it again",
			 error.line);
	else
		snprintf(wrong, room, "it is not JSON: line %d: %s" NAME_ONE, error.line,
			 units_escape(shown, sizeof(shown), error.text, 100));
	return NULL;
}

int profile_open(const char *path, struct profile *ret)
{
	struct reader reader = { .profile = ret };
	char name[256], wrong[512];

	memset(ret, 0, sizeof(*ret));
	ret->path = path;
	json_t *root = load(path, reader.wrong, sizeof(reader.wrong), &ret->is_own);
	ret->json = root;
	if (root != NULL) {
		check_schema(&reader, root);
		if (reader.wrong[0] == '\0')
			profile_read_head(&reader, root);
		if (reader.wrong[0] == '\0')
			profile_read_lists(&reader, root);
		if (reader.wrong[0] == '\0' && (ret->wall_ns < 0 || ret->process.program == NULL))
			reader_complain(&reader, "wall_ns or process.program is missing");
	}
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
