/*
 * The registers of a call that the stubs save before C code decides where the call continues.
 *
 * Assembly and C include this file: arguments.inc fills in the struct below.
 */
#ifndef HP_SHIM_DRIVER_FRAME_H
#define HP_SHIM_DRIVER_FRAME_H

/* From the lowest address: argument registers, the row and one other, vector registers. */
#define SHIM_FRAME_WORDS   6 /* argument registers */
#define SHIM_FRAME_ROW     48
#define SHIM_FRAME_VECTORS 64
#define SHIM_FRAME_BYTES   208

/* The number of stubs for functions that driver.def lacks, and the bytes of each (thunk.S). */
#define SHIM_UNKNOWN_MOST  128
#define SHIM_UNKNOWN_BYTES 32

/* GATE_LOADED of engine/gate.h, for the entries in assembly. */
#define SHIM_GATE_LOADED   32

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct shim_frame {
	uint64_t argument[SHIM_FRAME_WORDS];
	uint64_t row; /* in the list that the stubs are generated from */
	/* rax: the number of vector registers of a variadic call */
	uint64_t other;
	uint64_t vector[16];
	uint64_t enter_ns, unused;
	uint64_t saved_frame, return_address;
	uint64_t stacked[]; /* arguments without a register */
};

_Static_assert(offsetof(struct shim_frame, row) == SHIM_FRAME_ROW, "as in arguments.inc");
_Static_assert(offsetof(struct shim_frame, vector) == SHIM_FRAME_VECTORS, "as in arguments.inc");
_Static_assert(offsetof(struct shim_frame, saved_frame) == SHIM_FRAME_BYTES, "as in arguments.inc");
#endif

#endif
