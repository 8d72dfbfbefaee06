/*
 * dlsym_entry.S - shim/driver/dlsym_entry.S for aarch64.
 *
 * glibc takes the link register for the caller, so the register is restored before the jump.
 */
#include "shim/driver/aarch64/arguments.inc"

	.hidden	shim_dlsym_ready
	.hidden	shim_dlsym_answer
	.hidden	shim_dlsym_prepare
	.text

	.globl	dlsym
	.type	dlsym, %function
	.p2align 4
dlsym:
	.cfi_startproc
	hint	#34	/* bti c */
	cbz	x1, .Lnext
	ldrb	w9, [x1]
	cmp	w9, #'c'
	b.ne	.Lnext
	ldrb	w9, [x1, #1]
	cmp	w9, #'u'
	b.ne	.Lnext
	ldrb	w9, [x1, #2]
	sub	w9, w9, #'A'
	cmp	w9, #25
	b.hi	.Lnext
	cmn	x0, #1		/* RTLD_NEXT: the caller asks for the definition behind its own */
	b.eq	.Lnext

	save_three
	mov	x2, x30
	bl	shim_dlsym_answer
	mov	x9, x0
	restore_three
	cbz	x9, .Lnext
	cmp	x9, #1		/* SHIM_DLSYM_NULL */
	csel	x0, xzr, x9, eq
	ret

.Lnext:
	adrp	x16, shim_dlsym_ready
	ldr	x16, [x16, #:lo12:shim_dlsym_ready]
	cbz	x16, .Lfind
	br	x16

.Lfind:
	save_three
	bl	shim_dlsym_prepare
	mov	x16, x0
	restore_three
	cbz	x16, .Lnone
	br	x16
.Lnone:
	mov	x0, xzr
	ret
	.cfi_endproc
	.size	dlsym, . - dlsym

	.section .note.GNU-stack, "", %progbits
