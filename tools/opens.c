/*
 * opens.c - finds calls of dlopen() with RTLD_DEEPBIND, and of dlmopen(), in a program's code.
 *
 * The flag is an argument, so no table of the file tells of it.  Compilers put a constant into esi
 * (`mov $9, %esi`) shortly before the call, and the call leads to the function's slot by way of the
 * PLT or directly: both must be there.  The static cudart of CUDA 13.0, in nearly every program,
 * binds dlmopen(): it calls that in one place, by the PLT, which its own copies never reach.  The
 * file may be anything, so every offset is checked.
 */
#include "opens.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST     ((uint64_t)64 << 20)
#define NEAR          64 /* bytes between the flag and the call */

/* More than any linker makes. */
#define SEGMENTS_MOST 64

#define DEEP          0x8
/* Lazy, now, noload, deep, global, nodelete: what else is set makes it no flag of dlopen(). */
#define FLAGS         0x110f

struct code {
	const unsigned char *bytes;
	uint64_t size;
	const Elf64_Phdr *segments;
	unsigned segment_count;
	struct slots {
		uint64_t at[8]; /* addresses that hold the function's */
		unsigned count;
	} deep, space; /* of dlopen() and dlmopen() */
};

/* What lies at an address of the program: NULL if not `bytes` of it do.  Tables are aligned. */
static const void *at(const struct code *code, uint64_t address, uint64_t bytes)
{
	for (unsigned i = 0; i < code->segment_count; i++) {
		const Elf64_Phdr *segment = &code->segments[i];
		uint64_t into = address - segment->p_vaddr;

		if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
		    into > segment->p_filesz || bytes > segment->p_filesz - into ||
		    segment->p_offset > code->size ||
		    segment->p_filesz > code->size - segment->p_offset)
			continue;
		return code->bytes + segment->p_offset + into;
	}
	return NULL;
}

static int32_t word(const unsigned char *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static bool is_slot(const struct slots *slots, uint64_t address)
{
	for (unsigned i = 0; i < slots->count; i++)
		if (slots->at[i] == address)
			return true;
	return false;
}

/* A stub of the PLT: `jmp *slot(%rip)`, behind endbr64 and a prefix or not. */
static bool leads_to_slot(const struct code *code, const struct slots *slots, uint64_t address)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const unsigned char *stub = at(code, address, 16);
	unsigned i = 0;

	if (stub == NULL)
		return false;
	if (memcmp(stub, endbr, sizeof(endbr)) == 0)
		i = sizeof(endbr);
	if (stub[i] == 0xf2)
		i++;
	return stub[i] == 0xff && stub[i + 1] == 0x25 &&
	       is_slot(slots, address + i + 6 + (uint64_t)(int64_t)word(stub + i + 2));
}

/* A call or jump at `address`, of which there are `room` bytes, that reaches the function. */
static bool calls_it(const struct code *code, const struct slots *slots, const unsigned char *bytes,
		     uint64_t address, uint64_t room)
{
	if (room >= 5 && (bytes[0] == 0xe8 || bytes[0] == 0xe9))
		return leads_to_slot(code, slots, address + 5 + (uint64_t)(int64_t)word(bytes + 1));
	if (room >= 6 && bytes[0] == 0xff && (bytes[1] == 0x15 || bytes[1] == 0x25))
		return is_slot(slots, address + 6 + (uint64_t)(int64_t)word(bytes + 2));
	return false;
}

static bool is_deep(int32_t flags)
{
	return (flags & DEEP) != 0 && (flags & ~FLAGS) == 0 && (flags & 3) != 0;
}

static bool opens_deep(const struct code *code, const Elf64_Phdr *segment)
{
	const unsigned char *bytes = at(code, segment->p_vaddr, segment->p_filesz);
	uint64_t size = segment->p_filesz;

	for (uint64_t i = 0; bytes != NULL && i + 5 <= size; i++) {
		bool moved = bytes[i] == 0xbe && is_deep(word(bytes + i + 1));

		for (uint64_t j = i; moved && j < i + NEAR && j < size; j++)
			if (calls_it(code, &code->deep, bytes + j, segment->p_vaddr + j, size - j))
				return true;
	}
	return false;
}

/* In how many places is dlmopen() called?  Not counted: its stub, which only jumps on. */
static unsigned count_spaces(const struct code *code, const Elf64_Phdr *segment)
{
	const unsigned char *bytes = at(code, segment->p_vaddr, segment->p_filesz);
	unsigned count = 0;

	for (uint64_t i = 0; bytes != NULL && i < segment->p_filesz; i++)
		count += calls_it(code, &code->space, bytes + i, segment->p_vaddr + i,
				  segment->p_filesz - i) &&
			 (bytes[i] != 0xff || bytes[i + 1] == 0x15);
	return count;
}

