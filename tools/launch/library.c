/*
 * library.c - finds libhotpin.so relative to the running hotpin, so that a build tree, an
 * installation and a copy work without configuration.
 */
#include "launch/library.h"
#include "system/messages.h"
#include "launch/program.h"
#include "base/parse.h"
#include "base/trust.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "libhotpin.so"

/*
 * Relative to the folder of hotpin: the build tree, the folder of the installation, common folders.
 */
static const char *const relative_paths[] = {
	"../src/" NAME,
	HOTPIN_LIBDIR "/" NAME,
	"../lib/" NAME,
	"../lib64/" NAME,
};

static int refuse(const char *path)
{
	hotpin_say("%s is not used, because other users can change it or its directories; copy it "
		   "to a directory that only you can write",
		   path);
	return -EPERM;
}

/* Returns the length of the path without its last part. */
static size_t length_of_folder(const char *path, size_t length)
{
	while (length > 0 && path[--length] != '/')
		;
	return length;
}

/*
 * The folder above hotpin's may be one like /tmp, where others can place a library.  Users who can
 * replace hotpin itself need no library.  `folder` is the length of hotpin's folder.
 */
static bool is_trusted(const char *hotpin, size_t folder, const char *relative)
{
	char path[PATH_MAX + 64];

	if (strncmp(relative, "../", 3) == 0) {
		folder = length_of_folder(hotpin, folder);
		relative += 3;
	}
	snprintf(path, sizeof(path), "%.*s/%s", (int)folder, hotpin, relative);
	return hp_trust_library(path, folder) == 0 || hp_trust_library(hotpin, folder) != 0;
}

static int find_next_to(char *ret)
{
	char hotpin[PATH_MAX], path[2 * PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", hotpin, sizeof(hotpin) - 1);

	if (length < 0) {
		hotpin_say("cannot read /proc/self/exe (%m); name the library with --library");
		return -ENOENT;
	}
	hotpin[length] = '\0';
	size_t folder = length_of_folder(hotpin, (size_t)length);
	for (size_t i = 0; i < HP_LEN(relative_paths); i++) {
		/*
		 * Only the folder is resolved: the link itself must stay in LD_PRELOAD, because a
		 * program may start others after an upgrade has replaced its target.
		 */
		snprintf(path, sizeof(path), "%.*s/%s", (int)folder, hotpin, relative_paths[i]);
		*strrchr(path, '/') = '\0';
		if (realpath(path, ret) == NULL || strlen(ret) + sizeof("/" NAME) > PATH_MAX)
			continue;
		strcat(ret, "/" NAME);
		if (access(ret, F_OK) == 0)
			return is_trusted(hotpin, folder, relative_paths[i]) ? 0 : refuse(ret);
	}
	hotpin_say("libhotpin.so is missing: it is in none of ../src, %s, ../lib and ../lib64, "
		   "relative to %.*s; install it, or name it with --library",
		   HOTPIN_LIBDIR, (int)folder, hotpin);
	return -ENOENT;
}

int library_find(const char *given, char *ret, size_t room)
{
	char path[PATH_MAX];
	struct program library;
	int error;

	if (given == NULL && (error = find_next_to(path)) < 0)
		return error;
	if (given != NULL && realpath(given, path) == NULL) {
		hotpin_say("cannot open the library %s: %m", given);
		return -ENOENT;
	}
	if (given != NULL && hp_trust_library(path, length_of_folder(path, strlen(path))) < 0)
		return refuse(path);
	if (program_inspect(path, &library) < 0 || library.kind != PROGRAM_ELF ||
	    !library.library) {
		if (library.kind == PROGRAM_FOREIGN)
			hotpin_say("%s is a %u-bit library for %s, which programs on this machine "
				   "cannot load",
				   path, library.bits, program_machine_name(library.machine));
		else
			hotpin_say("%s is not a library that programs can load", path);
		return -ENOEXEC;
	}
	if (!library.hotpin) {
		hotpin_say("%s is not hotpin's library; name a libhotpin.so", path);
		return -ENOEXEC;
	}
	if (strpbrk(path, " :") != NULL || strlen(path) >= room) {
		hotpin_say(
			"LD_PRELOAD cannot hold the path '%s'; move hotpin to a directory without "
			"spaces and colons",
			path);
		return -EINVAL;
	}
	strcpy(ret, path);
	return 0;
}
