/*
 * dlopen_entry.S - shim/libc/dlopen_entry.S for aarch64.
 *
 * glibc takes the link register for the caller, so the register is restored before the jump.
 */
#include "shim/driver/aarch64/arguments.inc"

	.hidden	shim_dlopen_next
	.hidden	shim_dlmopen_next
	.hidden	shim_dlopen_find
	.hidden	shim_dlopen_deep
	.text

	/* Jumps to the next definition, which is found first if necessary; returns NULL without one. */
	.macro	leave_by next, namespace
	adrp	x16, \next
	ldr	x16, [x16, #:lo12:\next]
	cbz	x16, .Lfind\@
	br	x16
.Lfind\@:
	save_three
	mov	w0, #\namespace
	bl	shim_dlopen_find
	mov	x16, x0
	restore_three
	cbz	x16, .Lnone\@
	br	x16
.Lnone\@:
	mov	x0, xzr
	ret
	.endm

	.macro	tell namespace
	save_three
	mov	x0, x30
	mov	w1, #\namespace
	bl	shim_dlopen_deep
	restore_three
	.endm

	/* void *dlopen(const char *file, int mode) */
	.globl	dlopen
	.type	dlopen, %function
	.p2align 4
dlopen:
	.cfi_startproc
	hint	#34	/* bti c */
	tbz	w1, #3, .Lopen	/* RTLD_DEEPBIND */
	tell	0
.Lopen:
	leave_by shim_dlopen_next, 0
	.cfi_endproc
	.size	dlopen, . - dlopen

	/* void *dlmopen(Lmid_t namespace, const char *file, int mode) */
	.globl	dlmopen
	.type	dlmopen, %function
	.p2align 4
dlmopen:
	.cfi_startproc
	hint	#34
	cbnz	x0, .Lfar	/* LM_ID_BASE: hotpin's namespace */
	tbz	w2, #3, .Lmopen
.Lfar:
	tell	1
.Lmopen:
	leave_by shim_dlmopen_next, 1
	.cfi_endproc
	.size	dlmopen, . - dlmopen

	.section .note.GNU-stack, "", %progbits
