/*
 * protections.c - reads HOTPIN_LEAVE_OUT.
 *
 * malloc() calls this too, also before `environ` is set.
 */
#define _GNU_SOURCE
#include "base/protections.h"

#ifdef HP_LEAVE_OUT
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define WANTED "HOTPIN_LEAVE_OUT="

static const char *const names[HP_PROTECTION_COUNT] = {
#define PROTECTION(name, text, ...) #name,
#include "base/protections.def"
};

static int find(const char *name)
{
	int which = 0;

	while (which < HP_PROTECTION_COUNT && strcmp(names[which], name) != 0)
		which++;
	return which;
}

enum hp_protection hp_left_out(void)
{
	static _Atomic int known = -1;
	int which = atomic_load_explicit(&known, memory_order_relaxed);

	if (which >= 0 || environ == NULL)
		return which >= 0 ? (enum hp_protection)which : HP_PROTECTION_COUNT;
	which = HP_PROTECTION_COUNT;
	for (char **entry = environ; *entry != NULL; entry++)
		if (strncmp(*entry, WANTED, strlen(WANTED)) == 0)
			which = find(*entry + strlen(WANTED));
	atomic_store_explicit(&known, which, memory_order_relaxed);
	return (enum hp_protection)which;
}
#endif
