/*
 * Finds the file that would run, and the facts in it that decide whether hotpin can act.
 */
#ifndef HP_TOOLS_LAUNCH_PROGRAM_H
#define HP_TOOLS_LAUNCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum program_kind {
	PROGRAM_UNREADABLE, /* may run nevertheless */
	PROGRAM_SCRIPT,     /* #! */
	PROGRAM_ELF,        /* of this machine */
	PROGRAM_FOREIGN,    /* ELF of another class or machine */
	PROGRAM_OTHER,      /* neither: a shell may run it */
	PROGRAM_KIND_COUNT
};

struct program {
	enum program_kind kind;
	bool privileged; /* runs with other rights: the loader ignores LD_PRELOAD */

	/* A script's #! line, or the loader that an ELF file requests; "" if there is none. */
	char interpreter[256];

	/* ELF */
	unsigned bits, machine;
	bool damaged; /* a table lies outside the file: the fields below may be incomplete */
	bool library; /* a shared library, not a program */
	bool hotpin;  /* libhotpin.so itself, by its soname */
	bool dynamic; /* has a loader that would read LD_PRELOAD */
	bool needs_cudart, needs_driver;
	const char *sanitizer; /* whose runtime allows no preloaded library; NULL: none */
	bool device_code;      /* carries CUDA device code */
	bool own_malloc;       /* exports a malloc that wins over a preloaded one */
};

/*
 * Writes the file that execvp(name) would run to `ret`.  Returns 0, -ENOENT, or -EACCES if the file
 * cannot be run (`ret` is written).
 */
int program_find(const char *name, char *ret, size_t room);

/* Inspects the file at `path`.  Any file is safe to inspect.  Returns 0 or -errno. */
int program_inspect(const char *path, struct program *ret);

/*
 * Returns why hotpin cannot act in the program, and what helps, after its name; NULL: it can.
 * *ret_alone: the program must run without the library; otherwise the library acts in programs that
 * it starts.
 */
const char *program_obstacle(const struct program *program, bool *ret_alone);

/* Returns the name of an ELF machine number: "x86-64", ..., or "machine" for others. */
const char *program_machine_name(unsigned machine);

#endif
