/*
 * Functions and lines of a program by address, and readable C++ names.
 *
 * Both functions run in a child with limits, since a stranger's file or name may exhaust or crash
 * the libraries that read it.  They write texts, each with a zero byte at its end.
 */
#ifndef HP_TOOLS_SYMBOLIZE_H
#define HP_TOOLS_SYMBOLIZE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SYMBOLIZE_TEXT                                                            \
	8192 /* bytes of the longest text, with its zero byte; longer ones are "" \
	      */

/* Whether a file is the one that ran. */
enum symbolize_match {
	SYMBOLIZE_NO_ELF,
	SYMBOLIZE_OTHER,    /* a program or library, but not the one that ran */
	SYMBOLIZE_LIKELY,   /* it is not newer than the run; there is no build ID to compare */
	SYMBOLIZE_VERIFIED, /* by its build ID */
};

struct symbolize_file {
	const char *path, *build_id; /* build_id: hexadecimal digits; NULL: not known */
	int64_t ended;             /* without a build ID: the file must not be newer; 0: any age */
	const char *debug;         /* a file with its lines, from debuginfod; NULL: none */
	const uint64_t *addresses; /* ascending, each once */
	size_t count;
};

/*
 * Writes a line of numbers: the errno for which the file is not read, or 0; an enum
 * symbolize_match; 1 if every user may read it; its modification time; 1 if only the user and root
 * could have made it and its lines; 1 if it has lines.  For each address follow the functions that
 * are inlined there, innermost first, and the one that contains the code.  Each is a line "+", or
 * "." for the last one, and the texts function, path and number of the line; "" if not known.
 *
 * The file is opened by named_open(), and so are its debug files.  Nothing else can be opened.
 */
void symbolize_file(const struct symbolize_file *file, FILE *to);

/* Writes the readable form of a mangled name; "" if there is none. */
void symbolize_name(const char *mangled, FILE *to);

/* Loads libstdc++, which demangles.  Called first. */
void symbolize_start(void);

#endif
