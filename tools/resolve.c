/*
 * resolve.c - `hotpin resolve`: stores the names of a profile's places in its file.
 *
 * The names become the property "names" of the profile.  They are inserted into the text of the
 * file, so all other bytes stay, also those of properties that this hotpin does not know.
 */
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
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names take at most so many bytes of a file; the places of a run need far less. */
#define NAMES_MOST ((size_t)16 << 20)

struct text {
	char *bytes;
	size_t length;
};

/* The places of a profile, each once, by profile_by_place(). */
struct once {
	const struct profile_frame **items;
	size_t count, named, with_line, left_out;
};

/* Where a property is in the text of its object: from its comma to its end. */
struct span {
	size_t from, to;
};

/* Reads the whole file; false after a message. */
static bool read_text(const char *path, FILE *file, size_t bytes, struct text *ret)
{
	ret->bytes = file != NULL ? malloc(bytes) : NULL;
	ret->length = ret->bytes != NULL ? fread(ret->bytes, 1, bytes, file) : 0;
	if (ret->bytes != NULL && ret->length == bytes && fgetc(file) == EOF)
		return true;
	hotpin_say("cannot read %s again", show_text(path, 200));
	free(ret->bytes);
	return false;
}

/*
 * Finds the property number `index` of the object that is the text, which is valid JSON.  If there
 * are only `index` properties, the span is empty, and follows the last one.
 */
static struct span find_property(const struct text *text, size_t index)
{
	size_t depth = 0, commas = 0, end = 0, from = 0;
	bool quoted = false;

	for (size_t i = 0; i < text->length; i++) {
		char c = text->bytes[i];

		if (quoted) {
			quoted = c != '"';
			i += c == '\\';
		} else if (c == '"') {
			quoted = true;
		} else if (c == '{' || c == '[') {
			depth++;
			if (depth == 1 && index == 0)
				from = i + 1;
		} else if (c == '}' || c == ']') {
			depth--;
			if (depth == 0)
				break;
		} else if (c == ',' && depth == 1) {
			if (from > 0)
				break;
			if (++commas == index)
				from = i;
		}
		if (strchr(" \t\r\n", c) == NULL)
			end = i + 1;
	}
	return (struct span){ from > 0 ? from : end, end };
}

/* Returns the number of the property `name`; that of all properties if there is none. */
static size_t index_of(json_t *object, const char *name)
{
	size_t index = 0;
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		if (strcmp(key, name) == 0)
			break;
		index++;
	}
	return index;
}

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
		frame->function = frame->line = frame->path = NULL;
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

static void write_name(FILE *to, const struct profile_frame *frame)
{
	json_t *row = json_object();

	json_object_set_new(row, "module", json_integer(frame->module));
	json_object_set_new(row, "offset", json_integer(frame->offset));
	set_name(row, frame);
	if (frame->inlined != NULL)
		json_object_set_new(row, "inlined", inlined_of(frame->inlined));
	json_dumpf(row, to, JSON_ENSURE_ASCII);
	json_decref(row);
}

static bool is_nameless(const struct profile_frame *frame)
{
	return frame->function == NULL && frame->line == NULL;
}

/* Writes the property; counts the places that have a name, and those whose line is known. */
static bool write_names(struct once *once, bool first, struct text *ret)
{
	FILE *to = open_memstream(&ret->bytes, &ret->length);

	if (to == NULL)
		return false;
	fprintf(to, "%s\n\t\"names\": [", first ? "" : ",");
	for (size_t i = 0; i < once->count; i++) {
		if (is_nameless(once->items[i]))
			continue;
		if (ftell(to) >= (long)NAMES_MOST) {
			once->left_out++;
			continue;
		}
		fputs(once->named++ == 0 ? "\n\t\t" : ",\n\t\t", to);
		once->with_line += once->items[i]->line != NULL;
		write_name(to, once->items[i]);
	}
	fputs("\n\t]", to);
	bool written = !ferror(to);
	return fclose(to) == 0 && written;
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

/* Replaces the span by the names if the file is still the same; false after a message. */
static bool replace(const char *path, const struct stat *before, const struct text *text,
		    const struct span *at, const struct text *names)
{
	struct target target;
	struct stat now;

	if (target_open(&target, path, NULL, 0, true) < 0)
		return false;
	target.mode = before->st_mode & 0777;
	fwrite(text->bytes, 1, at->from, target.to);
	fwrite(names->bytes, 1, names->length, target.to);
	fwrite(text->bytes + at->to, 1, text->length - at->to, target.to);
	bool same =
		fstatat(target.save.folder.fd, target.save.name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
		is_same_file(before, &now);
	bool owned = fchown(fileno(target.to), before->st_uid, before->st_gid) == 0;
	if (same && owned)
		return target_close(&target) == 0;
	target_drop(&target);
	if (same)
		hotpin_say("%s belongs to another user or group, and only they can replace it; "
			   "copy it first",
			   show_text(path, 200));
	else
		hotpin_say("%s was written meanwhile, and stays as it is; repeat this when the "
			   "program has ended",
			   show_text(path, 200));
	return false;
}

/* Stores the names; *ret_changed: the file did not have them. */
static bool store(struct profile *profile, FILE *file, const struct stat *before, struct once *once,
		  bool *ret_changed)
{
	size_t index = index_of(profile->json, "names");
	struct text text, names = { NULL, 0 };
	bool stored = false;

	if (!read_text(profile->path, file, (size_t)before->st_size, &text))
		return false;
	struct span at = find_property(&text, index);
	if (!write_names(once, index == 0, &names))
		hotpin_say("not enough memory for the names");
	else if (once->named == 0 || (names.length == at.to - at.from &&
				      memcmp(names.bytes, text.bytes + at.from, names.length) == 0))
		stored = true;
	else if (text.length + names.length > (size_t)PROFILE_MIB_MOST << 20)
		hotpin_say("%s is too large to add names", show_text(profile->path, 200));
	else
		stored = *ret_changed = replace(profile->path, before, &text, &at, &names);
	free(names.bytes);
	free(text.bytes);
	return stored;
}

static bool resolve_open(const char *path, FILE *file)
{
	struct stat before = { 0 };
	struct profile profile;
	bool changed = false;

	if (file != NULL && fstat(fileno(file), &before) == 0 && !S_ISREG(before.st_mode)) {
		hotpin_say("%s is not a regular file, so names cannot be stored in it",
			   show_text(path, 200));
		return false;
	}
	if (profile_open(path, &profile) < 0)
		return false;
	names_find(&profile, 1, true);
	struct once once = places_of(&profile);
	bool stored = store(&profile, file, &before, &once, &changed);
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

/* The file is opened first, so that it is noticed if another one gets its name. */
static bool resolve(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	bool resolved = resolve_open(path, file);

	if (file != NULL)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return resolved;
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
