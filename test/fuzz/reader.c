/*
 * reader.c - lets libFuzzer run every command that reads a profile.
 *
 * Everything runs in one process: demangling and looking up lines would need children, so only the
 * names in the profile are known.
 */
#include "system/child.h"
#include "cmd/commands.h"
#include "system/messages.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
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

int hotpin_misused(const char *command, const char *format, ...)
{
	(void)format;
	return command[0] == '\0';
}

bool child_start(struct child *ret, unsigned mib_most, void (*body)(void *arg), void *arg)
{
	(void)mib_most;
	(void)body;
	(void)arg;
	*ret = (struct child){ .answers = NULL };
	return false;
}

int child_end(struct child *child)
{
	(void)child;
	return -1;
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
	static const char *const tables[] = {
		"summary", "copies", "sizes",    "kernels", "sites",
		"buffers", "ranges", "counters", "calls",   "advice"
	};
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
	try(hotpin_annotate, "--source", "/", path, NULL);
	try(hotpin_report, "--folded", NULL, path, NULL);
	try(hotpin_compare, "--force", NULL, path, path);
	try(hotpin_compare, "--force", NULL, second, path);
	try(hotpin_compare, "--force", NULL, path, second);
	try(hotpin_html, NULL, NULL, path, NULL);
	try(hotpin_html, NULL, NULL, path, second);
	try(hotpin_trace, NULL, NULL, path, NULL);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		try(hotpin_report, "--csv", tables[i], path, NULL);
	fflush(stdout);
	return 0;
}
