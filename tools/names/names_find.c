/*
 * names_find.c - asks a child about each file, and fills in the names that it finds.
 *
 * A profile may contain names, and name files, that exhaust or crash the libraries that read them.
 * So a child with limits reads one file, or mangled names.  If it dies, the rest of the names of
 * that file, or of that profile, are not known.
 */
#include "names/names_find.h"
#include "system/child.h"
#include "names/debuginfod.h"
#include "names/names.h"
#include "profile/reader.h"
#include "profile/sorted_lists.h"
#include "names/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NO_NAME    "(no name)" /* of a kernel */
#define CHILD_MIB  4096
#define FOUND_MOST ((size_t)256 << 20) /* bytes of the names of all files */

/* A list of native frames; the first `exact` are addresses of instructions. */
struct list {
	struct profile_frames *frames;
	size_t exact;
};

/* Returns all lists of native frames; the last one is NULL. */
static struct list *lists_of(struct profile *profile)
{
	const struct profile_events *events = &profile->events;
	size_t most = profile->site_count + 2 * profile->gap_count + profile->launch_count +
		      profile->buffer_count + profile->sample_count + events->place_count;
	struct list *lists = profile_allocate(profile, most + 1, sizeof(*lists)), *to = lists;

	for (size_t i = 0; i < profile->site_count; i++)
		*to++ = (struct list){ &profile->sites[i].frames, 0 };
	for (size_t i = 0; i < profile->gap_count; i++) {
		*to++ = (struct list){ &profile->gaps[i].before.frames, 0 };
		*to++ = (struct list){ &profile->gaps[i].after.frames, 0 };
	}
	for (size_t i = 0; i < profile->launch_count; i++)
		*to++ = (struct list){ &profile->launches[i].frames, 0 };
	for (size_t i = 0; i < profile->buffer_count; i++) {
		bool is_static = strcmp(profile->buffers[i].kind, "static") == 0;

		*to++ = (struct list){ &profile->buffers[i].frames, is_static ? SIZE_MAX : 0 };
	}
	for (size_t i = 0; i < profile->sample_count; i++)
		*to++ = (struct list){ &profile->samples[i].frames, 1 };
	/* Of the timeline's places, callers hold return addresses. */
	for (size_t i = 0; i < events->place_count; i++)
		to[i] = (struct list){ &events->places[i].frames, 1 };
	for (size_t i = 0; i < events->place_count; i++)
		if (events->places[i].caller >= 0)
			to[events->places[i].caller].exact = 0;
	return lists;
}

static int by_place(const void *left, const void *right)
{
	const struct profile_name *a = left, *b = right;

	return sorted_numbers(a->module, b->module) ?: sorted_numbers(a->offset, b->offset);
}

/* Returns the entry of profile->names for that place; NULL: it is no place of the profile. */
static struct profile_name *name_at(const struct profile *profile, int64_t module, int64_t offset)
{
	struct profile_name key = { .module = module, .offset = offset };

	return profile->name_count == 0
		       ? NULL
		       : bsearch(&key, profile->names, profile->name_count, sizeof(key), by_place);
}

/* Adds the place of a frame to profile->names, which has room. */
static void add_place(struct profile *profile, struct profile_frame *frame, bool exact)
{
	/* A return address is after its call, possibly in the next line. */
	frame->offset -= !frame->is_python && !exact && frame->offset > 0;
	if (frame->module >= 0 && frame->offset >= 0)
		profile->names[profile->name_count++] = (struct profile_name){
			.module = frame->module, .offset = frame->offset, .line = UNKNOWN
		};
}

static void list_places(struct profile *profile)
{
	const struct list *lists = lists_of(profile);
	size_t count = 0;

	for (const struct list *list = lists; list->frames != NULL; list++)
		count += list->frames->count;
	profile->names = profile_allocate(profile, count, sizeof(*profile->names));
	profile->name_count = 0;
	for (const struct list *list = lists; list->frames != NULL; list++)
		for (size_t i = 0; i < list->frames->count; i++)
			add_place(profile, &list->frames->items[i], i < list->exact);
	qsort(profile->names, profile->name_count, sizeof(*profile->names), by_place);
	count = 0;
	for (size_t i = 0; i < profile->name_count; i++)
		if (count == 0 || by_place(&profile->names[count - 1], &profile->names[i]) != 0)
			profile->names[count++] = profile->names[i];
	profile->name_count = count;
}

