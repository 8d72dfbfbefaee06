/*
 * program.c - finds a program and reads its ELF tables.
 *
 * The file may be damaged or malicious, so every loop is bounded.
 */
#include "program.h"
#include "elf_file.h"
#include "named.h"

#include <ctype.h>
#include <errno.h>
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
	struct elf elf;
	Elf64_Phdr *segments;
	unsigned segment_count;
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

/* Returns the file offset of the byte that is loaded at `address`; UINT64_MAX if there is none. */
static uint64_t file_offset(const struct image *image, uint64_t address)
{
	for (unsigned i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
		    address - segment->p_vaddr < segment->p_filesz)
			return segment->p_offset + (address - segment->p_vaddr);
	}
	return UINT64_MAX;
}

/* Returns the name at `offset` of a string table that a zero byte follows; "" if there is none. */
static const char *name_at(const char *names, uint64_t bytes, uint64_t offset)
{
	return names != NULL && offset < bytes ? names + offset : "";
}

static void append(char *list, size_t room, const char *name)
{
	size_t used = strlen(list);

	snprintf(list + used, room - used, "%s%s", used > 0 ? ", " : "", name);
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void note_needed(struct program *program, const char *name)
{
	append(program->needed, sizeof(program->needed), name);
	program->needs_cudart |= starts(name, "libcudart.so");
	program->needs_driver |= starts(name, "libcuda.so");
	program->needs_asan |= starts(name, "libasan.so") || starts(name, "libclang_rt.asan");
}

static void read_dynamic(struct image *image, const Elf64_Phdr *segment, struct program *program)
{
	uint64_t count = segment->p_filesz / sizeof(Elf64_Dyn), address = 0, bytes = 0;
	Elf64_Dyn *entries = elf_read(&image->elf, segment->p_offset, count * sizeof(Elf64_Dyn));

	if (entries == NULL)
		return;
	for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		if (entries[i].d_tag == DT_STRTAB)
			address = entries[i].d_un.d_ptr;
		if (entries[i].d_tag == DT_STRSZ)
			bytes = entries[i].d_un.d_val;
	}

	char *names = elf_read(&image->elf, file_offset(image, address), bytes);
	for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		const char *name = name_at(names, bytes, entries[i].d_un.d_val);

		if (entries[i].d_tag == DT_NEEDED)
			note_needed(program, name);
		if (entries[i].d_tag == DT_RUNPATH || entries[i].d_tag == DT_RPATH)
			snprintf(program->run_path, sizeof(program->run_path), "%s", name);
	}
	free(names);
	free(entries);
}

static void read_interpreter(struct image *image, const Elf64_Phdr *segment,
			     struct program *program)
{
	uint64_t bytes = segment->p_filesz;

	program->dynamic = true;
	if (bytes >= sizeof(program->interpreter))
		bytes = sizeof(program->interpreter) - 1;
	if (elf_copy(&image->elf, segment->p_offset, program->interpreter, bytes))
		program->interpreter[bytes] = '\0';
	else
		image->elf.damaged = true;
}

static void read_segments(struct image *image, struct program *program)
{
	const Elf64_Ehdr *header = &image->elf.header;

	if (header->e_phnum == 0)
		return;
	if (header->e_phentsize != sizeof(Elf64_Phdr)) {
		image->elf.damaged = true;
		return;
	}
	image->segments =
		elf_read(&image->elf, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr));
	image->segment_count = image->segments != NULL ? header->e_phnum : 0;

	/* The kernel and the loader read only one of each. */
	const Elf64_Phdr *dynamic = NULL, *interpreter = NULL;
	for (unsigned i = 0; i < image->segment_count; i++) {
		if (image->segments[i].p_type == PT_DYNAMIC)
			dynamic = &image->segments[i];
		if (image->segments[i].p_type == PT_INTERP && interpreter == NULL)
			interpreter = &image->segments[i];
	}
	if (interpreter != NULL)
		read_interpreter(image, interpreter, program);
	if (dynamic != NULL)
		read_dynamic(image, dynamic, program);
	program->library = header->e_type == ET_DYN && interpreter == NULL && dynamic != NULL;
}

static void read_symbols(struct image *image, const Elf64_Shdr *symbols, const Elf64_Shdr *strings,
			 struct program *program)
{
	uint64_t count = symbols->sh_size / sizeof(Elf64_Sym);
	Elf64_Sym *table = elf_read(&image->elf, symbols->sh_offset, count * sizeof(Elf64_Sym));
	char *names = elf_read(&image->elf, strings->sh_offset, strings->sh_size);

	for (uint64_t i = 0; table != NULL && names != NULL && i < count; i++) {
		const char *name = name_at(names, strings->sh_size, table[i].st_name);

		if (table[i].st_shndx != SHN_UNDEF)
			program->own_malloc |= strcmp(name, "malloc") == 0;
		else if (starts(name, "cu") && isupper((unsigned char)name[2]))
			program->driver_names++;
	}
	free(names);
	free(table);
}

/* The loader reads only one table of dynamic symbols. */
static void read_sections(struct image *image, struct program *program)
{
	const struct elf *elf = &image->elf;
	const Elf64_Shdr *symbols = NULL;

	for (size_t i = 0; i < elf->section_count; i++) {
		const char *name = elf_title(elf, i);

		program->device_code |=
			strcmp(name, ".nv_fatbin") == 0 || strcmp(name, "__nv_relfatbin") == 0;
		if (elf->sections[i].sh_type == SHT_DYNSYM && symbols == NULL)
			symbols = &elf->sections[i];
	}
	if (symbols != NULL && symbols->sh_link < elf->section_count)
		read_symbols(image, symbols, &elf->sections[symbols->sh_link], program);
}

static void read_elf(struct image *image, bool native, struct program *program)
{
	const Elf64_Ehdr *header = &image->elf.header;

	program->bits = header->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	program->machine = header->e_machine;
	program->kind = native && header->e_machine == OWN_MACHINE ? PROGRAM_ELF : PROGRAM_FOREIGN;
	if (program->kind == PROGRAM_FOREIGN)
		return;
	read_segments(image, program);
	read_sections(image, program);
	free(image->segments);
	program->damaged = image->elf.damaged;
}

static void read_script(const struct image *image, struct program *program)
{
	char line[sizeof(program->interpreter) + 2] = "";
	uint64_t size = image->elf.size, bytes = size < sizeof(line) - 1 ? size : sizeof(line) - 1;

	program->kind = PROGRAM_SCRIPT;
	if (!elf_copy(&image->elf, 0, line, bytes))
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
	struct image image = { .segments = NULL };
	struct named file;
	char mark[2] = "";
	int error = named_open(path, &file);

	memset(ret, 0, sizeof(*ret));
	if (error < 0)
		return error == -EACCES ? 0 : error;
	ret->kind = PROGRAM_OTHER;
	ret->privileged = is_privileged(file.fd, &file.status);

	bool native = elf_open(file.fd, &image.elf);
	if (memcmp(image.elf.header.e_ident, ELFMAG, SELFMAG) == 0)
		read_elf(&image, native, ret);
	else if (elf_copy(&image.elf, 0, mark, sizeof(mark)) && memcmp(mark, "#!", 2) == 0)
		read_script(&image, ret);
	elf_close(&image.elf);
	close(file.fd);
	return 0;
}

const char *program_machine_name(unsigned machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86-64";
	case EM_386:
		return "x86";
	case EM_AARCH64:
		return "aarch64";
	case EM_ARM:
		return "arm";
	case EM_PPC64:
		return "ppc64";
	case EM_RISCV:
		return "riscv";
	default:
		return "machine";
	}
}
