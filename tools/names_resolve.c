/*
 * names_resolve.c - finds symbols, lines and demangled names with the tools of this machine.
 *
 * libstdc++ demangles and addr2line finds lines.  A profile may contain names and files that
 * exhaust them, so each runs in a child process with limits.  Names that they do not find stay as
 * they are.
 */
#include "names.h"
#include "child.h"
#include "debug_file.h"
#include "names_lines.h"
#include "names_places.h"
#include "progress.h"
#include "symbols.h"
#include "base/trust.h"
#include "base/units.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NO_NAME      "(no name)" /* of a kernel */
#define NAME_MOST    8192        /* bytes of a demangled name, with its zero byte */
#define DEATHS_MOST  4
#define DEMANGLE_MIB 512
#define LINES_A_TIME 512
#define LINES_MIB    4096

struct batch {
	const char **names;
	size_t count;
};

typedef char *(*demangle_function)(const char *name, char *buffer, size_t *length, int *status);

static void demangle_batch(void *arg)
{
	const struct batch *batch = arg;
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	demangle_function demangle =
		library != NULL ? (demangle_function)dlsym(library, "__cxa_demangle") : NULL;
	for (size_t i = 0; demangle != NULL && i < batch->count; i++) {
		int status = -1;
		char *readable = demangle(batch->names[i], NULL, NULL, &status);
		const char *shown =
			readable != NULL && strlen(readable) < NAME_MOST ? readable : "";

		fwrite(shown, 1, strlen(shown) + 1, stdout);
		free(readable);
		fflush(stdout);
	}
}

/* Returns the part of the name that is readable without libstdc++. */
static const char *shorten(struct profile *profile, const char *mangled)
{
	char short_name[512];

	if (strlen(mangled) >= sizeof(short_name))
		return mangled;
	return profile_copy(profile, units_kernel_name(short_name, sizeof(short_name), mangled));
}

static void demangle_all(struct profile *profile, const char ***places, size_t count)
{
	const char **names = profile_allocate(profile, count, sizeof(*names));
	size_t done = 0;
	char line[NAME_MOST];

	for (size_t i = 0; i < count; i++)
		names[i] = *places[i];
	for (int deaths = 0; done < count && deaths < DEATHS_MOST; deaths++) {
		struct batch batch = { names + done, count - done };
		struct child child;
		size_t length = 0;
		int byte;

		/* A few bytes of a mangled name can expand to gigabytes. */
		if (!child_start(&child, DEMANGLE_MIB, demangle_batch, &batch))
			deaths = DEATHS_MOST;
		while (child.answers != NULL && done < count &&
		       (byte = fgetc(child.answers)) != EOF) {
			if (length < sizeof(line) - 1)
				line[length++] = (char)byte;
			if (byte != '\0')
				continue;
			const char *readable = length > 1 ? names_copy(profile, line) : NULL;
			*places[done] = readable != NULL ? readable : shorten(profile, names[done]);
			progress_show("demangling names", ++done, count);
			length = 0;
		}
		child_end(&child);
		/* The child died of this name. */
		if (done < count) {
			*places[done] = shorten(profile, names[done]);
			done++;
		}
	}
	for (; done < count; done++)
		*places[done] = shorten(profile, names[done]);
}

struct lines {
	struct named file; /* has the line tables */
	const char *tool;
	bool is_verified; /* the user or root has built what ran */
	struct profile_frame *frames[LINES_A_TIME];
	size_t count;
};

/* For root, addr2line runs with the rights of the file's owner, who may have prepared the file. */
static bool leave_rights(const struct stat *file)
{
	return geteuid() != 0 || file->st_uid == 0 ||
	       (setgroups(0, NULL) == 0 && setgid(file->st_gid) == 0 && setuid(file->st_uid) == 0);
}

/*
 * The tool reads the file that was checked, as its stdin.  It can open one file at a time, so the
 * file leads it to no other ones.  Its environment is empty: DEBUGINFOD_URLS would ask a server.
 */
static void exec_addr2line(void *arg)
{
	const struct lines *lines = arg;
	static char addresses[LINES_A_TIME][20];
	const char *args[LINES_A_TIME * NAMES_LINES_TIMES + 6] = { "addr2line", "-afi", "-e",
								   "/proc/self/fd/0" };
	char *none[] = { NULL };
	struct rlimit files = { STDERR_FILENO + 2, STDERR_FILENO + 2 };

	for (size_t i = 0; i < lines->count; i++) {
		snprintf(addresses[i], sizeof(addresses[i]), "0x%llx",
			 (unsigned long long)lines->frames[i]->offset);
		for (size_t j = 0; j < NAMES_LINES_TIMES; j++)
			args[4 + i * NAMES_LINES_TIMES + j] = addresses[i];
	}
	if (dup2(lines->file.fd, STDIN_FILENO) == STDIN_FILENO &&
	    setrlimit(RLIMIT_NOFILE, &files) == 0 && leave_rights(&lines->file.status))
		execve(lines->tool, (char **)args, none);
}

