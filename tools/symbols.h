/*
 * The names in an ELF file, by address.
 */
#ifndef HP_TOOLS_SYMBOLS_H
#define HP_TOOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

/*
 * Reads the table of symbols of the file at `path`.  It must have this build id (hexadecimal
 * digits) where `build_id` is not NULL, else be no younger than `ended` (seconds since 1970; 0: of
 * any age).  Any file is safe to ask about.  NULL: it is not that file, or has no symbols; it is a
 * program or library, but not that one, where *ret_other is set.
 */
struct symbols *symbols_open(const char *path, const char *build_id, int64_t ended,
			     bool *ret_other);
void symbols_close(struct symbols *symbols);

/* May addr2line find lines by this file?  Asking it costs seconds where the file is large. */
bool symbols_have_lines(const struct symbols *symbols);

/* The name of what lies at `address`, as it is in the file, until symbols_close(); or NULL. */
const char *symbols_find(const struct symbols *symbols, uint64_t address);

#endif
