/*
 * Functions and lines of a program by address, and readable C++ names.
 *
 * Both functions run in a child with limits, since a stranger's file or name may exhaust or crash
 * the libraries that read it.  They write lines of JSON.
 */
#ifndef HP_TOOLS_NAMES_SYMBOLIZE_H
#define HP_TOOLS_NAMES_SYMBOLIZE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SYMBOLIZE_NAME_MOST 8192 /* bytes of a name; a longer one is not known */

struct symbolize_file {
	const char *path, *build_id; /* build_id: hexadecimal digits; NULL: not known */
	int64_t ended;             /* without a build ID: the file must not be newer; 0: any age */
	const char *debug;         /* a file with its lines, from debuginfod; NULL: none */
	const uint64_t *addresses; /* ascending, each once */
	size_t count;
};

/*
 * Writes the record profile_found_file of base/profile.def.  If the file is the one that ran,
 * profile_name follows for each address.
 *
 * The file is opened by untrusted_file_open(), and so are its debug files.  Nothing else can be
 * opened.
 */
void symbolize_file(const struct symbolize_file *file, FILE *to);

/* Writes the record profile_found_name. */
void symbolize_name(const char *mangled, FILE *to);

/* Loads libstdc++, which demangles.  Called first, by the parent: its children need not. */
void symbolize_start(void);

#endif
