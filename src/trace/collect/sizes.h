/*
 * A histogram of copies by size, in powers of two.
 */
#ifndef HP_TRACE_COLLECT_SIZES_H
#define HP_TRACE_COLLECT_SIZES_H

#include "base/profile_fields.h"

#include <stdint.h>

/*
 * Bin 0 holds copies of 0 bytes, bin n copies of 2^(n - 1) bytes and more, the last bin all larger
 * ones.
 */
#define SIZES_BINS 40

struct sizes {
	struct profile_size bin[SIZES_BINS]; /* without from_bytes */
};

static inline unsigned sizes_bin_of(uint64_t bytes)
{
	unsigned bin = bytes == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bytes);

	return bin < SIZES_BINS ? bin : SIZES_BINS - 1;
}

static inline void sizes_add(struct sizes *sizes, uint64_t bytes, uint64_t ns)
{
	struct profile_size *bin = &sizes->bin[sizes_bin_of(bytes)];

	bin->count++;
	bin->bytes += (int64_t)bytes;
	bin->busy_ns += (int64_t)ns;
}

/* Returns the size of the smallest copy in the bin. */
static inline int64_t sizes_from(unsigned bin)
{
	return bin == 0 ? 0 : (int64_t)1 << (bin - 1);
}

#endif
