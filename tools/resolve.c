/*
 * resolve.c - `hotpin resolve`: stores names of places, and the advice, in the file of a profile.
 *
 * They become the properties "names" and "advice".  All others stay, also those that this hotpin
 * does not know.
 */
#include "advice_json.h"
#include "hotpin.h"
#include "layout.h"
#include "names.h"
#include "names_places.h"
#include "show.h"
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names take at most so many bytes of a file; the places of a run need far less. */
#define NAMES_MOST ((size_t)16 << 20)

/* The places of a profile, each once, by profile_by_place(). */
struct once {
	const struct profile_frame **items;
	size_t count, named, with_line, left_out;
};

static int by_place(const void *left, const void *right)
{
	const struct profile_frame *const *a = left, *const *b = right;

	return profile_by_place(*a, *b);
}

/*
 * Who gets the file need not be allowed to read the program.  So names are stored of a program that
 * everybody may read, or that the writer of the profile had.
 */
static void keep_secret(const struct profile *profile, struct profile_frame *frame)
{
	if (!profile->modules[frame->module].is_public && !names_are_stored(profile, frame->module))
		*frame = (struct profile_frame){ .module = frame->module, .offset = frame->offset };
}

/* Returns the places in files, after names_find(). */
static struct once places_of(struct profile *profile)
{
	struct place_list all = names_places(profile, 1);
	struct once once = { .items = profile_allocate(profile, all.count, sizeof(*once.items)) };
	size_t kept = 0;

	for (size_t i = 0; i < all.count; i++)
		if (all.items[i].frame->module >= 0 && all.items[i].frame->offset >= 0) {
			keep_secret(profile, all.items[i].frame);
			once.items[kept++] = all.items[i].frame;
		}
	qsort(once.items, kept, sizeof(*once.items), by_place);
	for (size_t i = 0; i < kept; i++)
		if (i == 0 || by_place(&once.items[i], &once.items[i - 1]) != 0)
			once.items[once.count++] = once.items[i];
	return once;
}

/* Names need not be UTF-8. */
static json_t *text_or_null(const char *text)
{
	json_t *made = text != NULL ? json_string(text) : json_null();

	return made != NULL ? made : json_string(show_text(text, 300));
}

static void set_name(json_t *row, const struct profile_frame *frame)
{
	json_object_set_new(row, "function", text_or_null(frame->function));
	json_object_set_new(row, "file", text_or_null(frame->path));
	json_object_set_new(row, "line",
			    frame->path != NULL ? json_integer(frame->number) : json_null());
}

