/*
 * thunk.S - an exported stub for each row of driver.def that has no C function.
 *
 * A stub loads the gate word.  If the gate is open, it jumps to the driver's function; arguments,
 * stack and return address are unchanged.  If it is closed, the stub saves the argument registers,
 * calls shim_gate_enter() and jumps to the address that this returns.  If the call is timed, the
 * stub calls that address instead, with a copy of the arguments that lie on the stack (stacked.def).
 *
 * Most calls of a profile are timed and nothing else (shim_gate_timed_only).  The stub then reads
 * the time-stamp counter and calls the driver's function at once.
 */
#include "shim/driver/arguments.inc"

	.hidden	real_driver
	.hidden	gate_word
	.hidden	shim_gate_enter
	.hidden	shim_gate_leave
	.hidden	shim_gate_timed_only
	.hidden	hp_tsc_span
	.hidden	trace_called
	.text

.macro stub_of_gate
	endbr64
	movl	$row, %r11d
	cmpl	$0, gate_word(%rip)
	jne	gate_closed
	jmp	*real_driver + 8 * row(%rip)
.endm

.macro stub_closed
	endbr64
	movl	$row, %r11d
	jmp	gate_full
.endm

#include "shim/driver/thunk_rows.inc"

	.type	gate_closed, %function
	.p2align 4
gate_closed:
	.cfi_startproc
	leaq	shim_gate_timed_only(%rip), %r10
	movzbl	(%r10, %r11), %r10d
	testl	%r10d, %r10d
	jz	gate_full
	notl	%r10d
	testl	%r10d, gate_word(%rip)
	jnz	gate_full

	/* All arguments are in registers, and no function with a row is variadic. */
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$32, %rsp
	movq	%r11, -8(%rbp)
	movq	%rdx, %r10
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	movq	%rax, -16(%rbp)
	movq	%r10, %rdx
	leaq	real_driver(%rip), %r10
	call	*(%r10, %r11, 8)
	movq	%rax, -24(%rbp)
	rdtsc
	shlq	$32, %rdx
	leaq	(%rdx, %rax), %rsi
	movq	-16(%rbp), %rdi
	call	hp_tsc_span
	movq	-8(%rbp), %rdi
	movq	%rax, %rsi
	movq	%rbp, %rcx
	call	trace_called
	movq	-24(%rbp), %rax
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	gate_closed, . - gate_closed

	.type	gate_full, %function
	.p2align 4
gate_full:
	.cfi_startproc
	save_arguments
	movq	%rsp, %rdi
	call	shim_gate_enter
	movq	%rax, %r11
	testq	%rdx, %rdx
	jnz	gate_timed
	.cfi_remember_state
	restore_arguments
	jmp	*%r11

gate_timed:
	.cfi_restore_state
	testq	$1, %rdx	/* an odd number of words: the stack stays aligned */
	jnz	gate_copy
	pushq	$0
	jmp	gate_copy
gate_push:
	pushq	8(%rbp, %rdx, 8)
gate_copy:
	decq	%rdx
	jnz	gate_push
	leaq	-SHIM_FRAME_BYTES(%rbp), %r10
	load_arguments %r10
	call	*%r11
	leaq	-SHIM_FRAME_BYTES(%rbp), %rdi
	movq	%rax, SHIM_FRAME_ROW + 8(%rdi)
	call	shim_gate_leave
	movq	SHIM_FRAME_ROW + 8 - SHIM_FRAME_BYTES(%rbp), %rax
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	gate_full, . - gate_full

	.section .note.GNU-stack, "", %progbits
