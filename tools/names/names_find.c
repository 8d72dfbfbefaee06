/*
 * names_find.c - asks a child about each file, and fills in the names that it finds.
 *
 * A profile may contain names, and name files, that exhaust or crash the libraries that read them.
 * So a child with limits reads one file, or the names of one profile.  If it dies, the rest of
 * these names are not known.
 */
#include "names/names_find.h"
#include "system/child.h"
#include "names/debuginfod.h"
#include "names/names.h"
#include "system/progress.h"
#include "profile/reader.h"
#include "names/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NO_NAME    "(no name)" /* of a kernel */
#define CHILD_MIB  4096
#define FOUND_MOST ((size_t)256 << 20) /* bytes of the names of all files */

/* Is called with each list of native frames; the first `exact` are addresses of instructions. */
typedef void (*visit_function)(struct names_places *places, struct profile *profile,
			       struct profile_frames *frames, size_t exact);

/* Visits the places of the timeline's samples; callers among them hold return addresses. */
static void visit_timeline(struct profile *profile, visit_function visit,
			   struct names_places *places)
{
	size_t count = profile->events.place_count;
	bool *calls = profile_allocate(profile, count, sizeof(*calls));

	for (size_t i = 0; i < count; i++)
		if (profile->events.callers[i] >= 0)
			calls[profile->events.callers[i]] = true;
	for (size_t i = 0; i < count; i++)
		visit(places, profile, &profile->events.places[i], calls[i] ? 0 : 1);
}

static void visit_lists(struct profile *profile, visit_function visit, struct names_places *places)
{
	for (size_t i = 0; i < profile->site_count; i++)
		visit(places, profile, &profile->sites[i].frames, 0);
	for (size_t i = 0; i < profile->gap_count; i++) {
		visit(places, profile, &profile->gaps[i].before.frames, 0);
		visit(places, profile, &profile->gaps[i].after.frames, 0);
	}
	for (size_t i = 0; i < profile->launch_count; i++)
		visit(places, profile, &profile->launches[i].frames, 0);
	for (size_t i = 0; i < profile->buffer_count; i++)
		visit(places, profile, &profile->buffers[i].frames,
		      strcmp(profile->buffers[i].kind, "static") == 0 ? SIZE_MAX : 0);
	for (size_t i = 0; i < profile->sample_count; i++)
		visit(places, profile, &profile->samples[i].frames, 1);
	visit_timeline(profile, visit, places);
}

static void count_frames(struct names_places *places, struct profile *profile,
			 struct profile_frames *frames, size_t exact)
{
	(void)profile;
	(void)exact;
	places->count += frames->count;
}

static int64_t ended_at(const struct profile *profile)
{
	struct tm when = { 0 };

	if (profile->process.ended_utc == NULL ||
	    strptime(profile->process.ended_utc, "%Y%m%d-%H%M%S", &when) == NULL)
		return 0;
	return timegm(&when);
}

static void add_frames(struct names_places *places, struct profile *profile,
		       struct profile_frames *frames, size_t exact)
{
	for (size_t i = 0; i < frames->count; i++) {
		struct profile_frame *frame = &frames->items[i];

		/* A return address is after its call, possibly in the next line. */
		frame->offset -= !frame->is_python && i >= exact && frame->offset > 0;
		if (frame->module < 0 || frame->offset < 0)
			continue;
		struct profile_module *module = &profile->modules[frame->module];
		places->items[places->count++] = (struct names_place){
			.profile = profile,
			.file = module->path[0] == '/' ? module : NULL,
			.ended = module->build_id == NULL ? ended_at(profile) : 0,
			.frame = { .module = frame->module, .offset = frame->offset },
		};
	}
}

static int by_place(const void *left, const void *right)
{
	const struct names_place *a = left, *b = right;

	if (a->profile != b->profile)
		return a->profile < b->profile ? -1 : 1;
	return profile_by_place(&a->frame, &b->frame);
}

static struct names_places places_of(struct profile *profiles, size_t count)
{
	struct names_places places = { NULL, 0 };
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		visit_lists(&profiles[i], count_frames, &places);
	places.items = profile_allocate(profiles, places.count, sizeof(*places.items));
	places.count = 0;
	for (size_t i = 0; i < count; i++)
		visit_lists(&profiles[i], add_frames, &places);
	qsort(places.items, places.count, sizeof(*places.items), by_place);
	for (size_t i = 0; i < places.count; i++)
		if (kept == 0 || by_place(&places.items[kept - 1], &places.items[i]) != 0)
			places.items[kept++] = places.items[i];
	places.count = kept;
	return places;
}

