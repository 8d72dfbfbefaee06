/*
 * Tables of an ELF file that may be damaged or malicious.
 *
 * The file is read, not mapped: if it shrinks at the same time, that causes a short read, not a
 * SIGBUS.  Every offset and size in the file is checked.
 */
#ifndef HP_TOOLS_ELF_FILE_H
#define HP_TOOLS_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf {
	int fd; /* the caller's */
	uint64_t size;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	size_t section_count;
	char *titles; /* names of sections; NULL: none */
	uint64_t titles_bytes;
	bool damaged; /* a table lies outside the file, or is too large */
};

/*
 * Reads the header, which is zeros if the file is shorter, and the section table of a regular file.
 * False: it is no 64-bit file of this machine's byte order.  elf_close() must follow.
 */
bool elf_open(int fd, struct elf *ret);
void elf_close(struct elf *elf);

/* Reads bytes of the file.  False if they lie outside of it. */
bool elf_copy(const struct elf *elf, uint64_t offset, void *ret, uint64_t bytes);

/* Returns allocated bytes of the file with a zero byte after them; NULL marks the file damaged. */
void *elf_read(struct elf *elf, uint64_t offset, uint64_t bytes);

/* Returns the name of a section; "" if it has none. */
const char *elf_title(const struct elf *elf, size_t index);

#endif
