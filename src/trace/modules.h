/*
 * Which file does an address belong to?  What is needed to name it later, by other programs.
 *
 * A file that was unloaded is remembered, and another one that takes its addresses is told from it
 * once modules_turn() has seen that the first is gone.
 */
#ifndef HP_TRACE_MODULES_H
#define HP_TRACE_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODULES_MOST    256
#define MODULES_NOWHERE UINT32_MAX

struct module {
	uintptr_t from, to;           /* all of its segments */
	uintptr_t text_from, text_to; /* its code */
	uintptr_t bias;               /* what the loader added to the addresses in the file */
	char path[256];               /* "" could not be had */
	char build_id[41];            /* hexadecimal; "": it has none */
};

/* One place in it. */
struct module_place {
	uint32_t module; /* MODULES_NOWHERE: `offset` is the address itself */
	uint64_t offset;
};

/*
 * Looks for the file at `address` unless it is known.  Takes the loader's lock: no lock of ours may
 * be held.
 */
void modules_note(uintptr_t address);

/*
 * Looks whether files were unloaded since the last time, and tells whose addresses may be others'
 * now.  One thread; takes the loader's lock.
 */
void modules_turn(void (*forgotten)(uintptr_t from, uintptr_t to));

/* Changes when an address may lie in another file than before. */
uint64_t modules_changes(void);

/* Tells an address from the same one in another file, where several have had it; else 0. */
uint64_t modules_salt(uintptr_t address);

/* With the lock `trace` held. */
struct module_place modules_find_held(uintptr_t address);

/* Takes the lock `trace` for each. */
struct module_place modules_find(uintptr_t address);
/* Of a return address, which may stand behind the last byte of its function and of its file. */
struct module_place modules_find_return(uintptr_t address);
size_t modules_count(void);
void modules_read(size_t index, struct module *ret);

#endif
