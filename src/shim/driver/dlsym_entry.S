/*
 * dlsym_entry.S - the exported dlsym().
 *
 * It leaves by a jump unless the answer is hotpin's.  glibc takes the return address for the caller
 * against which it resolves RTLD_NEXT, RTLD_DEFAULT and RUNPATH.  A call from C would make hotpin
 * that caller, and another preloaded library's dlsym(RTLD_NEXT, ..) would find itself.
 *
 * It runs before every constructor, under the loader's lock and in signal handlers.  A name other
 * than cu[A-Z]* costs a test of the gate and three compares, except for the first look-up of all
 * (dlsym.c) and after dlopen().
 */
#include "shim/driver/arguments.inc"

	.hidden	gate_word
	.hidden	unknown_look_again
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
	testl	$SHIM_GATE_LOADED, gate_word(%rip)
	jne	.Lloaded
.Lname:
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
	cmpq	$-1, %rdi	/* RTLD_NEXT: the caller asks for the definition behind its own */
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

.Lloaded:
	save_three
	call	unknown_look_again
	restore_three
	jmp	.Lname
	.cfi_endproc
	.size	dlsym, . - dlsym

	.section .note.GNU-stack, "", @progbits