static struct names_place *place_at(const struct names_places *places, struct profile *profile,
				    const struct profile_frame *frame)
{
	struct names_place key = { .profile = profile, .frame = *frame };

	return places->count == 0
		       ? NULL
		       : bsearch(&key, places->items, places->count, sizeof(key), by_place);
}

/* Takes the names that the profile's file has. */
static void recall(const struct names_places *places, struct profile *profile)
{
	for (size_t i = 0; i < profile->name_count; i++) {
		const struct profile_name *name = &profile->names[i];
		struct names_place *place = place_at(
			places, profile,
			&(struct profile_frame){ .module = name->module, .offset = name->offset });

		profile->modules[name->module].has_names = true;
		if (place != NULL)
			place->name = name;
	}
}

static int compare_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

/* Returns 0 for the same file, as far as the profiles identify it. */
static int compare_files(const struct names_place *a, const struct names_place *b)
{
	int order = strcmp(a->file->path, b->file->path);

	order = order != 0 ? order : compare_text(a->file->build_id, b->file->build_id);
	return order != 0 ? order : (a->ended > b->ended) - (a->ended < b->ended);
}

static int by_file(const void *left, const void *right)
{
	const struct names_place *a = *(struct names_place *const *)left;
	const struct names_place *b = *(struct names_place *const *)right;
	int order = compare_files(a, b);

	return order != 0
		       ? order
		       : (a->frame.offset > b->frame.offset) - (a->frame.offset < b->frame.offset);
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
	return length > 0 && reader.wrong[0] == '\0';
}

/* The places of one file in all profiles, by offset. */
struct question {
	struct names_place **places;
	size_t count;
	uint64_t *held;    /* memory for the answers to all questions */
	const char *debug; /* a debug file from debuginfod, or NULL */
};

static bool is_first(const struct question *question, size_t i)
{
	return i == 0 || question->places[i]->frame.offset != question->places[i - 1]->frame.offset;
}

static void ask_file(void *arg)
{
	const struct question *question = arg;
	uint64_t *addresses = calloc(question->count, sizeof(*addresses));
	struct symbolize_file file = { .path = question->places[0]->file->path,
				       .build_id = question->places[0]->file->build_id,
				       .ended = question->places[0]->ended,
				       .debug = question->debug,
				       .addresses = addresses };

	for (size_t i = 0; addresses != NULL && i < question->count; i++)
		if (is_first(question, i))
			addresses[file.count++] = (uint64_t)question->places[i]->frame.offset;
	symbolize_start();
	symbolize_file(&file, stdout);
	free(addresses);
}

