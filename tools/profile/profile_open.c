/*
 * profile_open.c - reads a profile's file, and reports the first error in it.
 */
#include "profile/profile_open.h"
#include "system/messages.h"
#include "profile/reader.h"
#include "profile/texts.h"

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
#define PART_BYTES ((size_t)1 << 20)

/* Checks that the text is a profile of a known format; if not, other errors do not matter. */
static void check_schema(struct reader *reader)
{
	const char *name = reader->profile->schema, *version = reader->profile->schema_version;

	if (reader->is_broken)
		return;
	if (name == NULL || strcmp(name, "hotpin.profile") != 0)
		reader->wrong = "it is not a hotpin profile, but other JSON" PROFILE_NAME_ONE;
	else if (version == NULL || strncmp(version, "2.", 2) != 0)
		reader->wrong = text_made(
			"its format is %s, but this hotpin reads 2.x; use the hotpin that wrote it",
			version != NULL ? text_name(version, 16) : "not named");
}

char *profile_read_all(int file, size_t all, size_t *ret_length, int *ret_error)
{
	size_t length = 0, room = 0;
	char *text = NULL;
	ssize_t got;

	*ret_error = 0;
	do {
		if (length == room) {
			/* One byte more, so that the end of the file is found. */
			room = room == 0 && all < BYTES_MOST ? all + 1 : 2 * room + PART_BYTES;
			text = realloc(text, room);
			if (text == NULL)
				profile_end_without_memory();
		}
		got = read(file, text + length, room - length);
		if (got < 0 && errno != EINTR)
			*ret_error = errno;
		length += got > 0 ? (size_t)got : 0;
		if (length > BYTES_MOST)
			*ret_error = EFBIG;
	} while (got != 0 && *ret_error == 0);
	*ret_length = length;
	if (*ret_error == 0)
		return text;
	free(text);
	return NULL;
}

/* Returns the file's text, or NULL with the reason in *ret_wrong. */
static char *load(struct profile *profile, size_t *ret_length, const char **ret_wrong)
{
	int file = open(profile->path, O_RDONLY | O_CLOEXEC | O_NOCTTY), error = errno;
	struct stat status;
	char *text = NULL;

	if (file >= 0 && fstat(file, &status) == 0) {
		profile->is_own = status.st_uid == geteuid();
		text = profile_read_all(file, S_ISREG(status.st_mode) ? (size_t)status.st_size : 0,
					ret_length, &error);
	}
	if (file >= 0)
		close(file);
	if (text != NULL)
		return text;
	if (error == EFBIG)
		*ret_wrong = text_made("it is larger than %d MiB", PROFILE_MIB_MOST);
	else
		*ret_wrong = text_made("%s%s", strerror(error),
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
	size_t length = 0;

	memset(ret, 0, sizeof(*ret));
	ret->path = path;
	char *text = load(ret, &length, &reader.wrong);
	if (text != NULL && length == 0)
		reader.wrong = "it is empty" PROFILE_NAME_ONE;
	else if (text != NULL)
		parse(&reader, text, length);
	free(text);
	if (reader.wrong == NULL)
		return 0;
	/* The reason may quote the file, so it is escaped. */
	hotpin_say("cannot read %s: %s", text_name(path, 200), text_name(reader.wrong, 300));
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
