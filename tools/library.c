/*
 * library.c - finds libhotpin.so relative to the running hotpin, so that a build tree, an
 * installation and a copy work without configuration.
 */
#include "library.h"
#include "hotpin.h"
#include "program.h"
#include "base/parse.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "libhotpin.so"

/*
 * Relative to the folder of hotpin: the build tree, the folder of the installation, common folders.
 */
static const char *const places[] = {
	"../src/" NAME,
	HOTPIN_LIBDIR "/" NAME,
	"../lib/" NAME,
	"../lib64/" NAME,
};

static int own_folder(char *ret, size_t room)
{
	ssize_t length = readlink("/proc/self/exe", ret, room - 1);

	if (length < 0)
		return -errno;
	ret[length] = '\0';
	*strrchr(ret, '/') = '\0';
	return 0;
}

static int find_next_to(char *ret)
{
	char folder[PATH_MAX], path[PATH_MAX + 64];

	if (own_folder(folder, sizeof(folder)) < 0) {
		hotpin_say("cannot read /proc/self/exe (%m); name the library with --library");
		return -ENOENT;
	}
	for (size_t i = 0; i < HP_LEN(places); i++) {
		/*
		 * Only the folder is resolved: the link itself must stay in LD_PRELOAD, because a
		 * program may start others after an upgrade has replaced its target.
		 */
		snprintf(path, sizeof(path), "%s/%s", folder, places[i]);
		*strrchr(path, '/') = '\0';
		if (realpath(path, ret) == NULL || strlen(ret) + sizeof("/" NAME) > PATH_MAX)
			continue;
		strcat(ret, "/" NAME);
		if (access(ret, F_OK) == 0)
			return 0;
	}
	hotpin_say("libhotpin.so is missing: it is in none of ../src, %s, ../lib and ../lib64, "
		   "relative to %s; install it, or name it with --library",
		   HOTPIN_LIBDIR, folder);
	return -ENOENT;
}

int library_find(const char *given, char *ret, size_t room)
{
	char path[PATH_MAX];
	struct program library;

	if (given == NULL && find_next_to(path) < 0)
		return -ENOENT;
	if (given != NULL && realpath(given, path) == NULL) {
		hotpin_say("cannot open the library %s: %m", given);
		return -ENOENT;
	}
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
