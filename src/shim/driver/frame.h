/*
 * What the stubs in assembly save of a call before they ask C where the call continues.
 *
 * For both: arguments.inc lays out what the struct below reads.
 */
#ifndef HP_SHIM_DRIVER_FRAME_H
#define HP_SHIM_DRIVER_FRAME_H

/* From the lowest address: argument registers, the row and one more, vector registers. */
#if defined(__x86_64__)
#define SHIM_FRAME_ROW     48
#define SHIM_FRAME_VECTORS 64
#define SHIM_FRAME_BYTES   208
#elif defined(__aarch64__)
#define SHIM_FRAME_ROW     64
#define SHIM_FRAME_VECTORS 80
#define SHIM_FRAME_BYTES   224
#else
#error "frame.h does not know which registers hold arguments on this machine"
#endif

/* So many arguments of any function in driver.def find no register, at most. */
#define SHIM_STACKED_MOST  8

/* Names unknown at build time get a stub out of so many, of so many bytes each (thunk.S). */
#define SHIM_UNKNOWN_MOST  128
#define SHIM_UNKNOWN_BYTES 32

#ifndef __ASSEMBLER__
#include "base/bare.h"

#include <stddef.h>
#include <stdint.h>

struct shim_frame {
	uint64_t argument[HP_BARE_ARGUMENTS];
	uint64_t row; /* of the list that the stub is made from */
	/* x86-64: rax, the number of vectors where there are "..."; aarch64: x8, see its ABI. */
	uint64_t other;
	uint64_t vector[16];
	uint64_t enter_ns, unused;
	uint64_t saved_frame, return_address;
	uint64_t stacked[]; /* the arguments that found no register */
};

_Static_assert(offsetof(struct shim_frame, row) == SHIM_FRAME_ROW, "as arguments.inc has it");
_Static_assert(offsetof(struct shim_frame, vector) == SHIM_FRAME_VECTORS, "likewise");
_Static_assert(offsetof(struct shim_frame, saved_frame) == SHIM_FRAME_BYTES, "likewise");
#endif

#endif
