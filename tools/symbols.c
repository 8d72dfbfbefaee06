/*
 * symbols.c - reads .symtab or .dynsym of an untrusted file.
 */
#include "symbols.h"
#include "elf_file.h"

#include <stdlib.h>
#include <string.h>

struct symbols {
	Elf64_Sym *items; /* by address */
	size_t count;
	char *names; /* ends with a zero byte */
};

enum symbols_match symbols_match(const struct named *file, const char *build_id, int64_t ended)
{
	char id[ELF_BUILD_ID_ROOM] = "";
	struct elf elf;
	bool is_elf = elf_open(file->fd, &elf);

	if (is_elf && build_id != NULL)
		elf_build_id(&elf, id);
	elf_close(&elf);
	if (build_id == NULL && ended > 0 && file->status.st_mtime > ended)
		return SYMBOLS_OTHER;
	if (!is_elf)
		return SYMBOLS_NO_ELF;
	if (build_id == NULL)
		return SYMBOLS_LIKELY;
	/* A profile may state a shortened build ID; eight digits are enough. */
	return strlen(build_id) >= 8 && strncmp(id, build_id, strlen(build_id)) == 0
		       ? SYMBOLS_VERIFIED
		       : SYMBOLS_OTHER;
}

static int by_address(const void *left, const void *right)
{
	const Elf64_Sym *a = left, *b = right;

	return a->st_value < b->st_value ? -1 : a->st_value > b->st_value;
}

/* Keeps functions and variables; false if there are none. */
static bool sort_table(struct symbols *symbols, size_t count, uint64_t name_bytes)
{
	for (size_t i = 0; i < count; i++) {
		const Elf64_Sym *symbol = &symbols->items[i];
		int type = ELF64_ST_TYPE(symbol->st_info);

		if ((type == STT_FUNC || type == STT_OBJECT || type == STT_GNU_IFUNC) &&
		    symbol->st_shndx != SHN_UNDEF && symbol->st_name < name_bytes)
			symbols->items[symbols->count++] = *symbol;
	}
	if (symbols->count > 0)
		qsort(symbols->items, symbols->count, sizeof(*symbols->items), by_address);
	return symbols->count > 0;
}

/* Reads the first table of that kind; NULL if it is missing, damaged or empty. */
static struct symbols *read_table(struct elf *elf, unsigned kind, uint64_t *left)
{
	size_t at = 0;

	while (at < elf->section_count && elf->sections[at].sh_type != kind)
		at++;
	if (at == elf->section_count || elf->sections[at].sh_link >= elf->section_count)
		return NULL;
	const Elf64_Shdr *table = &elf->sections[at], *names = &elf->sections[table->sh_link];
	if (table->sh_size > elf->size || names->sh_size > elf->size ||
	    table->sh_size + names->sh_size > *left)
		return NULL;
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	if (symbols == NULL)
		return NULL;
	*left -= table->sh_size + names->sh_size;
	symbols->items = elf_read(elf, table->sh_offset, table->sh_size);
	symbols->names = elf_read(elf, names->sh_offset, names->sh_size);
	if (symbols->items != NULL && symbols->names != NULL &&
	    sort_table(symbols, table->sh_size / sizeof(Elf64_Sym), names->sh_size))
		return symbols;
	symbols_close(symbols);
	return NULL;
}

struct symbols *symbols_read(const struct named *file, uint64_t *left)
{
	struct symbols *symbols = NULL;
	struct elf elf;

	if (elf_open(file->fd, &elf))
		symbols = read_table(&elf, SHT_SYMTAB, left);
	if (symbols == NULL)
		symbols = read_table(&elf, SHT_DYNSYM, left);
	elf_close(&elf);
	return symbols;
}

void symbols_close(struct symbols *symbols)
{
	if (symbols == NULL)
		return;
	free(symbols->items);
	free(symbols->names);
	free(symbols);
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
