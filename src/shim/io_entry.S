/*
 * io_entry.S - one exported stub for every entry of io.def.
 *
 * A stub loads one word, and with no page closed jumps to the next definition: arguments, stack and
 * return address are what they were, so functions with any number of arguments can be passed on,
 * and a thread may be cancelled or interrupted in the function as ever.  The first call of each
 * goes by way of shim_io_enter(), which finds that definition: a table of addresses that the loader
 * would have to fill in costs every process some microseconds.
 */
#include "shim/arguments.inc"

	.hidden	shim_io_enter
	.hidden	shim_io_next
	.text

.macro stub name, gate, other
	.globl	\name
	.type	\name, @function
	.p2align 5
\name:
	.cfi_startproc
	endbr64
	cmpl	$0, \gate(%rip)
	jne	\other
	movq	shim_io_next + 8 * row(%rip), %r11
	testq	%r11, %r11
	jz	slow_\name
	jmp	*%r11
slow_\name:
	endbr64
	movl	$row, %r11d
	jmp	io_slow
	.cfi_endproc
	.size	\name, . - \name
	.set	row, row + 1
.endm

#include "shim/io_rows.inc"

	.type	io_slow, @function
	.p2align 4
io_slow:
	.cfi_startproc
	save_arguments
	movq	%rsp, %rdi
	call	shim_io_enter
	movq	%rax, %r11
	restore_arguments
	jmp	*%r11
	.cfi_endproc
	.size	io_slow, . - io_slow

/*
 * What our own calls of syscall() are linked to (--wrap): the program's come to the stub, ours must
 * not meet it, for they may be made with a lock held, or while pages are being opened.
 */
	.globl	__wrap_syscall
	.hidden	__wrap_syscall
	.hidden	shim_io_failed
	.type	__wrap_syscall, @function
	.p2align 4
__wrap_syscall:
	.cfi_startproc
	endbr64
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	cmpq	$-4095, %rax
	jae	1f
	ret
1:	movq	%rax, %rdi
	jmp	shim_io_failed
	.cfi_endproc
	.size	__wrap_syscall, . - __wrap_syscall

	.section .note.GNU-stack, "", @progbits
