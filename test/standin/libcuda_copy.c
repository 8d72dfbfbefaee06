/*
 * libcuda_copy.c - the exported copies and memsets, in both flavours.
 *
 * The legacy flavour is checked against cuda.h, which does not declare the per-thread names; both
 * come from the same text.
 */
#include "bridge.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC visibility push(default)

#define PT       false
#define DS(name) name
#define SZ(name) name
#include "flavour_copy.h"
#undef PT
#undef DS
#undef SZ

#define PT       true
#define DS(name) name##_ptds
#define SZ(name) name##_ptsz
#include "flavour_copy.h"

#pragma GCC visibility pop
