/*
 * io_entry.S - what shim/io_entry.S does, for aarch64.
 *
 * x16 and x17 are left to stubs like these by the AAPCS64; x17 is the row of io.def.
 */

/* struct io_frame: eight argument registers, the row, x8, q0 to q7. */
#define FRAME_ROW  64
#define FRAME_Q    80
#define FRAME_SIZE 208

	.hidden	protect_busy
	.hidden	shim_fault_watching
	.hidden	shim_io_enter
	.hidden	shim_io_next
	.text

.macro stub name, gate, other
	.globl	\name
	.type	\name, %function
	.p2align 5
\name:
	.cfi_startproc
	hint	#34	/* bti c */
	adrp	x16, \gate
	ldr	w16, [x16, #:lo12:\gate]
	cbz	w16, .Lopen\@
	b	\other
.Lopen\@:
	adrp	x16, shim_io_next + 8 * row
	ldr	x16, [x16, #:lo12:shim_io_next + 8 * row]
	cbz	x16, slow_\name
	br	x16
slow_\name:
	mov	w17, #row
	b	io_slow
	.cfi_endproc
	.size	\name, . - \name
	.set	row, row + 1
.endm

#define GATE_BYTES    protect_busy
#define GATE_ITEMS    protect_busy
#define GATE_VECTOR   protect_busy
#define GATE_VECTORS  protect_busy
#define GATE_MESSAGE  protect_busy
#define GATE_MESSAGES protect_busy
#define GATE_AIO      protect_busy
#define GATE_AIOS     protect_busy
#define GATE_ANY      protect_busy
#define GATE_ALL      protect_busy
#define GATE_IOCTL    shim_fault_watching
#define GATE_SYSCALL  shim_fault_watching

	.set	row, 0
#define IO(name, kind, a, b, c) stub name, GATE_##kind, slow_##name
#define SIGNAL(name) \
	.hidden	shim_##name; \
	stub name, shim_fault_watching, shim_##name
#include "real/io.def"

	.type	io_slow, %function
	.p2align 4
io_slow:
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
	bl	shim_io_enter
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
	.size	io_slow, . - io_slow

/* What our own calls of syscall() are linked to: see shim/io_entry.S. */
	.globl	__wrap_syscall
	.hidden	__wrap_syscall
	.hidden	shim_io_failed
	.type	__wrap_syscall, %function
	.p2align 4
__wrap_syscall:
	.cfi_startproc
	hint	#34
	mov	x8, x0
	mov	x0, x1
	mov	x1, x2
	mov	x2, x3
	mov	x3, x4
	mov	x4, x5
	mov	x5, x6
	svc	#0
	cmn	x0, #4095
	b.hs	1f
	ret
1:	b	shim_io_failed
	.cfi_endproc
	.size	__wrap_syscall, . - __wrap_syscall

	.section .note.GNU-stack, "", %progbits