/* Makes profile->names the list of all places.  They have the names that the file has. */
static void start_names(struct profile *profile)
{
	const struct profile_name *stored = profile->names;
	size_t count = profile->name_count;

	list_places(profile);
	for (size_t i = 0; i < count; i++) {
		struct profile_name *name = name_at(profile, stored[i].module, stored[i].offset);

		profile->modules[stored[i].module].has_names = true;
		if (name != NULL)
			*name = stored[i];
	}
}

static int64_t ended_at(const struct profile *profile)
{
	struct tm when = { 0 };

	if (profile->process.ended_utc == NULL ||
	    strptime(profile->process.ended_utc, "%Y%m%d-%H%M%S", &when) == NULL)
		return 0;
	return timegm(&when);
}

/* A place whose name is wanted. */
struct wanted {
	struct profile_module *file;
	struct profile *profile;
	struct profile_name *name;
	int64_t ended; /* end time of the process; 0 if a build ID identifies the file */
};

/* Appends the places of the profile whose files have a path; returns the end of the list. */
static struct wanted *add_wanted(struct profile *profile, struct wanted *to)
{
	int64_t ended = ended_at(profile);

	for (size_t i = 0; i < profile->name_count; i++) {
		struct profile_name *name = &profile->names[i];
		struct profile_module *file = &profile->modules[name->module];

		/* Without a build ID the file may be another one, so stored names are preferred. */
		if (file->path[0] == '/' && (file->build_id != NULL || !file->has_names))
			*to++ = (struct wanted){ file, profile, name,
						 file->build_id == NULL ? ended : 0 };
	}
	return to;
}

/* Returns 0 for the same file, as far as the profiles identify it. */
static int compare_files(const struct wanted *a, const struct wanted *b)
{
	const char *a_id = a->file->build_id, *b_id = b->file->build_id;

	return strcmp(a->file->path, b->file->path) ?: sorted_texts(a_id, b_id)
		?: sorted_numbers(a->ended, b->ended);
}

static int by_file(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

	return compare_files(a, b) ?: sorted_numbers(a->name->offset, b->name->offset);
}

/* Reads the child's next line into a record of the profile; false if there is none. */
static bool next_answer(struct child *child, struct profile *profile, uint64_t *held,
			enum profile_record_id id, void *ret)
{
	struct reader reader = { .profile = profile, .held = *held, .held_most = FOUND_MOST };
	char *line = NULL;
	size_t room = 0;
	ssize_t length = getline(&line, &room, child->answers);

	if (length > 0) {
		reader.text = reader.at = line;
		reader.end = line + length;
		reader_read(&reader, id, ret);
	}
	free(line);
	*held = reader.held;
	return length > 0 && reader.wrong == NULL;
}

/* The places of one file in all profiles, by offset. */
struct question {
	struct wanted *places;
	size_t count;
	uint64_t *held;    /* memory for the answers to all questions */
	const char *debug; /* a debug file from debuginfod, or NULL */
};

static bool is_first(const struct question *question, size_t i)
{
	return i == 0 || question->places[i].name->offset != question->places[i - 1].name->offset;
}

static void ask_file(void *arg)
{
	const struct question *question = arg;
	uint64_t *addresses = calloc(question->count, sizeof(*addresses));
	struct symbolize_file file = { .path = question->places->file->path,
				       .build_id = question->places->file->build_id,
				       .ended = question->places->ended,
				       .debug = question->debug,
				       .addresses = addresses };

	for (size_t i = 0; addresses != NULL && i < question->count; i++)
		if (is_first(question, i))
			addresses[file.count++] = (uint64_t)question->places[i].name->offset;
	symbolize_file(&file, stdout);
	free(addresses);
}

