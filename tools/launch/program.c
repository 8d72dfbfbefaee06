/*
 * program.c - finds a program and reads its ELF tables with libelf.
 */
#include "launch/program.h"
#include "base/parse.h"
#include "system/untrusted_file.h"

#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OWN_MACHINE EM_X86_64

struct image {
	int fd;
	uint64_t size;
	Elf64_Ehdr header;
	Elf *elf;
};

static bool runnable(const char *path, int *ret_error)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return false;
	if (S_ISREG(status.st_mode) && access(path, X_OK) == 0)
		return true;
	*ret_error = -EACCES;
	return false;
}

int program_find(const char *name, char *ret, size_t room)
{
	int error = -ENOENT;
	char candidate[PATH_MAX];
	const char *path = getenv("PATH");

	if (strchr(name, '/') != NULL || name[0] == '\0') {
		snprintf(ret, room, "%s", name);
		return runnable(name, &error) ? 0 : error;
	}
	if (path == NULL)
		path = "/bin:/usr/bin";
	for (;;) {
		int length = (int)strcspn(path, ":");
		int refused = -ENOENT;

		snprintf(candidate, sizeof(candidate), "%.*s%s%s", length, path,
			 length > 0 ? "/" : "./", name);
		bool found = runnable(candidate, &refused);
		if (found || (refused == -EACCES && error == -ENOENT))
			snprintf(ret, room, "%s", candidate);
		if (found)
			return 0;
		if (refused == -EACCES)
			error = refused;
		path += length;
		if (*path++ == '\0')
			return error;
	}
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void note_needed(struct program *program, const char *name)
{
	static const struct {
		const char *gcc, *clang, *name;
	} sanitizers[] = {
		{ "libasan.so", "libclang_rt.asan", "AddressSanitizer" },
		{ "libtsan.so", "libclang_rt.tsan", "ThreadSanitizer" },
	};

	program->needs_cudart |= starts(name, "libcudart.so");
	program->needs_driver |= starts(name, "libcuda.so");
	for (size_t i = 0; i < HP_LEN(sanitizers); i++)
		if (starts(name, sanitizers[i].gcc) || starts(name, sanitizers[i].clang))
			program->sanitizer = sanitizers[i].name;
}

static void read_dynamic(struct image *image, Elf_Data *data, size_t strings,
			 struct program *program)
{
	GElf_Dyn entry;

	for (int i = 0; gelf_getdyn(data, i, &entry) != NULL && entry.d_tag != DT_NULL; i++) {
		/* A program without a loader: -static-pie. */
		if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE) != 0)
			program->library = false;
		if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME)
			continue;
		const char *name = elf_strptr(image->elf, strings, entry.d_un.d_val);

		if (name == NULL)
			program->damaged = true;
		else if (entry.d_tag == DT_SONAME)
			program->hotpin = starts(name, "libhotpin.so.");
		else
			note_needed(program, name);
	}
}

static void read_symbols(struct image *image, Elf_Data *data, size_t strings,
			 struct program *program)
{
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(data, i, &symbol) != NULL; i++) {
		const char *name = elf_strptr(image->elf, strings, symbol.st_name);

		if (name == NULL)
			program->damaged = true;
		else if (symbol.st_shndx != SHN_UNDEF)
			program->own_malloc |= strcmp(name, "malloc") == 0;
	}
}

/* A program whose sections were removed still runs, but less is known of it. */
static void read_sections(struct image *image, struct program *program)
{
	const Elf64_Ehdr *header = &image->header;
	uint64_t table_bytes = (uint64_t)header->e_shnum * header->e_shentsize;
	Elf_Scn *section = NULL;
	GElf_Shdr title;

	program->damaged |=
		header->e_shoff > image->size || table_bytes > image->size - header->e_shoff;
	while ((section = elf_nextscn(image->elf, section)) != NULL) {
		if (gelf_getshdr(section, &title) == NULL) {
			program->damaged = true;
			continue;
		}
		const char *name = elf_strptr(image->elf, header->e_shstrndx, title.sh_name);
		program->device_code |= name != NULL && (strcmp(name, ".nv_fatbin") == 0 ||
							 strcmp(name, "__nv_relfatbin") == 0);
		if (title.sh_type != SHT_DYNAMIC && title.sh_type != SHT_DYNSYM)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		program->damaged |= data == NULL;
		(title.sh_type == SHT_DYNAMIC ? read_dynamic
					      : read_symbols)(image, data, title.sh_link, program);
	}
}

static void read_interpreter(struct image *image, const GElf_Phdr *segment, struct program *program)
{
	size_t room = sizeof(program->interpreter) - 1;
	size_t bytes = segment->p_filesz < room ? segment->p_filesz : room;

	program->dynamic = true;
	if (pread(image->fd, program->interpreter, bytes, (off_t)segment->p_offset) !=
	    (ssize_t)bytes)
		program->damaged = true;
}

