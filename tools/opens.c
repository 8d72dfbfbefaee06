/*
 * opens.c - finds calls of dlopen() with RTLD_DEEPBIND in a program's code.
 *
 * The flag is an argument, so no table of the file tells of it.  Compilers put a constant into esi
 * (`mov $9, %esi`) shortly before the call, and the call leads to the function's slot by way of the
 * PLT or directly: both must be there.  The file may be anything, so every offset is checked.
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
	uint64_t slots[8]; /* addresses that hold dlopen() */
	unsigned slot_count;
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

static bool is_slot(const struct code *code, uint64_t address)
{
	for (unsigned i = 0; i < code->slot_count; i++)
		if (code->slots[i] == address)
			return true;
	return false;
}

/* A stub of the PLT: `jmp *slot(%rip)`, behind endbr64 and a prefix or not. */
static bool leads_to_slot(const struct code *code, uint64_t address)
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
	       is_slot(code, address + i + 6 + (uint64_t)(int64_t)word(stub + i + 2));
}

/* A call or jump at `address`, of which there are `room` bytes, that reaches dlopen(). */
static bool calls_it(const struct code *code, const unsigned char *bytes, uint64_t address,
		     uint64_t room)
{
	if (room >= 5 && (bytes[0] == 0xe8 || bytes[0] == 0xe9))
		return leads_to_slot(code, address + 5 + (uint64_t)(int64_t)word(bytes + 1));
	if (room >= 6 && bytes[0] == 0xff && (bytes[1] == 0x15 || bytes[1] == 0x25))
		return is_slot(code, address + 6 + (uint64_t)(int64_t)word(bytes + 2));
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
			if (calls_it(code, bytes + j, segment->p_vaddr + j, size - j))
				return true;
	}
	return false;
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

static int read_relocations(struct code *code, const struct tables *tables, uint64_t address,
			    uint64_t bytes)
{
	const Elf64_Rela *list = at(code, address, bytes);
	int found = 0;

	if ((uintptr_t)list % 8 != 0)
		return 0;
	for (uint64_t i = 0; list != NULL && i < bytes / sizeof(*list); i++) {
		uint64_t type = ELF64_R_TYPE(list[i].r_info);

		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		if (is_named(code, tables, &list[i], "dlmopen"))
			found |= OPENS_NAMESPACE;
		if (is_named(code, tables, &list[i], "dlopen") &&
		    code->slot_count < sizeof(code->slots) / sizeof(code->slots[0]))
			code->slots[code->slot_count++] = list[i].r_offset;
	}
	return found;
}

static int look(struct code *code)
{
	const Elf64_Ehdr *header = (const void *)code->bytes;
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
	found |= read_relocations(code, &tables, tables.plt, tables.plt_bytes);
	found |= read_relocations(code, &tables, tables.rela, tables.rela_bytes);
	for (unsigned i = 0; i < code->segment_count && code->slot_count > 0; i++)
		if (code->segments[i].p_type == PT_LOAD && (code->segments[i].p_flags & PF_X) &&
		    opens_deep(code, &code->segments[i]))
			return found | OPENS_DEEP;
	return found;
}

int opens_look(const char *path)
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

		found = look(&code);
		free(bytes);
	}
	close(fd);
	return found;
}
