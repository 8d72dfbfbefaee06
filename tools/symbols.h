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
 * Reads the symbol table of the file at `path`.  The file must have the build id `build_id`
 * (hexadecimal digits).  If `build_id` is NULL, the file must not be newer than `ended` (seconds
 * since 1970; 0: any age).  Any file is safe to read.  NULL: the file is another one, or has no
 * symbols.  *ret_other: it is a program or library, but not the one that ran.
 */
struct symbols *symbols_open(const char *path, const char *build_id, int64_t ended,
			     bool *ret_other);
void symbols_close(struct symbols *symbols);

/*
 * True if addr2line may find lines in this file.  Running addr2line on a large file takes seconds.
 */
bool symbols_have_lines(const struct symbols *symbols);

/* Returns the symbol at `address` as it is in the file, valid until symbols_close(); or NULL. */
const char *symbols_find(const struct symbols *symbols, uint64_t address);

#endif
