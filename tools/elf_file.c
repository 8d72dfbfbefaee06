/*
 * elf_file.c - reads tables of an untrusted ELF file.
 */
#include "elf_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only files that are made to waste memory have larger tables. */
#define TABLE_MOST ((uint64_t)256 << 20)

bool elf_copy(const struct elf *elf, uint64_t offset, void *ret, uint64_t bytes)
{
	uint64_t done = 0;

	if (offset > elf->size || bytes > elf->size - offset)
		return false;
	while (done < bytes) {
		ssize_t got =
			pread(elf->fd, (char *)ret + done, bytes - done, (off_t)(offset + done));

		if (got <= 0)
			return false;
		done += (uint64_t)got;
	}
	return true;
}

void *elf_read(struct elf *elf, uint64_t offset, uint64_t bytes)
{
	char *table = NULL;

	if (bytes <= TABLE_MOST && offset <= elf->size && bytes <= elf->size - offset)
		table = malloc(bytes + 1);
	if (table == NULL || !elf_copy(elf, offset, table, bytes)) {
		elf->damaged = true;
		free(table);
		return NULL;
	}
	table[bytes] = '\0';
	return table;
}

/* A file without sections still runs, but less is known of it. */
static void read_sections(struct elf *elf)
{
	const Elf64_Ehdr *header = &elf->header;

	if (header->e_shoff == 0 || header->e_shnum == 0)
		return;
	if (header->e_shentsize != sizeof(Elf64_Shdr)) {
		elf->damaged = true;
		return;
	}
	elf->sections = elf_read(elf, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr));
	elf->section_count = elf->sections != NULL ? header->e_shnum : 0;
	if (header->e_shstrndx >= elf->section_count)
		return;
	elf->titles_bytes = elf->sections[header->e_shstrndx].sh_size;
	elf->titles = elf_read(elf, elf->sections[header->e_shstrndx].sh_offset, elf->titles_bytes);
}

bool elf_open(int fd, struct elf *ret)
{
	const unsigned native =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	const unsigned char *id = ret->header.e_ident;
	struct stat status;

	*ret = (struct elf){ .fd = fd };
	if (fstat(fd, &status) < 0)
		return false;
	ret->size = (uint64_t)status.st_size;
	if (!elf_copy(ret, 0, &ret->header, sizeof(ret->header)) ||
	    memcmp(id, ELFMAG, SELFMAG) != 0 || id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != native)
		return false;
	read_sections(ret);
	return true;
}

void elf_close(struct elf *elf)
{
	free(elf->sections);
	free(elf->titles);
}

const char *elf_title(const struct elf *elf, size_t index)
{
	const Elf64_Shdr *section = &elf->sections[index];

	return elf->titles != NULL && section->sh_name < elf->titles_bytes
		       ? elf->titles + section->sh_name
		       : "";
}
