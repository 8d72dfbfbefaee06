/*
 * Mixes numbers into hashes, for tables in memory.  Files hold none of these hashes.
 */
#ifndef HP_BASE_HASH_H
#define HP_BASE_HASH_H

#include <stdint.h>

#define HP_HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* Returns the place of a value in a table of 1 << bits entries. */
static inline uint64_t hp_hash(uint64_t value, unsigned bits)
{
	return (value * HP_HASH_FACTOR) >> (64 - bits);
}

/* Returns the hash of everything in `hash` and of one more value. */
static inline uint64_t hp_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * HP_HASH_FACTOR;
	return hash ^ hash >> 29;
}

static inline uint64_t hp_mix_text(uint64_t hash, const char *text)
{
	while (*text != '\0')
		hash = hp_mix(hash, (unsigned char)*text++);
	return hp_mix(hash, 256);
}

#endif
