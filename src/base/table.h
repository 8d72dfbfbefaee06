/*
 * Hash tables: uthash, tied to our arena.  The only file that includes it.
 *
 * uthash exits the process when memory runs out unless told otherwise; here the element is left
 * out of the table (its hh.tbl is NULL) and the failure counted.  Each table is wrapped by
 * functions in the module that owns it; no HASH_ macro on one table in two files.
 */
#ifndef HP_BASE_TABLE_H
#define HP_BASE_TABLE_H

#include "base/arena.h"
#include "base/counters.h"

#define uthash_malloc(size)     hp_arena_alloc(size)
#define uthash_free(ptr, size)  hp_arena_free((ptr), (size))
#define HASH_NONFATAL_OOM       1
#define uthash_nonfatal_oom(el) ((void)(el), (void)hp_count(arena_refused))

#include <uthash.h>

#endif
