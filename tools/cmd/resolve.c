/*
 * resolve.c - `hotpin resolve`: stores names of places, and the advice, in the file of a profile.
 *
 * They become the properties "names" and "advice".  All others stay, also those that this hotpin
 * does not know.
 */
#include "analyze/advice.h"
#include "cmd/commands.h"
#include "cmd/flags.h"
#include "system/messages.h"
#include "show/layout.h"
#include "names/names_find.h"
#include "profile/profile_open.h"
#include "profile/texts.h"
#include "system/output.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many names are stored, and how many of them have a line. */
struct stored {
	json_t *names;
	size_t named, with_line;
};

/*
 * Who gets the file need not be allowed to read the program.  So names are stored of a program that
 * everybody may read, or that the writer of the profile had.
 */
static void forget_secrets(struct profile *profile)
{
	for (size_t i = 0; i < profile->name_count; i++) {
		struct profile_name *name = &profile->names[i];
		const struct profile_module *module = &profile->modules[name->module];

		if (!module->is_public && !module->has_names)
			*name = (struct profile_name){ .module = name->module,
						       .offset = name->offset,
						       .line = UNKNOWN };
	}
}

/* Returns the row of the list "names". */
static json_t *row_of(const struct profile_name *name)
{
	json_t *row =
		json_pack("{s:I,s:I,s:s?,s:s?,s:o}", "module", (json_int_t)name->module, "offset",
			  (json_int_t)name->offset, "function", name->function, "file", name->file,
			  "line", name->line >= 0 ? json_integer(name->line) : json_null());

	for (size_t i = 0; i < name->inlined_count; i++) {
		const struct profile_source *inlined = &name->inlined[i];

		if (i == 0)
			json_object_set_new(row, "inlined", json_array());
		json_array_append_new(json_object_get(row, "inlined"),
				      json_pack("{s:s,s:s,s:I}", "function", inlined->function,
						"file", inlined->file, "line",
						(json_int_t)inlined->line));
	}
	return row;
}

static struct stored names_of(const struct profile *profile)
{
	struct stored stored = { .names = json_array() };

	for (size_t i = 0; i < profile->name_count; i++) {
		const struct profile_name *name = &profile->names[i];

		if (names_is_unknown(name))
			continue;
		stored.named++;
		stored.with_line += name->line >= 0;
		json_array_append_new(stored.names, row_of(name));
	}
	return stored;
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
static void tell_nameless(const struct profile *profile)
{
	for (size_t from = 0, to; from < profile->name_count; from = to) {
		const struct profile_name *first = &profile->names[from];
		const struct profile_module *module = &profile->modules[first->module];
		int64_t nameless = 0;

		for (to = from;
		     to < profile->name_count && profile->names[to].module == first->module; to++)
			nameless += names_is_unknown(&profile->names[to]);
		if (nameless > 0)
			layout_say(4, "  %s without a name in %s: %s",
				   text_several(nameless, "place", "places"),
				   text_name(module->path, 200), why_nameless(module));
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
	struct output output;
	struct stat now;

	if (output_open(&output, profile->path, NULL, 0, true) < 0)
		return false;
	output.mode = before->st_mode & 0777;
	bool fits = json_dumpf(json, output.to, JSON_COMPACT) == 0 &&
		    fputc('\n', output.to) != EOF &&
		    ftell(output.to) <= (long)PROFILE_MIB_MOST << 20;
	bool same =
		fstatat(output.save.folder.fd, output.save.name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
		is_same_file(before, &now);
	if (fits && same && fchown(fileno(output.to), before->st_uid, before->st_gid) == 0)
		return output_close(&output) == 0;
	output_drop(&output);
	hotpin_say(!same  ? "%s was written meanwhile, and stays as it is; repeat this when the "
			    "program has ended"
		   : fits ? "%s belongs to another user or group, and only they can replace it; "
			    "copy it first"
			  : "%s is too large to add names",
		   text_name(profile->path, 200));
	return false;
}

/* Stores the value as that property; *ret_changed: it was another one. */
static void set(json_t *json, const char *name, json_t *value, bool *ret_changed)
{
	*ret_changed |= !json_equal(json_object_get(json, name), value);
	json_object_set_new(json, name, value);
}

static json_t *text(const char *value)
{
	return text_json(value[0] != '\0' ? value : NULL);
}

/* Returns an entry of the list "advice". */
static json_t *json_of(const struct profile *profile, const struct advice *advice)
{
	int64_t tenths = (int64_t)((__int128_t)advice->saves_ns * 1000 / profile->wall_ns);

	return json_pack("{s:s,s:o,s:o,s:I,s:I,s:s,s:o,s:o,s:b,s:b}", "kind",
			 advice_kinds[advice->kind], "what", text(advice->what), "where",
			 text(advice->where), "saves_ns", (json_int_t)advice->saves_ns,
			 "saves_tenths_of_a_percent", (json_int_t)tenths, "basis",
			 advice->is_estimate ? "estimate" : "bound", "how", text(advice->how),
			 "assumes", text(advice->assumes), "hotpin_run_does_it",
			 advice->hotpin_does_it, "is_worth", advice_is_worth(profile, advice));
}

static json_t *advice_of(struct profile *profile)
{
	struct advice_list *list = profile_allocate(profile, 1, sizeof(*list));
	json_t *entries = json_array();

	advice_make(profile, list);
	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(entries, json_of(profile, &list->items[i]));
	return entries;
}

static void tell(const struct profile *profile, const struct stored *stored, bool changed)
{
	const char *path = text_name(profile->path, 200);

	if (stored->named == 0)
		layout_say(4, "%s: %s", path,
			   profile->name_count == 0 ? "it has no places" : "no names found");
	else
		layout_say(4, "%s: %s of %s, %s with a source line%s", path,
			   text_several((int64_t)stored->named, "name", "names"),
			   text_several((int64_t)profile->name_count, "place", "places"),
			   text_count((int64_t)stored->with_line),
			   changed ? "" : "; the file had them already");
	tell_nameless(profile);
}

static bool resolve(const char *path)
{
	struct stat before = { 0 };
	struct profile profile;
	bool changed = false;

	if (stat(path, &before) == 0 && !S_ISREG(before.st_mode)) {
		hotpin_say("%s is not a regular file, so names cannot be stored in it",
			   text_name(path, 200));
		return false;
	}
	if (profile_open(path, &profile) < 0)
		return false;
	names_find(&profile, 1);
	forget_secrets(&profile);
	struct stored stored = names_of(&profile);
	/* Advice has the names that may be stored, and no others. */
	names_apply(&profile, 1);
	names_demangle(&profile, 1);
	json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
	set(json, "advice", advice_of(&profile), &changed);
	if (stored.named > 0)
		set(json, "names", stored.names, &changed);
	else
		json_decref(stored.names);
	bool done = !changed || replace(&profile, json, &before);
	json_decref(json);
	if (done)
		tell(&profile, &stored, changed);
	profile_close(&profile);
	return done;
}

int hotpin_resolve(int argc, char **argv)
{
	static const struct flag none = { 0 };
	int status = flags_read(argc, argv, &none, FLAGS_PROFILES);

	if (status >= 0)
		return status;
	layout_start();
	status = 0;
	for (int i = optind; i < argc; i++)
		if (!resolve(argv[i]))
			status = EXIT_FAILURE;
	return status;
}
