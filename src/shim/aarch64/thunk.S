/*
 * thunk.S - what shim/thunk.S does, for aarch64.
 *
 * x16 and x17 are left to stubs like these by the AAPCS64; x17 is the row of driver.def.  x8 may
 * hold where a function is to put a large result.
 */

/* struct shim_frame: eight argument registers, the row, x8, q0 to q7. */
#define FRAME_ROW  64
#define FRAME_Q    80
#define FRAME_SIZE 208

	.hidden	real_driver
	.hidden	shim_gate
	.hidden	shim_gate_enter
	.text

.macro stub name
	.globl	\name
	.type	\name, %function
	.p2align 5
\name:
	.cfi_startproc
	hint	#34	/* bti c */
	mov	w17, #row
	adrp	x16, shim_gate
	ldr	w16, [x16, #:lo12:shim_gate]
	cbnz	w16, gate_closed
	adrp	x16, real_driver + 8 * row
	ldr	x16, [x16, #:lo12:real_driver + 8 * row]
	br	x16
	.cfi_endproc
	.size	\name, . - \name
.endm

/* One that always comes by the gate. */
.macro seen name
	.globl	\name
	.type	\name, %function
	.p2align 5
\name:
	.cfi_startproc
	hint	#34
	mov	w17, #row
	b	gate_closed
	.cfi_endproc
	.size	\name, . - \name
.endm

	.set	row, 0

.macro EXPOSES_ROW name
	seen	\name
	.set	row, row + 1
.endm

.macro DRIVER_ROW name
	stub	\name
	.set	row, row + 1
.endm

.macro WRAPPED_ROW
	.set	row, row + 1
.endm

#define DRIVER(name, class, stream) DRIVER_ROW name
#define WRAPPED(name, class, stream) WRAPPED_ROW
#define EXPOSES(name, class, stream, how) EXPOSES_ROW name
#include "real/driver.def"

/* For names that this version does not know: handed out one by one by shim/dlsym.c, never open. */
	.globl	shim_unknown_stubs
	.hidden	shim_unknown_stubs
	.type	shim_unknown_stubs, %function
	.p2align 5
shim_unknown_stubs:
.rept 128	/* SHIM_UNKNOWN_MOST */
	.p2align 5
	.cfi_startproc
	hint	#34
	mov	w17, #row
	b	gate_closed
	.cfi_endproc
	.set	row, row + 1
.endr
	.size	shim_unknown_stubs, . - shim_unknown_stubs

	.type	gate_closed, %function
	.p2align 4
gate_closed:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	sub	sp, sp, #FRAME_SIZE
	stp	x0, x1, [sp]
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	stp	x17, x8, [sp, #FRAME_ROW]
	stp	q0, q1, [sp, #FRAME_Q]
	stp	q2, q3, [sp, #FRAME_Q + 32]
	stp	q4, q5, [sp, #FRAME_Q + 64]
	stp	q6, q7, [sp, #FRAME_Q + 96]
	mov	x0, sp
	bl	shim_gate_enter
	mov	x16, x0
	ldp	q0, q1, [sp, #FRAME_Q]
	ldp	q2, q3, [sp, #FRAME_Q + 32]
	ldp	q4, q5, [sp, #FRAME_Q + 64]
	ldp	q6, q7, [sp, #FRAME_Q + 96]
	ldr	x8, [sp, #FRAME_ROW + 8]
	ldp	x6, x7, [sp, #48]
	ldp	x4, x5, [sp, #32]
	ldp	x2, x3, [sp, #16]
	ldp	x0, x1, [sp]
	mov	sp, x29
	.cfi_def_cfa_register sp
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	br	x16
	.cfi_endproc
	.size	gate_closed, . - gate_closed

/* What is exported for each row, for those who hand out addresses. */
	.section .data.rel.ro, "aw"
	.globl	shim_exports
	.hidden	shim_exports
	.type	shim_exports, %object
	.p2align 3
shim_exports:
#define DRIVER(name, class, stream) .xword name
#define WRAPPED DRIVER
#define EXPOSES(name, class, stream, how) .xword name
#include "real/driver.def"
	.size	shim_exports, . - shim_exports

	.section .note.GNU-stack, "", %progbits
