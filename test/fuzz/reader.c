/*
 * reader.c - lets libFuzzer run every command that reads a profile.
 *
 * Everything runs in one process: demangling and looking up lines would need children, so these are
 * left out.
 */
#include "hotpin.h"
#include "names.h"
#include "names_places.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void hotpin_say(const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
}

int hotpin_help(const char *command)
{
	return command[0] == '\0';
}

int hotpin_misused(const char *command)
{
	return command[0] == '\0';
}

static void name_frame(struct profile_frame *frame)
{
	static const char *const paths[] = { "/proc/self/maps", "/usr/include/stdio.h",
					     "/nowhere/../solve.cu", "" };

	frame->function = "solve";
	/* The offset may be unknown. */
	frame->path = paths[(uint64_t)frame->offset % 4];
	frame->number = (int64_t)((uint64_t)frame->offset % 100) + 1;
}

static void name_all(struct profile *profile, bool places)
{
	for (size_t i = 0; i < profile->kernel_count; i++)
		profile->kernels[i].readable =
			profile->kernels[i].name != NULL ? profile->kernels[i].name : "(no name)";
	for (size_t i = 0; i < profile->site_count && places; i++)
		for (size_t j = 0; j < profile->sites[i].frames.count; j++)
			name_frame(&profile->sites[i].frames.items[j]);
	for (size_t i = 0; i < profile->sample_count && places; i++)
		for (size_t j = 0; j < profile->samples[i].frames.count; j++)
			name_frame(&profile->samples[i].frames.items[j]);
}

void names_find(struct profile *profiles, size_t count, bool places)
{
	struct place_list all = names_places(profiles, count);

	for (size_t i = 0; i < all.count && places; i++)
		names_recall(&all.items[i]);
	for (size_t i = 0; i < count; i++)
		name_all(&profiles[i], places);
}

void names_resolve(struct profile *profiles, size_t count, bool places)
{
	names_find(profiles, count, places);
	names_unfold(profiles, count);
}

static void try(int (*command)(int argc, char **argv), const char *flag, const char *value,
		const char *path, const char *second)
{
	char *argv[6] = { "hotpin" };
	int argc = 1;
	const char *words[] = { flag, value, path, second };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i] != NULL)
			argv[argc++] = (char *)words[i];
	/* Makes glibc's getopt start over. */
	optind = 0;
	command(argc, argv);
}

/* Returns a file that can be written again and again. */
static int make_file(char path[64])
{
	int file = memfd_create("profile", MFD_CLOEXEC);

	snprintf(path, 64, "/proc/self/fd/%d", file);
	return file;
}

static bool put(int file, const void *data, size_t size)
{
	return ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A stage that differs in everything. */
	static const char other[] =
		"{\"schema\": \"hotpin.profile\", \"schema_version\": \"2.0\", \"wall_ns\": 9000000,"
		"\"stage\": \"another\", \"process\": {\"program\": \"heat\"}}";
	static const char *const tables[] = { "summary", "transfers", "sizes",     "kernels",
					      "sites",   "buffers",   "stages",    "counters",
					      "calls",   "advice",    "durations", "tracks",
					      "events" };
	static char path[64], second[64];
	static int file = -1, second_file;

	if (file < 0) {
		file = make_file(path);
		second_file = make_file(second);
	}
	if (!put(file, data, size) || !put(second_file, other, sizeof(other) - 1))
		return 0;
	try(hotpin_report, "--all", NULL, path, NULL);
	try(hotpin_report, "--force", NULL, path, path);
	try(hotpin_annotate, NULL, NULL, path, NULL);
	try(hotpin_annotate, "--source", "/", path, "solve.cu");
	try(hotpin_csv, "--folded", NULL, path, NULL);
	try(hotpin_compare, "--force", NULL, path, path);
	try(hotpin_compare, "--force", NULL, second, path);
	try(hotpin_compare, "--force", "--json", path, second);
	try(hotpin_compare, "--force", "--markdown", path, second);
	try(hotpin_html, NULL, NULL, path, NULL);
	try(hotpin_html, NULL, NULL, path, second);
	try(hotpin_trace, NULL, NULL, path, NULL);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		try(hotpin_csv, "--table", tables[i], path, NULL);
	fflush(stdout);
	return 0;
}
