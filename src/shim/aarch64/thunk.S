/*
 * thunk.S - what shim/thunk.S does, for aarch64.
 *
 * x16 and x17 are left to stubs like these by the AAPCS64; x17 is the row of driver.def.  x8 may
 * hold where a function is to put a large result.
 */

/* struct shim_frame is the frame of these, and x17 its row. */
#include "shim/aarch64/arguments.inc"

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
	save_arguments
	mov	x0, sp
	bl	shim_gate_enter
	mov	x16, x0
	restore_arguments
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
