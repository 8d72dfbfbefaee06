/*
 * names_resolve.c - symbols, lines and demangled names, by means of what the machine has.
 *
 * libstdc++ demangles and addr2line finds lines.  Both work on what a profile names, which may be
 * made to exhaust them, so both run in a child with limits.  What they do not find stays as it is.
 */
#include "names.h"
#include "progress.h"
#include "symbols.h"
#include "base/parse.h"
#include "base/units.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME_MOST    8192 /* of a demangled name, with its zero byte */
#define DEATHS_MOST  4
#define LINES_A_TIME 128
#define SECONDS_MOST 20

/* Starts `body` in a child whose output is read from the file returned; NULL: it could not be. */
static FILE *start_child(void (*body)(void *arg), void *arg, pid_t *ret_child)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	fflush(NULL);
	*ret_child = fork();
	if (*ret_child == 0) {
		struct rlimit seconds = { SECONDS_MOST, SECONDS_MOST };
		struct rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CPU, &seconds);
		setrlimit(RLIMIT_CORE, &no_core);
		/* Their diagnostics are about files that the user did not name. */
		int nowhere = open("/dev/null", O_RDWR);
		if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 ||
		    dup2(nowhere, STDERR_FILENO) < 0 || dup2(ends[1], STDOUT_FILENO) < 0)
			_exit(1);
		body(arg);
		_exit(0);
	}
	close(ends[1]);
	FILE *file = *ret_child > 0 ? fdopen(ends[0], "r") : NULL;
	if (file == NULL)
		close(ends[0]);
	return file;
}

static void end_child(FILE *file, pid_t child)
{
	int status;

	if (file != NULL)
		fclose(file);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
}

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
/* The sanitizer's own maps are larger. */
#ifndef __SANITIZE_ADDRESS__
	/* A few bytes of a name can stand for gigabytes. */
	struct rlimit room = { (rlim_t)512 << 20, (rlim_t)512 << 20 };

	setrlimit(RLIMIT_AS, &room);
#endif
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

static const char *copy_text(struct profile *profile, const char *text)
{
	char *copy = profile_allocate(profile, strlen(text) + 1, 1);

	strcpy(copy, text);
	return copy;
}

/* What is understood without libstdc++. */
static const char *shorten(struct profile *profile, const char *mangled)
{
	char short_name[512];

	if (strlen(mangled) >= sizeof(short_name))
		return mangled;
	return copy_text(profile, units_kernel_name(short_name, sizeof(short_name), mangled));
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
		pid_t child = 0;
		FILE *answers = start_child(demangle_batch, &batch, &child);
		size_t length = 0;
		int byte;

		while (answers != NULL && done < count && (byte = fgetc(answers)) != EOF) {
			if (length < sizeof(line) - 1)
				line[length++] = (char)byte;
			if (byte != '\0')
				continue;
			*places[done] = length > 1 ? copy_text(profile, line)
						   : shorten(profile, names[done]);
			progress_show("demangling names", ++done, count);
			length = 0;
		}
		end_child(answers, child);
		/* The one that it died of. */
		if (done < count) {
			*places[done] = shorten(profile, names[done]);
			done++;
		}
	}
	for (; done < count; done++)
		*places[done] = shorten(profile, names[done]);
}

struct frame_list {
	struct profile_frame **items;
	size_t count;
};

static void add_frames(struct frame_list *list, struct profile_frames *frames, bool data)
{
	for (size_t i = 0; i < frames->count; i++) {
		/* A return address is past its call; the place of data is the place. */
		frames->items[i].offset -= !data && frames->items[i].offset > 0;
		list->items[list->count++] = &frames->items[i];
	}
}

static struct frame_list all_frames(struct profile *profile)
{
	struct frame_list list = { NULL, 0 };
	size_t most = (profile->site_count + profile->buffer_count) * PROFILE_FRAMES_MOST;

	list.items = profile_allocate(profile, most, sizeof(struct profile_frame *));
	for (size_t i = 0; i < profile->site_count; i++)
		add_frames(&list, &profile->sites[i].frames, false);
	for (size_t i = 0; i < profile->buffer_count; i++)
		add_frames(&list, &profile->buffers[i].frames,
			   strcmp(profile->buffers[i].kind, "static") == 0);
	return list;
}

struct lines {
	const char *path;
	struct profile_frame **frames;
	size_t count;
};

/*
 * Root looks at another user's profile, or at files that one may have made: addr2line reads them
 * with that user's rights alone.
 */