/* Keeps what is known of the file.  Only that of the program is reported, not system libraries. */
static void note_file(const struct question *question, const struct profile_found_file *found)
{
	bool system = names_is_system_module(question->places->file->path);

	for (size_t i = 0; i < question->count; i++) {
		struct profile *profile = question->places[i].profile;
		struct profile_module *module = question->places[i].file;

		module->error = (int)found->error;
		module->modified = found->modified;
		module->differs = found->differs;
		module->is_public = found->verified || found->public;
		if (system || module->has_names)
			continue;
		if (module->differs && profile->other_build == NULL)
			profile->other_build = module->path;
		if (found->error == ENOENT && profile->missing == NULL)
			profile->missing = module->path;
	}
}

/* The file that ran is preferred to stored names, unless only they have a line. */
static void note_name(struct profile_name *to, const struct profile_name *found)
{
	const struct profile_name before = *to;

	if (found->line < 0 && before.line >= 0)
		return;
	*to = *found;
	to->module = before.module;
	to->offset = before.offset;
}

/* Reads the names of a file, one for each offset. */
static void read_names(const struct question *question, struct child *child, bool verified)
{
	struct profile_name name;

	for (size_t i = 0; i < question->count; i++) {
		if (is_first(question, i) && !next_answer(child, question->places->profile,
							  question->held, profile_name_id, &name))
			return;
		name.is_verified = verified;
		note_name(question->places[i].name, &name);
	}
}

/* Returns true if the file is the one that ran, and has no lines. */
static bool answer_file(const struct question *question)
{
	struct profile_found_file found = { .has_lines = true };
	struct child child;
	bool verified = false;

	if (child_start(&child, CHILD_MIB, ask_file, (void *)question) &&
	    next_answer(&child, question->places->profile, question->held, profile_found_file_id,
			&found)) {
		verified = found.verified && found.trusted;
		note_file(question, &found);
		read_names(question, &child, verified);
	}
	child_end(&child);
	return verified && !found.has_lines;
}

/* A server is asked for the lines of a program only in a profile of the user. */
static void find_in_file(struct question *question)
{
	bool lacks_lines = answer_file(question);

	for (size_t i = 0; i < question->count; i++)
		lacks_lines &= question->places[i].profile->is_own;
	if (!lacks_lines || names_is_system_module(question->places->file->path))
		return;
	char *debug = debuginfod_find(question->places->file->build_id);
	question->debug = debug;
	if (debug != NULL)
		answer_file(question);
	free(debug);
}

bool names_is_unknown(const struct profile_name *name)
{
	return name->function == NULL && name->line < 0;
}

void names_find(struct profile *profiles, size_t count)
{
	size_t most = 0;
	uint64_t held = 0;

	symbolize_start();
	for (size_t i = 0; i < count; i++) {
		start_names(&profiles[i]);
		most += profiles[i].name_count;
	}
	struct wanted *wanted = profile_allocate(profiles, most, sizeof(*wanted)), *end = wanted;
	for (size_t i = 0; i < count; i++)
		end = add_wanted(&profiles[i], end);
	qsort(wanted, (size_t)(end - wanted), sizeof(*wanted), by_file);
	for (struct wanted *from = wanted, *to; from < end; from = to) {
		for (to = from; to < end && compare_files(from, to) == 0;)
			to++;
		find_in_file(&(struct question){ from, (size_t)(to - from), &held, NULL });
	}
}

/* Returns the frames at a place: those of functions that are inlined, and the one around them. */
static struct profile_frames frames_at(struct profile *profile, const struct profile_name *name)
{
	const struct profile_source line = { .file = name->file, .line = name->line };
	size_t inlined = name->inlined_count < PROFILE_FRAMES_MOST ? name->inlined_count
								   : PROFILE_FRAMES_MOST - 1;
	struct profile_frame *items = profile_allocate(profile, inlined + 1, sizeof(*items));

	for (size_t i = 0; i < inlined; i++)
		items[i] = profile_frame_of(&name->inlined[i]);
	if (name->file != NULL && name->line > 0 && name->line <= INT32_MAX)
		items[inlined] = profile_frame_of(&line);
	items[inlined].function = name->function;
	for (size_t i = 0; i <= inlined; i++) {
		items[i].module = name->module;
		items[i].offset = name->offset;
		items[i].is_python = false;
		items[i].is_inlined = i < inlined;
		items[i].is_verified = name->is_verified;
	}
	return (struct profile_frames){ items, inlined + 1 };
}

