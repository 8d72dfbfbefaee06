/*
 * names_resolve.c - finds symbols, lines and demangled names of profiles.
 *
 * A profile may contain names, and name files, that exhaust or crash the libraries that read them.
 * So a child with limits answers all questions in their order.  If it dies, that question has no
 * answer, and another child goes on with the next one.  Names that are not found stay as they are.
 */
#include "names.h"
#include "child.h"
#include "debuginfod.h"
#include "names_places.h"
#include "progress.h"
#include "symbolize.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_NAME     "(no name)" /* of a kernel */
#define DEATHS_MOST 4
#define CHILD_MIB   4096
#define TEXTS_MOST  ((size_t)256 << 20) /* bytes of the names of all files */

/* Places of one file, or a name. */
struct question {
	const struct place *places; /* NULL: a name */
	size_t count;
	bool lacks_lines;  /* of a program of the user's or root's, in a profile of the user */
	const char *debug; /* a debug file from debuginfod, or NULL */
	const char **name; /* mangled, in a field of a profile */
};

struct questions {
	struct profile *owner; /* of the texts */
	struct question *items;
	size_t count, done;
};

static int compare_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

/* Returns 0 for the same file, as far as the profiles identify it. */
static int compare_files(const struct place *a, const struct place *b)
{
	if (a->file == NULL || b->file == NULL)
		return (a->file != NULL) - (b->file != NULL);
	int order = strcmp(a->file->path, b->file->path);
	if (order == 0)
		order = compare_text(a->file->build_id, b->file->build_id);
	return order != 0 ? order : (a->ended > b->ended) - (a->ended < b->ended);
}

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int order = compare_files(a, b);

	return order != 0 ? order
			  : (a->frame->offset > b->frame->offset) -
				    (a->frame->offset < b->frame->offset);
}

/*
 * A file with the build id of the one that ran is preferred to stored names, since it may tell
 * more.  Without a build id it may still be another one, so stored names are preferred.
 */
static bool prefers_stored(const struct place *place)
{
	return place->file->build_id == NULL &&
	       names_are_stored(place->profile, place->frame->module);
}

static bool is_same_place(const struct place *a, const struct place *b)
{
	return a->frame->offset == b->frame->offset;
}

/* Each offset is asked once. */
static void ask_file(const struct question *question)
{
	const struct place *places = question->places;
	uint64_t *addresses = calloc(question->count, sizeof(*addresses));
	struct symbolize_file file = { .path = places->file->path,
				       .build_id = places->file->build_id,
				       .ended = places->ended,
				       .debug = question->debug,
				       .addresses = addresses };

	if (addresses == NULL)
		_exit(1);
	for (size_t i = 0; i < question->count; i++)
		if (i == 0 || !is_same_place(&places[i], &places[i - 1]))
			addresses[file.count++] = (uint64_t)places[i].frame->offset;
	symbolize_file(&file, stdout);
	free(addresses);
}

static void ask_all(void *arg)
{
	const struct questions *questions = arg;

	symbolize_start();
	for (size_t i = questions->done; i < questions->count; i++) {
		if (questions->items[i].places != NULL)
			ask_file(&questions->items[i]);
		else
			symbolize_name(*questions->items[i].name, stdout);
		fflush(stdout);
	}
}

/* Returns a copy of a text; NULL: such texts take too much memory. */
static const char *copy(struct profile *owner, const char *text)
{
	size_t bytes = strlen(text) + 1;

	if (bytes > TEXTS_MOST - owner->name_bytes)
		return NULL;
	owner->name_bytes += bytes;
	return profile_copy(owner, text);
}

static bool is_mangled(const char *name)
{
	return name != NULL && strncmp(name, "_Z", 2) == 0;
}

/* Returns the part of a mangled name that is readable without libstdc++. */
static const char *shorten(struct profile *owner, const char *mangled)
{
	char short_name[512];

	if (strlen(mangled) >= sizeof(short_name))
		return mangled;
	return profile_copy(owner, units_kernel_name(short_name, sizeof(short_name), mangled));
}

/* Reads a text up to its zero byte; false if it was cut off. */
static bool read_text(FILE *from, char ret[SYMBOLIZE_TEXT])
{
	size_t length = 0;
	int byte;

	while ((byte = fgetc(from)) != EOF && length < SYMBOLIZE_TEXT) {
		ret[length++] = (char)byte;
		if (byte == '\0')
			return true;
	}
	return false;
}