static bool leave_rights(const char *path)
{
	struct stat file;

	if (geteuid() != 0)
		return true;
	if (stat(path, &file) < 0)
		return false;
	return file.st_uid == 0 ||
	       (setgroups(0, NULL) == 0 && setgid(file.st_gid) == 0 && setuid(file.st_uid) == 0);
}

static void exec_addr2line(void *arg)
{
	const struct lines *lines = arg;
	static char addresses[LINES_A_TIME][20];
	const char *args[LINES_A_TIME + 4] = { "addr2line", "-e", lines->path };

	for (size_t i = 0; i < lines->count; i++) {
		snprintf(addresses[i], sizeof(addresses[i]), "0x%llx",
			 (unsigned long long)lines->frames[i]->offset);
		args[i + 3] = addresses[i];
	}
	if (leave_rights(lines->path))
		execvp("addr2line", (char **)args);
}

/* One line of answer each: "/home/me/solve.cu:42 (discriminator 3)", or "??:0". */
static void find_lines(struct profile *profile, const struct lines *lines)
{
	char line[4096];
	pid_t child = 0;
	FILE *answers = start_child(exec_addr2line, (void *)lines, &child);

	for (size_t i = 0; i < lines->count && answers != NULL; i++) {
		if (fgets(line, sizeof(line), answers) == NULL)
			break;
		line[strcspn(line, " \n")] = '\0';
		const char *colon = strrchr(line, ':'), *slash = strrchr(line, '/');
		if (colon != NULL && colon[1] >= '1' && colon[1] <= '9' && line[0] != '?')
			lines->frames[i]->line =
				copy_text(profile, slash != NULL ? slash + 1 : line);
	}
	end_child(answers, child);
}

static int64_t ended_at(const struct profile *profile)
{
	struct tm when = { 0 };

	if (profile->process.ended_utc == NULL ||
	    strptime(profile->process.ended_utc, "%Y%m%d-%H%M%S", &when) == NULL)
		return 0;
	return timegm(&when);
}

static bool has_frames_of(const struct frame_list *all, size_t module)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i]->module == (int64_t)module)
			return true;
	return false;
}

static void resolve_module(struct profile *profile, size_t module, const struct frame_list *all)
{
	const struct profile_module *file = &profile->modules[module];
	struct profile_frame *found[LINES_A_TIME];
	struct lines lines = { file->path, found, 0 };
	struct symbols *symbols = NULL;
	bool other = false;

	if (file->path != NULL && file->path[0] == '/')
		symbols = symbols_open(file->path, file->build_id, ended_at(profile), &other);
	if (other && profile->other_build == NULL && has_frames_of(all, module))
		profile->other_build = file->path;
	if (symbols == NULL)
		return;
	for (size_t i = 0; i < all->count; i++) {
		struct profile_frame *frame = all->items[i];

		if (frame->module != (int64_t)module)
			continue;
		const char *name = symbols_find(symbols, (uint64_t)frame->offset);
		if (name != NULL && strlen(name) < NAME_MOST)
			frame->function = copy_text(profile, name);
		if (!symbols_have_lines(symbols))
			continue;
		found[lines.count++] = frame;
		if (lines.count == LINES_A_TIME) {
			find_lines(profile, &lines);
			lines.count = 0;
		}
	}
	if (lines.count > 0)
		find_lines(profile, &lines);
	symbols_close(symbols);
}

static bool is_mangled(const char *name)
{
	return name != NULL && strncmp(name, "_Z", 2) == 0 && strlen(name) < NAME_MOST;
}

void names_resolve(struct profile *profile, bool places)
{
	struct frame_list frames = all_frames(profile);
	size_t most = profile->kernel_count + profile->events.name_count + frames.count, count = 0;
	const char ***found = profile_allocate(profile, most, sizeof(*found));

	for (size_t i = 0; places && i < profile->module_count; i++) {
		progress_show("reading symbols", i, profile->module_count);
		resolve_module(profile, i, &frames);
	}
	for (size_t i = 0; i < profile->kernel_count; i++) {
		struct profile_kernel *kernel = &profile->kernels[i];

		kernel->readable = kernel->name != NULL ? kernel->name : "(no name)";
		if (is_mangled(kernel->name))
			found[count++] = &kernel->readable;
	}
	for (size_t i = 0; i < profile->events.name_count; i++)
		if (is_mangled(profile->events.names[i]))
			found[count++] = &profile->events.names[i];
	for (size_t i = 0; i < frames.count; i++)
		if (is_mangled(frames.items[i]->function))
			found[count++] = &frames.items[i]->function;
	demangle_all(profile, found, count);
	progress_clear();
}
