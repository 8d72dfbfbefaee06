/*
 * site.c - the table of allocation sites whose last block was dense.
 *
 * The table is small and of fixed size, so neither a program with many sites nor one that creates
 * new ones forever costs anything.  A site that takes the place of another costs that one some
 * speed at most.
 */
#include "heap/site.h"

#include <stdatomic.h>
#include <stddef.h>

#define BITS 12

static _Atomic uint32_t dense_sites[1 << BITS]; /* 0: none */

static _Atomic uint32_t *place_of(uint32_t site)
{
	return &dense_sites[site * UINT32_C(0x9e3779b1) >> (32 - BITS)];
}

bool site_is_dense(uint32_t site)
{
	return site != 0 && atomic_load_explicit(place_of(site), memory_order_relaxed) == site;
}

void site_note_dense(uint32_t site, bool dense)
{
	if (dense != site_is_dense(site))
		atomic_store_explicit(place_of(site), dense ? site : 0, memory_order_relaxed);
}
