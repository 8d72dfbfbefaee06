/*
 * doctor_program.c - predicts from a program's file how hotpin will work in it.
 */
#include "cmd/doctor.h"
#include "launch/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void look_at_elf(const char *file, const struct program *program)
{
	bool alone;
	const char *obstacle = program_obstacle(program, &alone);

	if (program->damaged)
		doctor_find(LIMITS, "program",
			    "%s: parts of the file are missing or damaged; build or copy it again",
			    file);
	if (program->library || obstacle != NULL) {
		doctor_find(FAILS, "program", "%s %s", file,
			    program->library
				    ? "is a library, not a program; name a program that loads it"
				    : obstacle);
		return;
	}
	if (program->interpreter[0] == '\0')
		return;
	if (access(program->interpreter, X_OK) < 0)
		doctor_find(FAILS, "program", "%s: its loader %s cannot be run (%m)", file,
			    program->interpreter);
	else if (strstr(program->interpreter, "ld-musl") != NULL)
		doctor_find(FAILS, "program",
			    "%s: built for musl, but libhotpin.so needs glibc; build it for glibc",
			    file);
	else
		doctor_find(WORKS, "program", "%s: dynamically linked by %s", file,
			    program->interpreter);
	if (program->needs_driver || program->needs_cudart || program->device_code) {
		doctor_find(WORKS, "cuda", "%s",
			    program->needs_driver   ? "links libcuda"
			    : program->needs_cudart ? "links libcudart (shared)"
						    : "has device code and a static cudart");
	} else {
		/* The program may be the first stage of a port, or load CUDA later. */
		doctor_uses_no_device();
		doctor_find(WORKS, "cuda",
			    "none in the program's own file; hotpin also sees what it loads later");
	}
	if (program->own_malloc)
		doctor_find(
			LIMITS, "malloc",
			"the program exports its own malloc(), so its buffers are not pinned; link "
			"it without that allocator");
}

static void look_at_script(const char *file, const char *line)
{
	char name[256], interpreter[PATH_MAX];
	struct program program;

	doctor_find(WORKS, "program", "%s: a script for %s", file, line);

	/* `#!/usr/bin/env [-S] name` is the usual way to find the interpreter in PATH. */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, " \t"), line);
	const char *rest = line + strlen(name) + strspn(line + strlen(name), " \t");
	const char *slash = strrchr(name, '/');
	if (slash != NULL && strcmp(slash, "/env") == 0 && rest[0] != '\0') {
		if (strncmp(rest, "-S ", 3) == 0)
			rest += 3;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(rest, " \t"), rest);
	}
	if (program_find(name, interpreter, sizeof(interpreter)) < 0)
		doctor_find(FAILS, "interpreter", "%s does not exist; install it", name);
	else if (program_inspect(interpreter, &program) == 0 && program.kind == PROGRAM_ELF)
		look_at_elf(interpreter, &program);
}

void doctor_program(const char *name)
{
	char file[PATH_MAX] = "";
	struct program program;
	struct stat status;
	int error = program_find(name, file, sizeof(file));

	if (error == -ENOENT) {
		if (strchr(name, '/') == NULL && access(name, F_OK) == 0)
			doctor_find(FAILS, "program", "%s is not in PATH; did you mean ./%s?", name,
				    name);
		else
			doctor_find(FAILS, "program", "there is no %s; check its name", name);
		return;
	}
	if (error < 0 && stat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
		doctor_find(FAILS, "program", "%s is a directory; name a program in it", file);
		return;
	}
	/* A file that cannot be executed can still be inspected, but no device and no pipe. */
	bool is_inspected = program_inspect(file, &program) == 0;
	if (error < 0 && !program.library)
		doctor_find(FAILS, "program", "%s: not an executable file; use chmod +x", file);
	if (!is_inspected)
		return;
	switch (program.kind) {
	case PROGRAM_UNREADABLE:
		doctor_find(LIMITS, "program", "%s: cannot be read, so it was not checked", file);
		break;
	case PROGRAM_SCRIPT:
		look_at_script(file, program.interpreter);
		break;
	case PROGRAM_ELF:
	case PROGRAM_FOREIGN:
		look_at_elf(file, &program);
		break;
	default:
		doctor_find(LIMITS, "program",
			    "%s: neither ELF nor a script with #!; a shell may run it", file);
	}
}
