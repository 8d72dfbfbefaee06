/*
 * Finds the file that an address belongs to, and the data with which other programs name the
 * address later.
 *
 * An unloaded file is remembered.  Another file may be loaded at the same addresses.  From the next
 * modules_turn() on, hotpin distinguishes the two files.
 */
#ifndef HP_TRACE_PLACES_MODULES_H
#define HP_TRACE_PLACES_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODULES_MOST    256
#define MODULES_NOWHERE UINT32_MAX

struct module {
	uintptr_t from, to;           /* all of its segments */
	uintptr_t text_from, text_to; /* its code */
	uintptr_t bias;               /* added by the loader to the addresses in the file */
	char path[1024];              /* "": unknown */
	char build_id[41];            /* hexadecimal; "": it has none */
};

/* One place in a file. */
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
 * Finds files that were unloaded since the last time.  Calls `forgotten` with their addresses,
 * which other code may use now.  One thread; takes the loader's lock.
 */
void modules_turn(void (*forgotten)(uintptr_t from, uintptr_t to));

/*
 * True if a loaded file with `part` in its path has this text in its constants.  Takes the loader's
 * lock.
 */
bool modules_have_text(const char *part, const char *text);

/* Returns a number that changes when an address may lie in another file than before. */
uint64_t modules_changes(void);

/*
 * Find the place of an address, and of a return address, which may lie one byte after its function
 * and its file.  With the lock `trace` held.
 */
struct module_place modules_find_held(uintptr_t address);
struct module_place modules_find_return(uintptr_t address);

/* Each takes the lock `trace`. */
struct module_place modules_find(uintptr_t address);
size_t modules_count(void);
void modules_read(size_t index, struct module *ret);

#endif
