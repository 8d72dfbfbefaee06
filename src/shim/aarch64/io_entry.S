/*
 * io_entry.S - what shim/io_entry.S does, for aarch64.
 */
#include "shim/aarch64/arguments.inc"

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

#include "shim/io_rows.inc"

	.type	io_slow, %function
	.p2align 4
io_slow:
	.cfi_startproc
	save_arguments
	mov	x0, sp
	bl	shim_io_enter
	mov	x16, x0
	restore_arguments
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
