/*
 * program.c - recognizes a CUDA program before its first CUDA call.
 *
 * 2 MiB pages must be requested before memory is touched, and most programs fill their arrays
 * before they use CUDA.  nvcc puts kernels into sections of their own, so the section table of the
 * executable is read.  If anything in it is wrong, the answer is no.
 */
#define _GNU_SOURCE
#include "shim/load/program.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MOST 64
#define NAMES_MOST    4096

static bool holds_kernels(const char *name)
{
	return strcmp(name, ".nv_fatbin") == 0 || strcmp(name, ".nvFatBinSegment") == 0 ||
	       strcmp(name, "__nv_relfatbin") == 0;
}

static bool has_kernels(int fd)
{
	Elf64_Ehdr head;
	Elf64_Shdr sections[SECTIONS_MOST];
	char names[NAMES_MOST];

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_shentsize != sizeof(sections[0]) || head.e_shnum > SECTIONS_MOST ||
	    head.e_shstrndx >= head.e_shnum)
		return false;

	ssize_t bytes = (ssize_t)(head.e_shnum * sizeof(sections[0]));
	if (pread(fd, sections, (size_t)bytes, (off_t)head.e_shoff) != bytes)
		return false;

	const Elf64_Shdr *strings = &sections[head.e_shstrndx];
	size_t room = strings->sh_size < NAMES_MOST - 1 ? strings->sh_size : NAMES_MOST - 1;
	if (pread(fd, names, room, (off_t)strings->sh_offset) != (ssize_t)room)
		return false;
	names[room] = '\0';
	for (int i = 0; i < head.e_shnum; i++)
		if (sections[i].sh_name < room && holds_kernels(names + sections[i].sh_name))
			return true;
	return false;
}

static int is_cuda_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash != NULL ? slash + 1 : info->dlpi_name;

	(void)size;
	(void)arg;
	return strncmp(name, "libcuda.so", 10) == 0 || strncmp(name, "libcudart.so", 12) == 0;
}

bool program_uses_cuda(void)
{
	if (dl_iterate_phdr(is_cuda_library, NULL) != 0)
		return true;

	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool found = has_kernels(fd);
	close(fd);
	return found;
}
