/*
 * unknown.c - the stubs in front of functions that driver.def does not list, and the relocations of
 * loaded files, which say what the program links.  Lock-free.
 *
 * The loader's lock is held while files are listed, so nothing is looked up meanwhile.
 */
#define _GNU_SOURCE
#include "shim/driver/unknown.h"
#include "base/arena.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/protections.h"
#include "engine/capture.h"
#include "engine/defer.h"
#include "engine/gate.h"
#include "engine/housekeeper.h"
#include "engine/state.h"
#include "engine/visibility.h"
#include "pin/pin.h"
#include "pin/unpin.h"
#include "real/dlsym.h"
#include "real/real.h"
#include "shim/driver/callers.h"
#include "shim/driver/frame.h"
#include "shim/driver/thunk.h"
#include "trace/trace.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

_Static_assert(SHIM_GATE_LOADED == GATE_LOADED, "the entries in assembly set and test this bit");

#define NAMES_MOST 64
#define NAME_BYTES 96

/* A stub's function.  The address is written once; threads that look it up write the same word. */
static struct {
	void *_Atomic address;
	const char *_Atomic word; /* of the name, as in word_of() */
} functions[SHIM_UNKNOWN_MOST];

/* Returns the word by which a name is that of a copy, or begins a capture of copies; or "". */
static const char *word_of(const char *name)
{
	static const char *const words[] = { "BeginCapture", "BeginRecapture", "Memcpy", "Copy",
					     "Prefetch",     "Discard",        "Batch" };

	for (size_t i = 0; i < HP_LEN(words); i++)
		if (strstr(name, words[i]) != NULL)
			return words[i];
	return "";
}

/* The VDPAU functions are old, but their header needs another project's: driver.def lacks them. */
static void count(const char *name)
{
	if (strstr(name, "VDPAU") != NULL)
		return;
	hp_count(names_unknown);
	hp_debug("%s is new to this version: handed out through a gate", name);
}

/*
 * The program calls an unknown function, or may call it unseen.  From now on no copy returns early.
 * If the name is that of a copy, every block is unpinned, and none is pinned any more.  If it
 * begins a capture, copies are also left as they are, because each may be captured.
 */
static void unknown_acts(const char *name)
{
	int saved = errno;

	visibility_raise(REAL_SEEN_UNTRACKED);
	trace_called_unknown();
	if (hp_keeps(join_the_unknown))
		defer_join();
	const char *word = word_of(name);
	if (word[0] != '\0' && hp_keeps(unpin_for_the_unknown)) {
		pin_stop("the program copies by a function that is new to this version");
		pin_unpin(NULL, SIZE_MAX);
	}
	if (strncmp(word, "Begin", 5) == 0)
		capture_unseen();
	errno = saved;
}

void *unknown_stub(const char *name, void *address)
{
	for (size_t i = 0; i < SHIM_UNKNOWN_MOST; i++) {
		void *found = NULL;

		if (atomic_compare_exchange_strong(&functions[i].address, &found, address)) {
			count(name);
			found = address;
		}
		if (found != address)
			continue;
		atomic_store(&functions[i].word, word_of(name));
		return (char *)shim_unknown_stubs + SHIM_UNKNOWN_BYTES * i;
	}
	unknown_acts(name);
	return address;
}

void *unknown_enter(size_t stub)
{
	unknown_acts(atomic_load(&functions[stub].word));
	if (atomic_load(&gate_word) & (GATE_WATCHED | GATE_CLOSED))
		housekeeper_work_submitted();
	return atomic_load(&functions[stub].address);
}

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
void unknown_find_linked(void)
{
	struct names *names = hp_arena_alloc(sizeof(*names));

	if (names == NULL) {
		unknown_acts("Copy");
		return;
	}
	dl_iterate_phdr(note_names, names);
	treat(names);
	hp_arena_free(names, sizeof(*names));
}

void unknown_look_again(void)
{
	gate_clear(GATE_LOADED);
	if (state_active && atomic_load(&state_device_found))
		unknown_find_linked();
}
