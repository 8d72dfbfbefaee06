/*
 * dlopen_entry.S - the exported dlopen() and dlmopen().
 *
 * They check the flags and leave by a jump, with every register unchanged.  glibc takes the return
 * address for the caller whose RUNPATH and $ORIGIN lead to the library; a call from C would make
 * hotpin that caller.
 */
#include "shim/driver/arguments.inc"

	.hidden	gate_word
	.hidden	shim_dlopen_next
	.hidden	shim_dlmopen_next
	.hidden	shim_dlopen_find
	.hidden	shim_dlopen_deep
	.text

	/* Jumps to the next definition, which is found first if necessary; returns NULL without one. */
	.macro	leave_by next, namespace
.Lnext\@:
	movq	\next(%rip), %rax
	testq	%rax, %rax
	je	.Lfind\@
	jmp	*%rax
.Lfind\@:
	save_three
	movl	$\namespace, %edi
	call	shim_dlopen_find
	restore_three
	testq	%rax, %rax
	je	.Lnone\@
	jmp	*%rax
.Lnone\@:
	ret
	.endm

	.macro	tell namespace
	save_three
	movq	24(%rsp), %rdi
	movl	$\namespace, %esi
	call	shim_dlopen_deep
	restore_three
	.endm

	/* void *dlopen(const char *file, int mode) */
	.globl	dlopen
	.type	dlopen, @function
	.p2align 4
dlopen:
	.cfi_startproc
	endbr64
	testl	$4, %esi	/* RTLD_NOLOAD */
	jne	.Lflags
	lock orl	$SHIM_GATE_LOADED, gate_word(%rip)
.Lflags:
	testl	$8, %esi	/* RTLD_DEEPBIND */
	je	.Lopen
	tell	0
.Lopen:
	leave_by shim_dlopen_next, 0
	.cfi_endproc
	.size	dlopen, . - dlopen

	/* void *dlmopen(Lmid_t namespace, const char *file, int mode) */
	.globl	dlmopen
	.type	dlmopen, @function
	.p2align 4
dlmopen:
	.cfi_startproc
	endbr64
	testq	%rdi, %rdi	/* LM_ID_BASE: hotpin's namespace */
	jne	.Lfar
	testl	$8, %edx
	je	.Lmopen
.Lfar:
	tell	1
.Lmopen:
	leave_by shim_dlmopen_next, 1
	.cfi_endproc
	.size	dlmopen, . - dlmopen

	.section .note.GNU-stack, "", @progbits
