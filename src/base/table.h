/*
 * Hash tables: uthash with hotpin's arena.  No other file includes uthash.
 *
 * By default uthash exits the process when memory runs out.  Here the element is left out of the
 * table (its hh.tbl is NULL) and the failure is counted.  Only one file uses HASH_ macros on a
 * table; others call functions of that file.
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