/* Reads one function of an answer: its name, path and line. */
static bool read_function(struct profile *owner, FILE *from, struct profile_frame *ret)
{
	char function[SYMBOLIZE_TEXT], path[SYMBOLIZE_TEXT], number[SYMBOLIZE_TEXT];
	char line[SYMBOLIZE_TEXT + 24];

	if (!read_text(from, function) || !read_text(from, path) || !read_text(from, number))
		return false;
	ret->function = function[0] == '\0'    ? NULL
			: is_mangled(function) ? shorten(owner, copy(owner, function))
					       : copy(owner, function);
	if (path[0] == '\0')
		return true;
	const char *slash = strrchr(path, '/');
	ret->number = strtol(number, NULL, 10);
	snprintf(line, sizeof(line), "%s:%lld", slash != NULL ? slash + 1 : path,
		 (long long)ret->number);
	ret->line = copy(owner, line);
	ret->path = ret->line != NULL ? copy(owner, path) : NULL;
	ret->line = ret->path != NULL ? ret->line : NULL;
	return true;
}

/* Reads the functions at one place; of too many inlined ones, the outer ones are left out. */
static bool read_place(struct profile *owner, FILE *from, bool verified,
		       struct profile_frame *frame)
{
	struct profile_frame inlined[PROFILE_FRAMES_MOST], found = *frame;
	struct profile_frames *list = NULL;
	size_t count = 0;
	char mark[2];

	do {
		struct profile_frame one = { .is_verified = verified };

		if (fread(mark, 1, sizeof(mark), from) != sizeof(mark) ||
		    !read_function(owner, from, &one))
			return false;
		if (mark[0] != '+')
			found = one;
		else if (count < PROFILE_FRAMES_MOST && one.function != NULL && one.line != NULL)
			inlined[count++] = one;
	} while (mark[0] == '+');
	if (count > 0) {
		list = profile_allocate(owner, 1, sizeof(*list));
		list->items = profile_allocate(owner, count, sizeof(*list->items));
		list->count = count;
		memcpy(list->items, inlined, count * sizeof(*inlined));
	}
	found.inlined = list;
	if (found.function != NULL)
		frame->function = found.function;
	names_copy_line(frame, &found);
	return true;
}

/* Keeps what is known of the file.  Only that of the program is reported, not system libraries. */
static void note_file(const struct question *question, int error, enum symbolize_match match,
		      bool is_public, int64_t modified)
{
	const char *path = question->places->file->path;
	bool system = names_is_system_module(path);

	for (size_t i = 0; i < question->count; i++) {
		const struct place *place = &question->places[i];
		struct profile *profile = place->profile;
		struct profile_module *module = place->file;

		module->error = error;
		module->modified = error != 0 ? UNKNOWN : modified;
		module->differs = match == SYMBOLIZE_OTHER;
		module->is_public = match == SYMBOLIZE_VERIFIED || is_public;
		if (system || names_are_stored(profile, place->frame->module))
			continue;
		if (module->differs && profile->other_build == NULL)
			profile->other_build = path;
		if (error == ENOENT && profile->missing == NULL)
			profile->missing = path;
	}
}

static bool read_file(struct profile *owner, FILE *from, struct question *question)
{
	int error, match, is_public, is_trusted, has_lines;
	long long modified;

	if (fscanf(from, "%d %d %d %lld %d %d", &error, &match, &is_public, &modified, &is_trusted,
		   &has_lines) != 6 ||
	    fgetc(from) != '\n')
		return false;
	note_file(question, error, (enum symbolize_match)match, is_public, modified);
	if (match < SYMBOLIZE_LIKELY)
		return true;
	question->lacks_lines = match == SYMBOLIZE_VERIFIED && is_trusted && !has_lines;
	for (size_t i = 0; i < question->count; i++) {
		const struct place *place = &question->places[i];

		question->lacks_lines &= place->profile->is_own;
		if (i == 0 || !is_same_place(place, &place[-1])) {
			if (!read_place(owner, from, match == SYMBOLIZE_VERIFIED && is_trusted,
					place->frame))
				return false;
		} else {
			place->frame->function = place[-1].frame->function;
			names_copy_line(place->frame, place[-1].frame);
		}
	}
	return true;
}

