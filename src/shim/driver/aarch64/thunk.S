/*
 * thunk.S - what shim/driver/thunk.S does, for aarch64.
 */
#include "shim/driver/aarch64/arguments.inc"

	.hidden	real_driver
	.hidden	gate_word
	.hidden	shim_gate_enter
	.hidden	shim_gate_leave
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
	cbnz	x1, gate_timed
	.cfi_remember_state
	restore_arguments
	br	x16

gate_timed:
	.cfi_restore_state
	mov	x9, sp
	bic	x10, x1, #1	/* an even number of words, of which there is room for */
	sub	sp, sp, x10, lsl #3
	b	gate_copy
gate_store:
	add	x11, x29, #8
	ldr	x11, [x11, x1, lsl #3]
	add	x12, sp, x1, lsl #3
	str	x11, [x12, #-8]
gate_copy:
	sub	x1, x1, #1
	cbnz	x1, gate_store
	load_arguments x9
	blr	x16
	sub	x9, x29, #SHIM_FRAME_BYTES
	str	x0, [x9, #SHIM_FRAME_ROW + 8]
	mov	x0, x9
	bl	shim_gate_leave
	sub	x9, x29, #SHIM_FRAME_BYTES
	ldr	x0, [x9, #SHIM_FRAME_ROW + 8]
	leave_frame
	ret
	.cfi_endproc
	.size	gate_closed, . - gate_closed

	.section .note.GNU-stack, "", %progbits
