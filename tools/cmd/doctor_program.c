/*
 * doctor_program.c - predicts from a program's file how hotpin will work in it.
 */
#include "cmd/doctor.h"
#include "launch/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void look_at_cuda(const struct program *program)
{
	if (program->needs_driver)
		doctor_find(WORKS, "cuda",
			    "binds %u functions of libcuda directly; hotpin sees their calls",
			    program->driver_names);
	if (program->needs_cudart)
		doctor_find(WORKS, "cuda", "links libcudart (shared)");
	else if (program->device_code)
		doctor_find(
			WORKS, "cuda",
			"has device code and a static cudart; hotpin sees its calls of the driver");
	else if (!program->needs_driver) {
		/* The program may be the first stage of a port, or load CUDA later. */
		doctor_uses_no_device();
		doctor_find(WORKS, "cuda",
			    "none in the program's own file; hotpin also sees what it loads later");
	}
}

static void look_at_elf(const char *file, const struct program *program)
{
	if (program->damaged)
		doctor_find(LIMITS, "program",
			    "%s: parts of the file are missing or damaged; build or copy it again",
			    file);
	if (!program->dynamic) {
		doctor_find(FAILS, "program", "%s: %s", file,
			    program->library
				    ? "a library, not a program; name a program that loads it"
				    : "statically linked, so hotpin cannot be preloaded into it; "
				      "link libc dynamically (cudart may stay static)");
		return;
	}
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
	if (program->needed[0] != '\0')
		doctor_find(WORKS, "needs", "%s", program->needed);
	if (program->run_path[0] != '\0')
		doctor_find(WORKS, "run path", "%s", program->run_path);
	look_at_cuda(program);
	if (program->own_malloc)
		doctor_find(
			LIMITS, "malloc",
			"the program exports its own malloc(), so its buffers are not pinned; link "
			"it without that allocator");
	if (program->needs_asan)
		doctor_find(FAILS, "sanitizer",
			    "AddressSanitizer must be loaded first, so hotpin cannot be; build the "
			    "program without it");
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
	int error = program_find(name, file, sizeof(file));

	if (error == -ENOENT) {
		if (strchr(name, '/') == NULL && access(name, F_OK) == 0)
			doctor_find(FAILS, "program", "%s is not in PATH; did you mean ./%s?", name,
				    name);
		else
			doctor_find(FAILS, "program", "there is no %s; check its name", name);
		return;
	}
	/* A file that cannot be executed can still be inspected. */
	if (error < 0)
		doctor_find(FAILS, "program", "%s: not an executable file; use chmod +x", file);
	if (program_inspect(file, &program) < 0)
		return;
	if (program.privileged)
		doctor_find(FAILS, "privileges",
			    "%s has privileges of its own (setuid, setgid or capabilities), so the "
			    "loader ignores LD_PRELOAD; run a copy without them",
			    file);
	switch (program.kind) {
	case PROGRAM_UNREADABLE:
		doctor_find(LIMITS, "program", "%s: cannot be read, so it was not checked", file);
		break;
	case PROGRAM_SCRIPT:
		look_at_script(file, program.interpreter);
		break;
	case PROGRAM_ELF:
		look_at_elf(file, &program);
		break;
	case PROGRAM_FOREIGN:
		doctor_find(
			FAILS, "program",
			"%s: a %u-bit program for %s, so this libhotpin.so cannot be loaded into "
			"it; build it for this machine",
			file, program.bits, program_machine_name(program.machine));
		break;
	default:
		doctor_find(LIMITS, "program",
			    "%s: neither ELF nor a script with #!; a shell may run it", file);
	}
}
