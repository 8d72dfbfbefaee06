/*
 * The names in an ELF file, by address.
 */
#ifndef HP_TOOLS_SYMBOLS_H
#define HP_TOOLS_SYMBOLS_H

#include "named.h"

#include <stdbool.h>
#include <stdint.h>

struct symbols;

/* Whether a file is the one that ran. */
enum symbols_match {
	SYMBOLS_NO_ELF,
	SYMBOLS_OTHER,    /* a program or library, but not the one that ran */
	SYMBOLS_LIKELY,   /* it is not newer than the run; there is no build ID to compare */
	SYMBOLS_VERIFIED, /* by its build ID */
};

/*
 * Compares the file with the build ID `build_id` (hexadecimal digits).  If that is NULL, the file
 * must not be newer than `ended` (seconds since 1970; 0: any age).
 */
enum symbols_match symbols_match(const struct named *file, const char *build_id, int64_t ended);

/*
 * Reads the symbol table.  Any file is safe to read.  NULL: it has none, or one of more than
 * `*left` bytes, from which its bytes are subtracted.
 */
struct symbols *symbols_read(const struct named *file, uint64_t *left);
void symbols_close(struct symbols *symbols);

/* Returns the symbol at `address` as it is in the file, valid until symbols_close(); or NULL. */
const char *symbols_find(const struct symbols *symbols, uint64_t address);

#endif
