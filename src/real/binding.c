/*
 * binding.c - looks a name up as the executable would.
 *
 * The library is linked symbolically, so a look-up from here would always find hotpin first.
 * hotpin looks the name up in the executable's scope instead.  Its answer is ambiguous in one
 * case.  An executable that is not position independent and takes the function's address gives its
 * own PLT entry for it, wherever that leads (ELF x86-64 ABI, "function addresses").  Then hotpin
 * checks each object between the executable and itself.
 */
#define _GNU_SOURCE
#include "real/binding.h"
#include "real/dlsym.h"

#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>

bool real_is_ours(const void *address)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char _end[] __attribute__((visibility("hidden")));

	return (const char *)address >= __ehdr_start && (const char *)address < _end;
}

/* True if `address` is a PLT entry for a function of another object. */
static bool is_plt_entry(const void *address)
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

	if (handle == NULL) { /* the vDSO is no file */
		dlerror();
		return false;
	}
	void *found = real_dlsym(handle, name);
	bool here = found != NULL && dladdr1(found, &info, (void **)&where, RTLD_DL_LINKMAP) != 0 &&
		    where == object;
	dlclose(handle);
	return here;
}

/* True if no object between the executable and hotpin defines `name`. */
static bool is_undefined_between(const char *name)
{
	const struct link_map *self = NULL;
	Dl_info info;

	if (dladdr1(binding_is_ours, &info, (void **)&self, RTLD_DL_LINKMAP) == 0)
		return false;
	/* The first object of the list is the executable. */
	for (const struct link_map *at = self->l_prev; at != NULL && at->l_prev != NULL;
	     at = at->l_prev)
		if (defines(at, name))
			return false;
	return true;
}

/* Counts which of two addresses lie in segments of `object`. */
static int count_inside(struct dl_phdr_info *object, size_t size, void *arg)
{
	const void *const *addresses = arg;
	int inside = 0;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t from = object->dlpi_addr + segment->p_vaddr;

		for (int n = 0; segment->p_type == PT_LOAD && n < 2; n++)
			inside += (uintptr_t)addresses[n] - from < segment->p_memsz;
	}
	return inside;
}

/*
 * Calls libc's dl_iterate_phdr().  That of a sanitizer that is linked statically into the
 * executable crashes until the sanitizer has found libc's by dlsym(), which calls this function.
 */
bool binding_in_one_file(const void *one, const void *other)
{
	__typeof__(dl_iterate_phdr) *iterate =
		(__typeof__(dl_iterate_phdr) *)dlvsym(RTLD_NEXT, "dl_iterate_phdr", "GLIBC_2.2.5");
	const void *addresses[] = { one, other };

	return iterate != NULL && iterate(count_inside, addresses) == 2;
}

bool binding_is_libcs(const void *address)
{
	/* This function is always libc's own. */
	return binding_in_one_file(address, (const void *)gnu_get_libc_version);
}

bool binding_is_ours(const char *name)
{
	if (!real_dlsym_find())
		return false;
	void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
	if (program == NULL)
		return false;
	void *found = real_dlsym(program, name);
	dlclose(program);
	return real_is_ours(found) || (is_plt_entry(found) && is_undefined_between(name));
}
