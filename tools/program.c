/*
 * program.c - finds a program and reads its ELF tables.
 *
 * The file may be damaged or malicious.  Every offset is checked against the file's size, and every
 * loop is bounded.  The file is read with pread(): if it shrinks at the same time, that causes a
 * short read, not a SIGBUS.
 */
#include "program.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OWN_MACHINE EM_X86_64

/* Largest table that is read; only files that are made to waste memory have larger ones. */
#define TABLE_MAX   ((uint64_t)64 << 20)

struct image {
	int fd;
	uint64_t size;
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	unsigned segment_count;
	bool damaged;
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

static bool read_at(const struct image *image, uint64_t offset, void *ret, uint64_t bytes)
{
	if (offset > image->size || bytes > image->size - offset)
		return false;
	return pread(image->fd, ret, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* Returns an allocated table with a zero byte after it; NULL if it is missing, which is counted. */
static void *read_table(struct image *image, uint64_t offset, uint64_t bytes)
{
	char *table = NULL;

	if (bytes <= TABLE_MAX && offset <= image->size && bytes <= image->size - offset)
		table = malloc(bytes + 1);
	if (table == NULL || !read_at(image, offset, table, bytes)) {
		image->damaged = true;
		free(table);
		return NULL;
	}
	table[bytes] = '\0';
	return table;
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
	Elf64_Dyn *entries = read_table(image, segment->p_offset, count * sizeof(Elf64_Dyn));

	if (entries == NULL)
		return;
	for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		if (entries[i].d_tag == DT_STRTAB)
			address = entries[i].d_un.d_ptr;
		if (entries[i].d_tag == DT_STRSZ)
			bytes = entries[i].d_un.d_val;
	}

	char *names = read_table(image, file_offset(image, address), bytes);
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
	if (read_at(image, segment->p_offset, program->interpreter, bytes))
		program->interpreter[bytes] = '\0';
	else
		image->damaged = true;
}

static void read_segments(struct image *image, struct program *program)
{
	const Elf64_Ehdr *header = &image->header;

	if (header->e_phnum == 0)
		return;
	if (header->e_phentsize != sizeof(Elf64_Phdr)) {
		image->damaged = true;
		return;
	}
	image->segments = read_table(image, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr));
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
	Elf64_Sym *table = read_table(image, symbols->sh_offset, count * sizeof(Elf64_Sym));
	char *names = read_table(image, strings->sh_offset, strings->sh_size);

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

/* A program without sections still runs, but less is known of it. */
static void read_sections(struct image *image, struct program *program)
{
	const Elf64_Ehdr *header = &image->header;
	Elf64_Shdr *sections;
	unsigned count = header->e_shnum;

	if (header->e_shoff == 0 || count == 0)
		return;
	if (header->e_shentsize != sizeof(Elf64_Shdr)) {
		image->damaged = true;
		return;
	}
	sections = read_table(image, header->e_shoff, count * sizeof(Elf64_Shdr));
	if (sections == NULL)
		return;

	const Elf64_Shdr *titles =
		header->e_shstrndx < count ? &sections[header->e_shstrndx] : NULL;
	char *names = titles != NULL ? read_table(image, titles->sh_offset, titles->sh_size) : NULL;
	for (unsigned i = 0; i < count; i++) {
		const Elf64_Shdr *section = &sections[i];
		const char *name =
			name_at(names, names != NULL ? titles->sh_size : 0, section->sh_name);

		program->device_code |=
			strcmp(name, ".nv_fatbin") == 0 || strcmp(name, "__nv_relfatbin") == 0;
		if (section->sh_type == SHT_DYNSYM && section->sh_link < count)
			read_symbols(image, section, &sections[section->sh_link], program);
	}
	free(names);
	free(sections);
}

static void read_elf(struct image *image, struct program *program)
{
	const unsigned char *id = image->header.e_ident;
	const unsigned native =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

	program->bits = id[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	program->machine = image->header.e_machine;
	if (id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != native ||
	    image->header.e_machine != OWN_MACHINE) {
		program->kind = PROGRAM_FOREIGN;
		return;
	}
	program->kind = PROGRAM_ELF;
	read_segments(image, program);
	read_sections(image, program);
	free(image->segments);
	program->damaged = image->damaged;
}

static void read_script(const struct image *image, struct program *program)
{
	char line[sizeof(program->interpreter) + 2] = "";
	uint64_t bytes = image->size < sizeof(line) - 1 ? image->size : sizeof(line) - 1;

	program->kind = PROGRAM_SCRIPT;
	if (!read_at(image, 0, line, bytes))
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
	struct image image = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) };
	struct stat status;

	memset(ret, 0, sizeof(*ret));
	if (image.fd < 0)
		return errno == EACCES ? 0 : -errno;
	if (fstat(image.fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		close(image.fd);
		return -EACCES;
	}
	image.size = (uint64_t)status.st_size;
	ret->kind = PROGRAM_OTHER;
	ret->privileged = is_privileged(image.fd, &status);

	char mark[4] = "";
	if (read_at(&image, 0, &image.header, sizeof(image.header)))
		memcpy(mark, &image.header, sizeof(mark));
	else
		read_at(&image, 0, mark, 2);
	if (memcmp(mark, ELFMAG, SELFMAG) == 0)
		read_elf(&image, ret);
	else if (mark[0] == '#' && mark[1] == '!')
		read_script(&image, ret);
	close(image.fd);
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