/* Returns the first addr2line of PATH that nobody but root and the user can change, or NULL. */
static const char *find_tool(void)
{
	static char tool[PATH_MAX];
	const char *path = getenv("PATH");

	while (tool[0] == '\0' && path != NULL && path[0] != '\0') {
		int length = (int)strcspn(path, ":");

		snprintf(tool, sizeof(tool), "%.*s/addr2line", length, path);
		if (path[0] != '/' || hp_trust_library(tool, 0) < 0)
			tool[0] = '\0';
		path += length + (path[length] == ':');
	}
	return tool[0] != '\0' ? tool : NULL;
}

static void find_lines(struct profile *profile, const struct lines *lines)
{
	struct child child;

	child_start(&child, LINES_MIB, exec_addr2line, (void *)lines);
	if (child.answers != NULL)
		names_lines_read(profile, child.answers, lines->frames, lines->count);
	child_end(&child);
	for (size_t i = 0; i < lines->count; i++) {
		struct profile_frame *frame = lines->frames[i];

		frame->is_verified = lines->is_verified;
		for (size_t j = 0; frame->inlined != NULL && j < frame->inlined->count; j++)
			frame->inlined->items[j].is_verified = lines->is_verified;
	}
}

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

static bool is_same_place(const struct place *a, const struct place *b)
{
	return a->frame->offset == b->frame->offset;
}

/* Keeps what is known of the file.  Only that of the program is reported, not system libraries. */
static void note_file(const struct place *places, size_t count, const struct named *file, int error,
		      enum symbols_match match)
{
	const char *path = places->file->path;
	bool system = names_is_system_module(path);

	for (size_t i = 0; i < count; i++) {
		struct profile *profile = places[i].profile;
		struct profile_module *module = places[i].file;

		module->error = -error;
		module->modified = error < 0 ? UNKNOWN : (int64_t)file->status.st_mtime;
		module->differs = match == SYMBOLS_OTHER;
		module->is_public = match == SYMBOLS_VERIFIED ||
				    (error == 0 && (file->status.st_mode & S_IROTH) != 0);
		if (system || names_are_stored(profile, places[i].frame->module))
			continue;
		if (module->differs && profile->other_build == NULL)
			profile->other_build = path;
		if (error == -ENOENT && profile->missing == NULL)
			profile->missing = path;
	}
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

/* Each offset is looked up once. */
static void name_places(struct profile *owner, const struct place *places, size_t count,
			const struct symbols *symbols, struct lines *lines)
{
	const char *before = NULL, *copy = NULL;

	for (size_t i = 0; i < count; i++) {
		struct profile_frame *frame = places[i].frame;

		if (i > 0 && is_same_place(&places[i], &places[i - 1]))
			continue;
		const char *name = symbols_find(symbols, (uint64_t)frame->offset);
		if (name != NULL && name != before && strlen(name) < NAME_MOST)
			copy = names_copy(owner, name);
		if (name != NULL && strlen(name) < NAME_MOST)
			frame->function = copy;
		before = name;
		if (lines->tool == NULL)
			continue;
		lines->frames[lines->count++] = frame;
		if (lines->count == LINES_A_TIME) {
			find_lines(owner, lines);
			lines->count = 0;
		}
	}
	if (lines->count > 0)
		find_lines(owner, lines);
	for (size_t i = 1; i < count; i++) {
		if (!is_same_place(&places[i], &places[i - 1]))
			continue;
		places[i].frame->function = places[i - 1].frame->function;
		names_copy_line(places[i].frame, places[i - 1].frame);
	}
}

/* Resolves `count` places of one file, which is opened once. */
static void resolve_file(struct profile *owner, const struct place *places, size_t count)
{
	/* The libraries of a large program have a few hundred MiB of symbol tables. */
	static uint64_t tables_left = (uint64_t)4 << 30;
	const struct profile_module *module = places->file;
	enum symbols_match match = SYMBOLS_NO_ELF;
	struct lines lines = { .tool = NULL };
	struct named file;

	if (prefers_stored(places))
		return;
	int error = named_open(module->path, &file);
	/* A stranger's profile must not make root reveal the names of a private program. */
	if (error == 0 && !named_is_readable(&file)) {
		close(file.fd);
		error = -EACCES;
	}
	if (error == 0)
		match = symbols_match(&file, module->build_id, places->ended);
	note_file(places, count, &file, error, match);
	struct symbols *symbols =
		match >= SYMBOLS_LIKELY ? symbols_read(&file, &tables_left) : NULL;
	/* addr2line takes seconds to read a large file. */
	if (symbols != NULL && debug_file_find(&file, &lines.file)) {
		lines.tool = find_tool();
		lines.is_verified = match == SYMBOLS_VERIFIED && named_is_trusted(&file) &&
				    named_is_trusted(&lines.file);
		name_places(owner, places, count, symbols, &lines);
		close(lines.file.fd);
	} else if (symbols != NULL) {
		name_places(owner, places, count, symbols, &lines);
	}
	symbols_close(symbols);
	if (error == 0)
		close(file.fd);
}

static void resolve_places(struct profile *owner, const struct place_list *all)
{
	for (size_t from = 0, to; from < all->count; from = to) {
		const struct place *first = &all->items[from];

		for (to = from + 1; to < all->count && compare_files(first, &all->items[to]) == 0;)
			to++;
		progress_show("reading symbols", from, all->count);
		if (first->file != NULL)
			resolve_file(owner, first, to - from);
	}
	for (size_t i = 0; i < all->count; i++)
		names_recall(&all->items[i]);
}

static bool is_mangled(const char *name)
{
	return name != NULL && strncmp(name, "_Z", 2) == 0 && strlen(name) < NAME_MOST;
}

static int compare_names(const void *left, const void *right)
{
	const char *const *const *a = left, *const *const *b = right;

	return strcmp(**a, **b);
}

/* Demangles each name once, even if several profiles have it. */
static void demangle_each(struct profile *owner, const char ***found, size_t count)
{
	const char ***each = profile_allocate(owner, count, sizeof(*each));
	size_t *as = profile_allocate(owner, count, sizeof(*as)), apart = 0;

	qsort(found, count, sizeof(*found), compare_names);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || strcmp(*found[i], *each[apart - 1]) != 0)
			each[apart++] = found[i];
		as[i] = apart - 1;
	}
	demangle_all(owner, each, apart);
	for (size_t i = 0; i < count; i++)
		*found[i] = *each[as[i]];
}

