/*
 * thunk.S - shim/driver/thunk.S for aarch64.
 */
#include "shim/driver/aarch64/arguments.inc"

	.hidden	real_driver
	.hidden	gate_word
	.hidden	shim_gate_enter
	.text

.macro stub_of_gate
	hint	#34	/* bti c */
	mov	w17, #row
	adrp	x16, gate_word
	ldr	w16, [x16, #:lo12:gate_word]
	cbnz	w16, gate_closed
	adrp	x16, real_driver + 8 * row
	ldr	x16, [x16, #:lo12:real_driver + 8 * row]
	br	x16
.endm

.macro stub_closed
	hint	#34
	mov	w17, #row
	b	gate_closed
.endm

#include "shim/driver/thunk_rows.inc"

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

	.section .note.GNU-stack, "", %progbits