static bool read_name(struct profile *owner, FILE *from, const char **name)
{
	char text[SYMBOLIZE_TEXT];

	if (!read_text(from, text))
		return false;
	const char *readable = text[0] != '\0' ? copy(owner, text) : NULL;
	if (readable != NULL)
		*name = readable;
	return true;
}

static void answer_all(struct questions *questions)
{
	for (int deaths = 0; questions->done < questions->count && deaths < DEATHS_MOST; deaths++) {
		struct child child;
		bool answered = child_start(&child, CHILD_MIB, ask_all, questions);

		if (!answered)
			deaths = DEATHS_MOST;
		while (answered && questions->done < questions->count) {
			struct question *question = &questions->items[questions->done++];

			progress_show("finding names", questions->done, questions->count);
			answered = question->places != NULL
					   ? read_file(questions->owner, child.answers, question)
					   : read_name(questions->owner, child.answers,
						       question->name);
		}
		child_end(&child);
	}
}

/* Answers again for programs whose lines a server has, except for system libraries. */
static void answer_by_servers(const struct questions *questions)
{
	struct questions again = { .owner = questions->owner };

	again.items = profile_allocate(again.owner, questions->count, sizeof(*again.items));
	for (size_t i = 0; i < questions->count; i++) {
		struct question question = questions->items[i];

		if (!question.lacks_lines || names_is_system_module(question.places->file->path))
			continue;
		question.debug = debuginfod_find(question.places->file->build_id);
		if (question.debug != NULL)
			again.items[again.count++] = question;
	}
	answer_all(&again);
}

/* Asks for the places of each file, which is opened once. */
static void add_files(struct questions *to, const struct place_list *all)
{
	for (size_t from = 0, next; from < all->count; from = next) {
		const struct place *first = &all->items[from];

		for (next = from + 1;
		     next < all->count && compare_files(first, &all->items[next]) == 0;)
			next++;
		if (first->file != NULL && !prefers_stored(first))
			to->items[to->count++] =
				(struct question){ .places = first, .count = next - from };
	}
}

static void add_name(struct questions *to, const char **name)
{
	if (is_mangled(*name) && strlen(*name) < SYMBOLIZE_TEXT)
		to->items[to->count++] = (struct question){ .name = name };
}

static void add_names(struct questions *to, struct profile *profile)
{
	for (size_t i = 0; i < profile->kernel_count; i++) {
		struct profile_kernel *kernel = &profile->kernels[i];

		kernel->readable = kernel->name != NULL ? kernel->name : NO_NAME;
		add_name(to, &kernel->readable);
	}
	for (size_t i = 0; i < profile->events.name_count; i++) {
		add_name(to, &profile->events.names[i]);
		if (profile->events.names[i][0] == '\0')
			profile->events.names[i] = NO_NAME;
	}
}

void names_find(struct profile *profiles, size_t count, bool places)
{
	struct place_list all = names_places(profiles, count);
	struct questions questions = { .owner = profiles };
	size_t most = all.count;

	/* A return address is after its call, possibly in the next line. */
	for (size_t i = 0; i < all.count; i++)
		all.items[i].frame->offset -=
			all.items[i].is_return && all.items[i].frame->offset > 0;
	qsort(all.items, all.count, sizeof(*all.items), compare_places);
	for (size_t i = 0; i < count; i++)
		most += profiles[i].kernel_count + profiles[i].events.name_count;
	questions.items = profile_allocate(profiles, most, sizeof(*questions.items));
	if (places)
		add_files(&questions, &all);
	for (size_t i = 0; i < count; i++)
		add_names(&questions, &profiles[i]);
	answer_all(&questions);
	answer_by_servers(&questions);
	for (size_t i = 0; i < questions.count; i++)
		if (questions.items[i].places == NULL && is_mangled(*questions.items[i].name))
			*questions.items[i].name = shorten(profiles, *questions.items[i].name);
	for (size_t i = 0; places && i < all.count; i++)
		names_recall(&all.items[i]);
	progress_clear();
}

void names_resolve(struct profile *profiles, size_t count, bool places)
{
	names_find(profiles, count, places);
	names_unfold(profiles, count);
}