/* Names the frames of a list.  `named` has the frames of each place of profile->names. */
static void apply(struct profile *profile, const struct profile_frames *named,
		  struct profile_frames *frames)
{
	struct profile_frame made[PROFILE_FRAMES_MOST];
	size_t count = 0;

	for (size_t i = 0; i < frames->count; i++) {
		const struct profile_frame *frame = &frames->items[i];
		const struct profile_name *name = name_at(profile, frame->module, frame->offset);
		const struct profile_frames at = name != NULL ? named[name - profile->names]
							      : (struct profile_frames){ NULL, 1 };
		/* Inlined functions have a frame while all that follow have room. */
		size_t room = PROFILE_FRAMES_MOST - count - (frames->count - i);
		size_t inlined = at.count - 1 < room ? at.count - 1 : room;

		for (size_t j = 0; j < inlined; j++)
			made[count++] = at.items[j];
		made[count] = name != NULL ? at.items[at.count - 1] : *frame;
		if (made[count].function == NULL)
			made[count].function = frame->function;
		for (size_t j = count - inlined; j <= count; j++)
			made[j].guessed = frame->guessed;
		count++;
	}
	if (count == 0)
		return;
	if (count > frames->count)
		frames->items = profile_allocate(profile, count, sizeof(*made));
	frames->count = count;
	memcpy(frames->items, made, count * sizeof(*made));
}

void names_apply(struct profile *profiles, size_t count)
{
	for (struct profile *profile = profiles; profile < profiles + count; profile++) {
		struct profile_frames *named =
			profile_allocate(profile, profile->name_count, sizeof(*named));

		for (size_t i = 0; i < profile->name_count; i++)
			named[i] = frames_at(profile, &profile->names[i]);
		for (const struct list *list = lists_of(profile); list->frames != NULL; list++) {
			apply(profile, named, list->frames);
			/* Lists of calls are compared by their places, each with many others. */
			if (list->exact == 0)
				list->frames->place = names_frame(profile, list->frames, false);
		}
	}
}

/* A field that holds a mangled name. */
struct mangled {
	const char **field; /* NULL: the end of the list */
	const struct profile *profile;
};

/* Appends the fields of a profile that hold mangled names; returns the end of the list. */
static struct mangled *add_mangled(struct profile *profile, struct mangled *to)
{
	size_t kernels = profile->kernel_count;

	for (size_t i = 0; i < kernels; i++)
		profile->kernels[i].readable = profile->kernels[i].name;
	for (size_t i = 0; i < kernels + profile->events.name_count; i++) {
		const char **field = i < kernels ? &profile->kernels[i].readable
						 : &profile->events.names[i - kernels];

		if (*field == NULL || **field == '\0')
			*field = NO_NAME;
		else if (strncmp(*field, "_Z", 2) == 0 && strlen(*field) < SYMBOLIZE_NAME_MOST)
			*to++ = (struct mangled){ field, profile };
	}
	return to;
}

static void ask_names(void *arg)
{
	for (const struct mangled *name = arg; name->field != NULL; name++)
		symbolize_name(*name->field, stdout);
}

void names_demangle(struct profile *profiles, size_t count)
{
	struct profile_found_name found;
	struct child child;
	uint64_t held = 0;
	size_t most = 1;

	for (size_t i = 0; i < count; i++)
		most += profiles[i].kernel_count + profiles[i].events.name_count;
	struct mangled *names = profile_allocate(profiles, most, sizeof(*names)), *end = names;
	for (size_t i = 0; i < count; i++)
		end = add_mangled(&profiles[i], end);
	symbolize_start();
	for (struct mangled *name = names; name < end;) {
		if (child_start(&child, CHILD_MIB, ask_names, name))
			for (; name < end &&
			       next_answer(&child, profiles, &held, profile_found_name_id, &found);
			     name++)
				if (found.readable != NULL)
					*name->field = found.readable;
		child_end(&child);
		/* The other names of a profile that ended the child stay as they are. */
		for (const struct profile *of = name->profile; name < end && name->profile == of;)
			name++;
	}
}

void names_resolve(struct profile *profiles, size_t count)
{
	names_find(profiles, count);
	names_apply(profiles, count);
	names_demangle(profiles, count);
}
