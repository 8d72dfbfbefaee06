/*
 * audits.c - an auditing library of the loader (LD_AUDIT) that looks at every binding.
 */
#include <link.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned la_version(unsigned version)
{
	return version;
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	(void)map, (void)space, (void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
			      unsigned *flags, const char *name)
{
	(void)index, (void)from, (void)to, (void)flags, (void)name;
	return symbol->st_value;
}
