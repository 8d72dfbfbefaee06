/*
 * symbols.c - reads .symtab or .dynsym of an untrusted file.
 *
 * The file is read, not mapped: if it shrinks at the same time, that causes a short read, not a
 * SIGBUS.  Every offset and size in the file is checked.
 */
#include "symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE_MOST ((size_t)256 << 20)

struct symbols {
	Elf64_Sym *items; /* by address */
	size_t count;
	char *names; /* ends with a zero byte */
	size_t name_bytes;
	bool lines; /* the file has line tables, or names the file that has them */
};

/* Reads `bytes` at `offset`, and appends a zero byte; NULL if the file is shorter. */
static void *read_part(int file, uint64_t offset, uint64_t bytes)
{
	if (bytes > TABLE_MOST || offset > INT64_MAX - TABLE_MOST)
		return NULL;
	char *part = malloc(bytes + 1);
	size_t done = 0;
	while (part != NULL && done < bytes) {
		ssize_t got = pread(file, part + done, bytes - done, (off_t)(offset + done));

		if (got <= 0) {
			free(part);
			return NULL;
		}
		done += (size_t)got;
	}
	if (part != NULL)
		part[bytes] = '\0';
	return part;
}

static bool is_build_id(const char *notes, size_t bytes, const char *wanted)
{
	size_t at = 0;

	while (at + sizeof(Elf64_Nhdr) <= bytes) {
		Elf64_Nhdr note;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		size_t name = at, id = name + ((size_t)note.n_namesz + 3) / 4 * 4;
		if (note.n_namesz > bytes || note.n_descsz > bytes || id + note.n_descsz > bytes)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + name, "GNU", 4) == 0) {
			char digits[3];

			/* A profile may state a shortened build id; eight digits are enough. */
			if (strlen(wanted) < 8 || strlen(wanted) > 2 * (size_t)note.n_descsz)
				return false;
			for (size_t i = 0; wanted[i] != '\0'; i++) {
				snprintf(digits, sizeof(digits), "%02x",
					 (unsigned char)notes[id + i / 2]);
				if (digits[i % 2] != wanted[i])
					return false;
			}
			return true;
		}
		at = id + ((size_t)note.n_descsz + 3) / 4 * 4;
	}
	return false;
}

static bool has_build_id(int file, const Elf64_Shdr *sections, size_t count, const char *wanted)
{
	for (size_t i = 0; i < count; i++) {
		if (sections[i].sh_type != SHT_NOTE || sections[i].sh_size > 65536)
			continue;
		char *notes = read_part(file, sections[i].sh_offset, sections[i].sh_size);
		bool found = notes != NULL && is_build_id(notes, sections[i].sh_size, wanted);
		free(notes);
		if (found)
			return true;
	}
	return false;
}

static int by_address(const void *left, const void *right)
{
	const Elf64_Sym *a = left, *b = right;

	return a->st_value < b->st_value ? -1 : a->st_value > b->st_value;
}

/* Reads the symbol table sections[index]; false if it is damaged or empty. */
static bool read_table(int file, const Elf64_Shdr *sections, size_t count, size_t index,
		       struct symbols *ret)
{
	const Elf64_Shdr *table = &sections[index];
	size_t kept = 0;

	if (table->sh_link >= count || table->sh_size < sizeof(Elf64_Sym))
		return false;
	ret->name_bytes = sections[table->sh_link].sh_size;
	ret->items = read_part(file, table->sh_offset, table->sh_size);
	ret->names = read_part(file, sections[table->sh_link].sh_offset, ret->name_bytes);
	if (ret->items == NULL || ret->names == NULL)
		return false;
	for (size_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *symbol = &ret->items[i];
		int type = ELF64_ST_TYPE(symbol->st_info);

		if ((type == STT_FUNC || type == STT_OBJECT || type == STT_GNU_IFUNC) &&
		    symbol->st_shndx != SHN_UNDEF && symbol->st_name < ret->name_bytes)
			ret->items[kept++] = *symbol;
	}
	ret->count = kept;
	qsort(ret->items, kept, sizeof(*ret->items), by_address);
	return kept > 0;
}

static bool has_lines(int file, const Elf64_Shdr *sections, size_t count, size_t names_index)
{
	bool found = false;

	if (names_index >= count)
		return false;
	size_t bytes = sections[names_index].sh_size;
	char *names = read_part(file, sections[names_index].sh_offset, bytes);
	for (size_t i = 0; i < count && names != NULL && !found; i++) {
		if (sections[i].sh_name >= bytes)
			continue;
		const char *name = names + sections[i].sh_name;
		found = strcmp(name, ".debug_line") == 0 || strcmp(name, ".zdebug_line") == 0 ||
			strcmp(name, ".gnu_debuglink") == 0;
	}
	free(names);
	return found;
}

static void drop(struct symbols *symbols)
{
	free(symbols->items);
	free(symbols->names);
	memset(symbols, 0, sizeof(*symbols));
}

static bool read_file(int file, const char *build_id, int64_t ended, bool *ret_other,
		      struct symbols *ret)
{
	struct stat status;
	bool found = false;

	if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	if (build_id == NULL && ended > 0 && status.st_mtime > ended) {
		*ret_other = true;
		return false;
	}
	Elf64_Ehdr *head = read_part(file, 0, sizeof(*head));
	if (head == NULL || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB ||
	    head->e_shentsize != sizeof(Elf64_Shdr)) {
		free(head);
		return false;
	}
	size_t count = head->e_shnum, names_index = head->e_shstrndx;
	Elf64_Shdr *sections = read_part(file, head->e_shoff, count * sizeof(*sections));
	free(head);
	*ret_other = sections != NULL && build_id != NULL &&
		     !has_build_id(file, sections, count, build_id);
	if (sections != NULL && !*ret_other) {
		const unsigned wanted[] = { SHT_SYMTAB, SHT_DYNSYM };

		for (size_t kind = 0; kind < 2 && !found; kind++)
			for (size_t i = 0; i < count && !found; i++) {
				if (sections[i].sh_type != wanted[kind])
					continue;
				found = read_table(file, sections, count, i, ret);
				if (!found)
					drop(ret);
			}
		ret->lines = found && has_lines(file, sections, count, names_index);
	}
	free(sections);
	return found;
}

struct symbols *symbols_open(const char *path, const char *build_id, int64_t ended, bool *ret_other)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	/* Opening a device or a pipe must not block. */
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (symbols == NULL || file < 0 || !read_file(file, build_id, ended, ret_other, symbols)) {
		free(symbols);
		symbols = NULL;
	}
	if (file >= 0)
		close(file);
	return symbols;
}

void symbols_close(struct symbols *symbols)
{
	if (symbols == NULL)
		return;
	drop(symbols);
	free(symbols);
}

bool symbols_have_lines(const struct symbols *symbols)
{
	return symbols->lines;
}

const char *symbols_find(const struct symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->count;

	/* Finds the first symbol that begins after the address. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->items[middle].st_value <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Aliases and nested symbols begin nearby. */
	for (size_t tries = 0; low > 0 && tries < 64; tries++) {
		const Elf64_Sym *symbol = &symbols->items[--low];

		if (address - symbol->st_value < symbol->st_size)
			return symbols->names + symbol->st_name;
	}
	return NULL;
}
