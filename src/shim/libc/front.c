/*
 * front.c - which definition of an exported name comes first.
 *
 * The executable's scope is asked: in ours, which is symbolic, we come first.  It answers, but for
 * one case: an executable that is not position independent and takes the function's address gives
 * its own PLT entry for it, whoever that leads to (ELF x86-64 ABI, "function addresses").  Then
 * whatever is loaded between the executable and us is asked one by one.
 */
#define _GNU_SOURCE
#include "shim/libc/front.h"
#include "shim/driver/dlsym.h"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>

/* Is `address` a PLT entry that stands for a function of somebody else's? */
static bool is_stand_in(const void *address)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL &&
	       symbol->st_shndx == SHN_UNDEF;
}

static bool defines(const struct link_map *object, const char *name)
{
	void *handle = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
	struct link_map *where = NULL;
	Dl_info info;

	if (handle == NULL) { /* the kernel's own, which is no file */
		dlerror();
		return false;
	}
	void *found = shim_dlsym_next(handle, name);
	bool here = found != NULL && dladdr1(found, &info, (void **)&where, RTLD_DL_LINKMAP) != 0 &&
		    where == object;
	dlclose(handle);
	return here;
}

static bool nobody_between(const char *name)
{
	const struct link_map *self = NULL;
	Dl_info info;

	if (dladdr1(shim_front_is_ours, &info, (void **)&self, RTLD_DL_LINKMAP) == 0)
		return false;
	/* The first of the list is the executable. */
	for (const struct link_map *at = self->l_prev; at != NULL && at->l_prev != NULL;
	     at = at->l_prev)
		if (defines(at, name))
			return false;
	return true;
}

/* Both in one segment or another of the same object? */
static int holds_one(struct dl_phdr_info *object, size_t size, void *arg)
{
	const void *const *wanted = arg;
	int held = 0;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uintptr_t from = object->dlpi_addr + part->p_vaddr;

		for (int n = 0; part->p_type == PT_LOAD && n < 2; n++)
			held += (uintptr_t)wanted[n] - from < part->p_memsz;
	}
	return held;
}

bool shim_front_is_libcs(const void *address)
{
	/* The second is libc's for certain. */
	const void *wanted[] = { address, (const void *)gnu_get_libc_version };

	return dl_iterate_phdr(holds_one, wanted) == 2;
}

bool shim_front_is_ours(const char *name)
{
	if (shim_dlsym_next == NULL && shim_dlsym_find() == NULL)
		return false;
	void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
	if (program == NULL)
		return false;
	void *found = shim_dlsym_next(program, name);
	dlclose(program);
	return shim_is_ours(found) || (is_stand_in(found) && nobody_between(name));
}