static json_t *inlined_of(const struct profile_frames *inlined)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < inlined->count; i++) {
		json_t *row = json_object();

		set_name(row, &inlined->items[i]);
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *name_of(const struct profile_frame *frame)
{
	json_t *row = json_object();

	json_object_set_new(row, "module", json_integer(frame->module));
	json_object_set_new(row, "offset", json_integer(frame->offset));
	set_name(row, frame);
	if (frame->inlined != NULL)
		json_object_set_new(row, "inlined", inlined_of(frame->inlined));
	return row;
}

static bool is_nameless(const struct profile_frame *frame)
{
	return frame->function == NULL && frame->line == NULL;
}

/* Returns the names; counts the places that have one, and those whose line is known. */
static json_t *names_of(struct once *once)
{
	json_t *names = json_array();
	size_t bytes = 0;

	for (size_t i = 0; i < once->count; i++) {
		if (is_nameless(once->items[i]))
			continue;
		json_t *name = name_of(once->items[i]);
		if (bytes > NAMES_MOST) {
			once->left_out++;
			json_decref(name);
			continue;
		}
		bytes += json_dumpb(name, NULL, 0, 0);
		once->named++;
		once->with_line += once->items[i]->line != NULL;
		json_array_append_new(names, name);
	}
	return names;
}

static const char *why_nameless(const struct profile_module *module)
{
	if (module->path[0] != '/')
		return "it has no absolute path";
	if (module->error != 0)
		return module->error == ENOENT ? "it is not on this machine" : "it cannot be read";
	if (module->differs)
		return "it differs from the file that was profiled";
	return module->is_public ? "it has no symbols there"
				 : "it has no build ID, and not everybody may read it";
}

/* Says for each module how many of its places have no name, and the reason. */
static void tell_nameless(const struct profile *profile, const struct once *once)
{
	for (size_t from = 0, to; from < once->count; from = to) {
		const struct profile_module *module = &profile->modules[once->items[from]->module];
		int64_t nameless = 0;

		for (to = from;
		     to < once->count && once->items[to]->module == once->items[from]->module; to++)
			nameless += is_nameless(once->items[to]);
		if (nameless > 0)
			layout_say(4, "  %s without a name in %s: %s",
				   show_several(nameless, "place", "places"),
				   show_text(module->path, 200), why_nameless(module));
	}
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Replaces the file by its JSON if it is still the same; false after a message. */
static bool replace(const struct profile *profile, const json_t *json, const struct stat *before)
{
	struct target target;
	struct stat now;

	if (target_open(&target, profile->path, NULL, 0, true) < 0)
		return false;
	target.mode = before->st_mode & 0777;
	bool fits = json_dumpf(json, target.to, JSON_COMPACT) == 0 &&
		    fputc('\n', target.to) != EOF &&
		    ftell(target.to) <= (long)PROFILE_MIB_MOST << 20;
	bool same =
		fstatat(target.save.folder.fd, target.save.name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
		is_same_file(before, &now);
	if (fits && same && fchown(fileno(target.to), before->st_uid, before->st_gid) == 0)
		return target_close(&target) == 0;
	target_drop(&target);
	hotpin_say(!fits  ? "%s is too large to add names"
		   : same ? "%s belongs to another user or group, and only they can replace it; "
			    "copy it first"
			  : "%s was written meanwhile, and stays as it is; repeat this when the "
			    "program has ended",
		   show_text(profile->path, 200));
	return false;
}

/* Stores the value as that property; *ret_changed: it was another one. */
static void set(json_t *object, const char *name, json_t *value, bool *ret_changed)
{
	*ret_changed |= !json_equal(json_object_get(object, name), value);
	json_object_set_new(object, name, value);
}

static json_t *advice_of(struct profile *profile)
{
	struct advice_list *list = profile_allocate(profile, 1, sizeof(*list));
	json_t *entries = json_array();

	advice_make(profile, list);
	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(entries, advice_json(profile, &list->items[i]));
	return entries;
}

/* Stores names and advice; *ret_changed: the file did not have them. */
static bool store(struct profile *profile, const struct stat *before, struct once *once,
		  bool *ret_changed)
{
	json_t *json = json_load_file(profile->path, JSON_REJECT_DUPLICATES, NULL);
	json_t *names = names_of(once);

	/* Advice has the names that may be stored, and no others. */
	names_unfold(profile, 1);
	set(json, "advice", advice_of(profile), ret_changed);
	if (once->named > 0)
		set(json, "names", names, ret_changed);
	else
		json_decref(names);
	bool stored = !*ret_changed || replace(profile, json, before);
	json_decref(json);
	return stored;
}

static bool resolve(const char *path)
{
	struct stat before = { 0 };
	struct profile profile;
	bool changed = false;

	if (stat(path, &before) == 0 && !S_ISREG(before.st_mode)) {
		hotpin_say("%s is not a regular file, so names cannot be stored in it",
			   show_text(path, 200));
		return false;
	}
	if (profile_open(path, &profile) < 0)
		return false;
	names_find(&profile, 1, true);
	struct once once = places_of(&profile);
	bool stored = store(&profile, &before, &once, &changed);
	if (stored && once.named == 0)
		layout_say(4, "%s: %s", show_text(path, 200),
			   once.count == 0 ? "it has no places" : "no names found");
	else if (stored)
		layout_say(4, "%s: %s of %s, %s with a source line%s", show_text(path, 200),
			   show_several((int64_t)once.named, "name", "names"),
			   show_several((int64_t)once.count, "place", "places"),
			   show_count((int64_t)once.with_line),
			   changed ? "" : "; the file had them already");
	if (stored && once.left_out > 0)
		layout_say(4, "  %s left out: in a file, names take at most %zu MiB",
			   show_several((int64_t)once.left_out, "name", "names"), NAMES_MOST >> 20);
	if (stored)
		tell_nameless(&profile, &once);
	profile_close(&profile);
	return stored;
}

int hotpin_resolve(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option, status = 0;

	while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		return option == 'h' ? hotpin_help("resolve") : hotpin_misused("resolve");
	if (optind == argc) {
		hotpin_say("no profile to read; name a file of `hotpin run -o FILE`");
		return hotpin_misused("resolve");
	}
	if (layout_start(NULL) < 0)
		return EXIT_USAGE;
	for (int i = optind; i < argc; i++)
		if (!resolve(argv[i]))
			status = EXIT_FAILURE;
	return status;
}
