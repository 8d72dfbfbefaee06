/*
 * dlsym_entry.S - the exported dlsym().
 *
 * It leaves by a jump whenever the answer is not ours: glibc takes the return address for the
 * caller that RTLD_NEXT, RTLD_DEFAULT and RUNPATH are resolved against, so a call from C would
 * make us the caller and send another preloaded library into itself.
 *
 * Runs before every constructor, under the loader's lock and in signal handlers: nothing but
 * three compares happens for a name that is not cu[A-Z]*, but for the first look-up (dlsym.c).
 */
#include "shim/driver/arguments.inc"

	.hidden	shim_dlsym_ready
	.hidden	shim_dlsym_answer
	.hidden	shim_dlsym_prepare
	.text

	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	.cfi_startproc
	endbr64
	testq	%rsi, %rsi
	je	.Lnext
	cmpb	$'c', (%rsi)
	jne	.Lnext
	cmpb	$'u', 1(%rsi)
	jne	.Lnext
	movzbl	2(%rsi), %eax
	subl	$'A', %eax
	cmpl	$25, %eax
	ja	.Lnext
	cmpq	$-1, %rdi	/* RTLD_NEXT: whoever is behind us asks for what is behind it */
	je	.Lnext

	save_three
	movq	24(%rsp), %rdx
	call	shim_dlsym_answer
	restore_three
	testq	%rax, %rax
	je	.Lnext
	cmpq	$1, %rax	/* SHIM_DLSYM_NULL */
	jne	.Lanswer
	xorl	%eax, %eax
.Lanswer:
	ret

.Lnext:
	movq	shim_dlsym_ready(%rip), %rax
	testq	%rax, %rax
	je	.Lfind
	jmp	*%rax

.Lfind:
	save_three
	call	shim_dlsym_prepare
	restore_three
	testq	%rax, %rax
	je	.Lnone
	jmp	*%rax
.Lnone:
	ret
	.cfi_endproc
	.size	dlsym, . - dlsym

	.section .note.GNU-stack, "", @progbits