/* Keeps what is known of the file.  Only that of the program is reported, not system libraries. */
static void note_file(const struct question *question, const struct profile_found_file *found)
{
	bool system = names_is_system_module(question->places[0]->file->path);

	for (size_t i = 0; i < question->count; i++) {
		struct profile *profile = question->places[i]->profile;
		struct profile_module *module = question->places[i]->file;

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
static void note_name(struct names_place *place, const struct profile_name *name, bool verified)
{
	if (place->name != NULL && name->line < 0 && place->name->line >= 0)
		return;
	place->name = name;
	place->is_verified = verified;
}

/* Reads the names of a file, one for each offset. */
static void read_names(const struct question *question, struct child *child, bool verified)
{
	struct profile *profile = question->places[0]->profile;
	struct profile_name *names = profile_allocate(profile, question->count, sizeof(*names));

	for (size_t i = 0; i < question->count; i++) {
		if (!is_first(question, i))
			names[i] = names[i - 1];
		else if (!next_answer(child, profile, question->held, profile_name_id, &names[i]))
			break;
		note_name(question->places[i], &names[i], verified);
	}
}

/* Returns true if the file is the one that ran, and has no lines. */
static bool answer_file(const struct question *question)
{
	struct profile_found_file found = { .has_lines = true };
	struct child child;
	bool verified = false;

	if (child_start(&child, CHILD_MIB, ask_file, (void *)question) &&
	    next_answer(&child, question->places[0]->profile, question->held, profile_found_file_id,
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
		lacks_lines &= question->places[i]->profile->is_own;
	if (!lacks_lines || names_is_system_module(question->places[0]->file->path))
		return;
	char *debug = debuginfod_find(question->places[0]->file->build_id);
	question->debug = debug;
	if (debug != NULL)
		answer_file(question);
	free(debug);
}

struct names_places names_find(struct profile *profiles, size_t count)
{
	struct names_places places = places_of(profiles, count);
	struct names_place **sorted = profile_allocate(profiles, places.count, sizeof(*sorted));
	uint64_t held = 0;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		recall(&places, &profiles[i]);
	for (size_t i = 0; i < places.count; i++) {
		const struct profile_module *file = places.items[i].file;

		/* Without a build ID the file may be another one, so stored names are preferred. */
		if (file != NULL && (file->build_id != NULL || !file->has_names))
			sorted[kept++] = &places.items[i];
	}
	qsort(sorted, kept, sizeof(*sorted), by_file);
	for (size_t from = 0, to; from < kept; from = to) {
		for (to = from; to < kept && compare_files(sorted[from], sorted[to]) == 0;)
			to++;
		progress_show("finding names", to, kept);
		find_in_file(&(struct question){ sorted + from, to - from, &held, NULL });
	}
	progress_clear();
	return places;
}

static void name_frame(const struct names_place *place, struct profile_frame *frame)
{
	if (place->frame.function != NULL)
		frame->function = place->frame.function;
	frame->line = place->frame.line;
	frame->path = place->frame.path;
	frame->number = place->frame.number;
	frame->is_verified = place->is_verified;
}

static void apply(struct names_places *places, struct profile *profile,
		  struct profile_frames *frames, size_t exact)
{
	struct profile_frames named = { NULL, 0 };
	size_t most = frames->count;

	(void)exact;
	for (size_t i = 0; i < frames->count; i++) {
		struct names_place *place = place_at(places, profile, &frames->items[i]);

		if (place == NULL)
			continue;
		name_frame(place, &frames->items[i]);
		most += place->frame.inlined != NULL ? place->frame.inlined->count : 0;
	}
	if (most == frames->count)
		return;
	most = most < PROFILE_FRAMES_MOST ? most : PROFILE_FRAMES_MOST;
	named.items = profile_allocate(profile, most, sizeof(*named.items));
	for (size_t i = 0; i < frames->count; i++) {
		const struct profile_frame *frame = &frames->items[i];
		struct names_place *place = place_at(places, profile, frame);
		const struct profile_frames *inlined = place != NULL ? place->frame.inlined : NULL;

		/* All frames that follow have room. */
		for (size_t j = 0; inlined != NULL && j < inlined->count &&
				   named.count + frames->count - i < most;
		     j++) {
			struct profile_frame *made = &named.items[named.count++];

			*made = inlined->items[j];
			made->module = frame->module;
			made->offset = frame->offset;
			made->guessed = frame->guessed;
			made->is_verified = place->is_verified;
			made->is_inlined = true;
		}
		named.items[named.count++] = *frame;
	}
	*frames = named;
}

void names_apply(struct profile *profiles, size_t count, struct names_places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		struct names_place *place = &places->items[i];
		int64_t module = place->frame.module;

		if (place->name == NULL)
			continue;
		place->frame = profile_frame_of_name(place->profile, place->name);
		place->frame.module = module;
	}
	for (size_t i = 0; i < count; i++)
		visit_lists(&profiles[i], apply, places);
}

/* The mangled names of a profile, in its fields. */
struct mangled {
	const char ***items;
	size_t count;
};

static void add_name(struct mangled *names, const char **name)
{
	if (*name == NULL)
		*name = NO_NAME;
	else if (strncmp(*name, "_Z", 2) == 0 && strlen(*name) < SYMBOLIZE_NAME_MOST)
		names->items[names->count++] = name;
}

static void ask_names(void *arg)
{
	const struct mangled *names = arg;

	symbolize_start();
	for (size_t i = 0; i < names->count; i++)
		symbolize_name(*names->items[i], stdout);
}

static void demangle(struct profile *profile)
{
	size_t most = profile->kernel_count + profile->events.name_count;
	struct mangled names = { profile_allocate(profile, most, sizeof(*names.items)), 0 };
	struct profile_found_name found;
	struct child child;
	uint64_t held = 0;

	for (size_t i = 0; i < profile->kernel_count; i++) {
		profile->kernels[i].readable = profile->kernels[i].name;
		add_name(&names, &profile->kernels[i].readable);
	}
	for (size_t i = 0; i < profile->events.name_count; i++) {
		if (profile->events.names[i][0] == '\0')
			profile->events.names[i] = NULL;
		add_name(&names, &profile->events.names[i]);
	}
	bool started = names.count > 0 && child_start(&child, CHILD_MIB, ask_names, &names);
	for (size_t i = 0; started && i < names.count &&
			   next_answer(&child, profile, &held, profile_found_name_id, &found);
	     i++)
		if (found.readable != NULL)
			*names.items[i] = found.readable;
	if (names.count > 0)
		child_end(&child);
}

void names_demangle(struct profile *profiles, size_t count)
{
	for (size_t i = 0; i < count; i++)
		demangle(&profiles[i]);
}

void names_resolve(struct profile *profiles, size_t count, bool places)
{
	if (places) {
		struct names_places found = names_find(profiles, count);

		names_apply(profiles, count, &found);
	}
	names_demangle(profiles, count);
}
