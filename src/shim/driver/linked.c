/*
 * linked.c - reads the relocations of loaded files that need libcuda.
 *
 * The loader's lock is held while files are listed, so nothing is looked up meanwhile.
 */
#define _GNU_SOURCE
#include "shim/driver/linked.h"
#include "base/kernel.h"
#include "engine/gate.h"
#include "engine/state.h"
#include "real/dlsym.h"
#include "real/real.h"
#include "shim/driver/callers.h"
#include "shim/driver/frame.h"
#include "shim/driver/unknown.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

_Static_assert(SHIM_GATE_LOADED == GATE_LOADED, "the entries in assembly set and test this bit");

#define NAMES_MOST 64
#define NAME_BYTES 96

/* Names that no row of driver.def has. */
struct names {
	unsigned count;
	bool more; /* there are others */
	char text[NAMES_MOST][NAME_BYTES];
};

/* What the dynamic section of a file says. */
struct file {
	bool needs_driver;
	const char *texts;
	const ElfW(Sym) * symbols;
	const ElfW(Rela) * list[2]; /* of functions, and of others */
	size_t bytes[2];
};

static bool has_row(const char *name)
{
	for (int row = 0; row < REAL_ROW_COUNT; row++)
		if (strcmp(real_driver_facts[row].name, name) == 0)
			return true;
	return false;
}

static void note(struct names *names, const char *name)
{
	if (strncmp(name, "cu", 2) != 0 || name[2] < 'A' || name[2] > 'Z' || has_row(name))
		return;
	for (unsigned i = 0; i < names->count; i++)
		if (strcmp(names->text[i], name) == 0)
			return;
	if (names->count == NAMES_MOST)
		names->more = true;
	else
		snprintf(names->text[names->count++], NAME_BYTES, "%s", name);
}

static struct file read_dynamic(const ElfW(Dyn) * dynamic)
{
	struct file file = { .needs_driver = false };

	for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL; entry++) {
		uintptr_t value = entry->d_un.d_ptr;

		switch (entry->d_tag) {
		case DT_STRTAB:
			file.texts = (const char *)value;
			break;
		case DT_SYMTAB:
			file.symbols = (const ElfW(Sym) *)value;
			break;
		case DT_JMPREL:
			file.list[0] = (const ElfW(Rela) *)value;
			break;
		case DT_PLTRELSZ:
			file.bytes[0] = value;
			break;
		case DT_RELA:
			file.list[1] = (const ElfW(Rela) *)value;
			break;
		case DT_RELASZ:
			file.bytes[1] = value;
			break;
		}
	}
	for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_NEEDED &&
		    callers_is_libcudas_name(file.texts + entry->d_un.d_val))
			file.needs_driver = true;
	return file;
}

/* The loader has replaced the offsets in the dynamic section by addresses; not in the vDSO's. */
static int note_names(struct dl_phdr_info *object, size_t size, void *names)
{
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		if (object->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		struct file file = read_dynamic(
			(const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr));
		if (!file.needs_driver)
			continue;
		for (int kind = 0; kind < 2; kind++) {
			size_t count = file.bytes[kind] / sizeof(*file.list[kind]);

			for (size_t at = 0; at < count; at++) {
				size_t index = ELF64_R_SYM(file.list[kind][at].r_info);

				if (index != 0 && file.symbols[index].st_shndx == SHN_UNDEF)
					note(names, file.texts + file.symbols[index].st_name);
			}
		}
	}
	return 0;
}

static void treat(const struct names *names)
{
	if (names->count == 0 || !real_dlsym_find())
		return;
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (driver == NULL)
		return;
	for (unsigned i = 0; i < names->count; i++)
		if (real_dlsym(driver, names->text[i]) != NULL)
			unknown_acts(names->text[i]);
	if (names->more)
		unknown_acts("Copy");
	dlclose(driver);
}

/* The names do not lie on the stack: dlsym() calls this, in threads with little of it too. */
void linked_find(void)
{
	int saved = errno;
	struct names *names = hp_map(NULL, sizeof(*names), PROT_READ | PROT_WRITE, 0);

	errno = saved;
	if ((void *)names == MAP_FAILED) {
		unknown_acts("Copy");
		return;
	}
	dl_iterate_phdr(note_names, names);
	treat(names);
	hp_unmap(names, sizeof(*names));
}

void linked_loaded(void)
{
	gate_clear(GATE_LOADED);
	if (state_active && atomic_load(&state_device_found))
		linked_find();
}
