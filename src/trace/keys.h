/*
 * Tables of fixed size, whose rows are found by a key.
 *
 * The caller fills in the rows.  A key stands for one row only, so it is a number or a good hash.
 */
#ifndef HP_TRACE_KEYS_H
#define HP_TRACE_KEYS_H

#include <stddef.h>
#include <stdint.h>

#define KEYS_NONE UINT32_MAX

struct keys {
	uint64_t *key;   /* of each row */
	uint32_t *slot;  /* open addressing: a row plus 1; 0: free */
	unsigned bits;   /* there are 1 << bits slots, twice as many as rows */
	uint32_t rows;   /* used so far: all rows with a key are below */
	uint32_t unused; /* a removed row plus 1, whose `key` is the next one; 0: none */
};

/*
 * Makes room for `most` rows of `bytes` each; `most` is a power of two.  Returns the rows, which
 * are zeroed, and behind them one more, which never has a key; NULL: there is no memory.
 */
void *keys_start(struct keys *keys, uint32_t most, size_t bytes);

/* Returns the row of the key; KEYS_NONE: the key is not there. */
uint32_t keys_find(const struct keys *keys, uint64_t key);

/*
 * Returns a row for a key that is not there, with what the last key has left in it; KEYS_NONE: all
 * rows have keys.
 */
uint32_t keys_add(struct keys *keys, uint64_t key);

/* Removes the key of a row.  The next key that is added gets this row. */
void keys_remove(struct keys *keys, uint32_t row);

#endif