static void read_segments(struct image *image, struct program *program)
{
	bool has_libraries = false;
	GElf_Phdr segment;

	for (int i = 0; i < image->header.e_phnum; i++) {
		if (gelf_getphdr(image->elf, i, &segment) == NULL) {
			program->damaged = true;
			break;
		}
		has_libraries |= segment.p_type == PT_DYNAMIC;
		if (segment.p_type == PT_INTERP && !program->dynamic)
			read_interpreter(image, &segment, program);
	}
	program->library = image->header.e_type == ET_DYN && !program->dynamic && has_libraries;
}

static void read_elf(struct image *image, struct program *program)
{
	const Elf64_Ehdr *header = &image->header;

	program->bits = header->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	program->machine = header->e_machine;
	program->kind = PROGRAM_FOREIGN;
	if (program->bits != 64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != OWN_MACHINE)
		return;
	program->kind = PROGRAM_ELF;
	elf_version(EV_CURRENT);
	/* The file is not mapped: if it shrinks at the same time, that is no SIGBUS. */
	image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
	program->damaged = elf_kind(image->elf) != ELF_K_ELF;
	if (!program->damaged) {
		read_segments(image, program);
		read_sections(image, program);
	}
	elf_end(image->elf);
}

static void read_script(int fd, struct program *program)
{
	char line[sizeof(program->interpreter) + 2] = "";

	program->kind = PROGRAM_SCRIPT;
	if (pread(fd, line, sizeof(line) - 1, 0) < 2)
		return;
	const char *start = line + 2 + strspn(line + 2, " \t");
	snprintf(program->interpreter, sizeof(program->interpreter), "%.*s",
		 (int)strcspn(start, "\r\n"), start);
}

/* True if exec() raises privileges: the loader ignores LD_PRELOAD (ld.so(8), secure execution). */
static bool is_privileged(int fd, const struct stat *status)
{
	bool user = (status->st_mode & S_ISUID) != 0 && status->st_uid != getuid();
	bool group = (status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		     status->st_gid != getgid();

	return user || group ||
	       (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

int program_inspect(const char *path, struct program *ret)
{
	struct image image = { .elf = NULL };
	struct untrusted_file file;
	int error = untrusted_file_open(path, &file);

	memset(ret, 0, sizeof(*ret));
	if (error < 0)
		return error == -EACCES ? 0 : error;
	ret->kind = PROGRAM_OTHER;
	ret->privileged = is_privileged(file.fd, &file.status);
	image.fd = file.fd;
	image.size = (uint64_t)file.status.st_size;
	ssize_t bytes = pread(file.fd, &image.header, sizeof(image.header), 0);
	if (bytes == sizeof(image.header) && memcmp(&image.header, ELFMAG, SELFMAG) == 0)
		read_elf(&image, ret);
	else if (bytes >= 2 && memcmp(&image.header, "#!", 2) == 0)
		read_script(file.fd, ret);
	close(file.fd);
	return 0;
}

const char *program_obstacle(const struct program *program, bool *ret_alone)
{
	static char why[160];

	*ret_alone = program->kind == PROGRAM_FOREIGN || program->sanitizer != NULL;
	if (program->kind == PROGRAM_FOREIGN)
		snprintf(why, sizeof(why), "is a %u-bit program for %s, so it runs without hotpin",
			 program->bits, program_machine_name(program->machine));
	else if (program->sanitizer != NULL)
		snprintf(why, sizeof(why),
			 "is built with %s, which allows no preloaded library, so it runs without "
			 "hotpin; build it without that",
			 program->sanitizer);
	if (*ret_alone)
		return why;
	if (program->privileged)
		return "has privileges of its own (setuid, setgid or capabilities), so the loader "
		       "ignores LD_PRELOAD and hotpin cannot act; run a copy without them";
	if (program->kind == PROGRAM_ELF && !program->dynamic && !program->damaged)
		return "is statically linked, so hotpin does nothing in it, only in dynamically "
		       "linked programs that it starts; link libc dynamically (cudart may stay "
		       "static)";
	return NULL;
}

const char *program_machine_name(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = {
		{ EM_X86_64, "x86-64" }, { EM_386, "x86" },     { EM_AARCH64, "aarch64" },
		{ EM_ARM, "arm" },       { EM_PPC64, "ppc64" }, { EM_RISCV, "riscv" },
	};

	for (size_t i = 0; i < HP_LEN(names); i++)
		if (names[i].machine == machine)
			return names[i].name;
	return "machine";
}
