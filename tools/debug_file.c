/*
 * debug_file.c - finds separate debug files, as gdb does ("Debugging Information in Separate
 * Files").
 *
 * A tool that reads line tables also opens the files that .gnu_debuglink and .gnu_debugaltlink
 * name, which may be any files.  So these links are followed here, or not at all.
 */
#include "debug_file.h"
#include "elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM "/usr/lib/debug"

/* A tool that finds .debug_info follows no .gnu_debuglink. */
static bool has_lines(const struct elf *elf)
{
	return (elf_section(elf, ".debug_info") != NULL ||
		elf_section(elf, ".zdebug_info") != NULL) &&
	       elf_section(elf, ".gnu_debugaltlink") == NULL;
}

static bool try(const char *path, const char *build_id, struct named *ret)
{
	char id[ELF_BUILD_ID_ROOM] = "";
	struct elf elf;

	if (named_open(path, ret) < 0)
		return false;
	bool found = elf_open(ret->fd, &elf) && has_lines(&elf) && named_is_readable(ret);
	if (found)
		elf_build_id(&elf, id);
	elf_close(&elf);
	if (found && strcmp(id, build_id) == 0)
		return true;
	close(ret->fd);
	return false;
}

/* Tries the places of a debug file with that name. */
static bool try_name(const struct named *program, const char *name, const char *build_id,
		     struct named *ret)
{
	static const char *const places[][2] = { { "", "" }, { "", ".debug/" }, { SYSTEM, "" } };
	const char *slash = strrchr(program->path, '/');
	char path[PATH_MAX];

	for (size_t i = 0; slash != NULL && i < sizeof(places) / sizeof(places[0]); i++) {
		int length =
			snprintf(path, sizeof(path), "%s%.*s/%s%s", places[i][0],
				 (int)(slash - program->path), program->path, places[i][1], name);

		if (length < (int)sizeof(path) && try(path, build_id, ret))
			return true;
	}
	return false;
}

static bool find_separate(const struct named *program, struct elf *elf, struct named *ret)
{
	const Elf64_Shdr *link = elf_section(elf, ".gnu_debuglink");
	char id[ELF_BUILD_ID_ROOM], path[sizeof(SYSTEM) + 32 + sizeof(id)];

	elf_build_id(elf, id);
	if (strlen(id) < 8)
		return false;
	snprintf(path, sizeof(path), SYSTEM "/.build-id/%.2s/%s.debug", id, id + 2);
	if (try(path, id, ret))
		return true;
	char *name = link != NULL ? elf_read(elf, link->sh_offset, link->sh_size) : NULL;
	/* A linker writes a name without a folder. */
	bool found = name != NULL && name[0] != '\0' && strchr(name, '/') == NULL &&
		     try_name(program, name, id, ret);
	free(name);
	return found;
}

bool debug_file_find(const struct named *program, struct named *ret)
{
	struct elf elf;
	bool found = elf_open(program->fd, &elf);

	if (found && has_lines(&elf)) {
		*ret = *program;
		ret->fd = fcntl(program->fd, F_DUPFD_CLOEXEC, 0);
		found = ret->fd >= 0;
	} else if (found) {
		found = find_separate(program, &elf, ret);
	}
	elf_close(&elf);
	return found;
}