/* The fields that hold mangled names. */
struct mangled {
	const char ***items;
	size_t count;
};

static void add_mangled(struct mangled *list, const char **name)
{
	if (is_mangled(*name))
		list->items[list->count++] = name;
}

/* Frames with the same place share the list of inlined functions, so it may be added repeatedly. */
static void add_frame(struct mangled *list, struct profile_frame *frame)
{
	add_mangled(list, &frame->function);
	for (size_t i = 0; frame->inlined != NULL && i < frame->inlined->count; i++)
		add_mangled(list, &frame->inlined->items[i].function);
}

static void add_events(struct mangled *list, struct profile *profile)
{
	for (size_t i = 0; i < profile->kernel_count; i++) {
		struct profile_kernel *kernel = &profile->kernels[i];

		kernel->readable = kernel->name != NULL ? kernel->name : NO_NAME;
		add_mangled(list, &kernel->readable);
	}
	for (size_t i = 0; i < profile->events.name_count; i++) {
		add_mangled(list, &profile->events.names[i]);
		if (profile->events.names[i][0] == '\0')
			profile->events.names[i] = NO_NAME;
	}
}

void names_find(struct profile *profiles, size_t count, bool places)
{
	struct place_list all = names_places(profiles, count);
	struct mangled mangled = { NULL, 0 };
	size_t most = all.count;

	/* A return address is after its call, possibly in the next line. */
	for (size_t i = 0; i < all.count; i++)
		all.items[i].frame->offset -=
			all.items[i].is_return && all.items[i].frame->offset > 0;
	qsort(all.items, all.count, sizeof(*all.items), compare_places);
	if (places)
		resolve_places(profiles, &all);
	for (size_t i = 0; i < count; i++)
		most += profiles[i].kernel_count + profiles[i].events.name_count;
	for (size_t i = 0; i < all.count; i++)
		if (all.items[i].frame->inlined != NULL)
			most += all.items[i].frame->inlined->count;
	mangled.items = profile_allocate(profiles, most, sizeof(*mangled.items));
	for (size_t i = 0; i < count; i++)
		add_events(&mangled, &profiles[i]);
	for (size_t i = 0; i < all.count; i++)
		add_frame(&mangled, all.items[i].frame);
	demangle_each(profiles, mangled.items, mangled.count);
	progress_clear();
}

void names_resolve(struct profile *profiles, size_t count, bool places)
{
	names_find(profiles, count, places);
	names_unfold(profiles, count);
}