struct tables {
	uint64_t symbols, names, names_bytes, plt, plt_bytes, rela, rela_bytes;
};

static struct tables find_tables(const struct code *code)
{
	struct tables tables = { 0 };

	for (unsigned i = 0; i < code->segment_count; i++) {
		const Elf64_Phdr *segment = &code->segments[i];
		const Elf64_Dyn *entry = at(code, segment->p_vaddr, segment->p_filesz);

		if (segment->p_type != PT_DYNAMIC || entry == NULL || (uintptr_t)entry % 8 != 0)
			continue;
		for (uint64_t j = 0; j < segment->p_filesz / sizeof(*entry); j++) {
			uint64_t value = entry[j].d_un.d_val;

			switch (entry[j].d_tag) {
			case DT_SYMTAB:
				tables.symbols = value;
				break;
			case DT_STRTAB:
				tables.names = value;
				break;
			case DT_STRSZ:
				tables.names_bytes = value;
				break;
			case DT_JMPREL:
				tables.plt = value;
				break;
			case DT_PLTRELSZ:
				tables.plt_bytes = value;
				break;
			case DT_RELA:
				tables.rela = value;
				break;
			case DT_RELASZ:
				tables.rela_bytes = value;
				break;
			}
		}
	}
	return tables;
}

static bool is_named(const struct code *code, const struct tables *tables, const Elf64_Rela *one,
		     const char *name)
{
	uint64_t index = ELF64_R_SYM(one->r_info);
	const Elf64_Sym *symbol =
		at(code, tables->symbols + index * sizeof(*symbol), sizeof(*symbol));

	if (symbol == NULL || (uintptr_t)symbol % 8 != 0 ||
	    symbol->st_name >= tables->names_bytes ||
	    tables->names_bytes - symbol->st_name <= strlen(name))
		return false;
	const char *there = at(code, tables->names + symbol->st_name, strlen(name) + 1);
	return there != NULL && strcmp(there, name) == 0;
}

static void add_slot(struct slots *slots, uint64_t address)
{
	if (slots->count < sizeof(slots->at) / sizeof(slots->at[0]))
		slots->at[slots->count++] = address;
}

static void read_relocations(struct code *code, const struct tables *tables, uint64_t address,
			     uint64_t bytes)
{
	const Elf64_Rela *list = at(code, address, bytes);

	if ((uintptr_t)list % 8 != 0)
		return;
	for (uint64_t i = 0; list != NULL && i < bytes / sizeof(*list); i++) {
		uint64_t type = ELF64_R_TYPE(list[i].r_info);

		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		if (is_named(code, tables, &list[i], "dlmopen"))
			add_slot(&code->space, list[i].r_offset);
		if (is_named(code, tables, &list[i], "dlopen"))
			add_slot(&code->deep, list[i].r_offset);
	}
}

static int look(struct code *code, bool own_cudart)
{
	const Elf64_Ehdr *header = (const void *)code->bytes;
	unsigned spaces = 0;
	int found = 0;

	if (code->size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64 ||
	    header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff % 8 != 0 ||
	    header->e_phoff > code->size || header->e_phnum > SEGMENTS_MOST ||
	    header->e_phnum > (code->size - header->e_phoff) / sizeof(Elf64_Phdr))
		return 0;
	code->segments = (const void *)(code->bytes + header->e_phoff);
	code->segment_count = header->e_phnum;

	struct tables tables = find_tables(code);
	read_relocations(code, &tables, tables.plt, tables.plt_bytes);
	read_relocations(code, &tables, tables.rela, tables.rela_bytes);
	for (unsigned i = 0; i < code->segment_count; i++) {
		const Elf64_Phdr *segment = &code->segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		if (code->deep.count > 0 && opens_deep(code, segment))
			found |= OPENS_DEEP;
		if (code->space.count > 0 && own_cudart)
			spaces += count_spaces(code, segment);
	}
	if (code->space.count > 0 && (!own_cudart || spaces > 1))
		found |= OPENS_NAMESPACE;
	return found;
}

int opens_look(const char *path, bool own_cudart)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), found = 0;
	struct stat status;

	if (fd < 0)
		return 0;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
	    (uint64_t)status.st_size <= FILE_MOST) {
		unsigned char *bytes = malloc((size_t)status.st_size);
		ssize_t got = bytes != NULL ? pread(fd, bytes, (size_t)status.st_size, 0) : -1;
		struct code code = { .bytes = bytes, .size = got > 0 ? (uint64_t)got : 0 };

		found = look(&code, own_cudart);
		free(bytes);
	}
	close(fd);
	return found;
}
